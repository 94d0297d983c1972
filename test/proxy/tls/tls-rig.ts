import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket, connect } from 'node:tls';
import type { ConnectionOptions, PeerCertificate } from 'node:tls';
import type { Authority, AuthorityOptions } from '../../../src/proxy/tls/authority.ts';
import { agentTlsOptions, openAuthority } from '../../../src/proxy/tls/authority.ts';

type Teardown = { teardown: (work: () => unknown) => void };

export function caDirectory(t: Teardown): { dir: string; certPath: string; keyPath: string } {
  const dir = mkdtempSync(join(tmpdir(), 'customhouse-ca-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return { dir, certPath: join(dir, 'ca.pem'), keyPath: join(dir, 'ca-key.pem') };
}

export function authorityIn(t: Teardown, options: Partial<AuthorityOptions> = {}): Promise<Authority> {
  const { certPath, keyPath } = caDirectory(t);
  return openAuthority({ certPath, keyPath, nowMs: Date.now, leavesMax: 100, ...options });
}

export type Shake = {
  readonly certificate: PeerCertificate;
  readonly chainLength: number;
  readonly protocol: string | null;
  readonly alpn: string | false | null;
  readonly resumed: boolean;
  readonly session: Buffer | undefined;
};

/**
 * A server as the front door has it: each plain connection becomes a TLS socket with the context of `host`, which may change between
 * handshakes. Answers one handshake's facts, or rejects with the error of the client.
 */
export async function tlsServer(t: Teardown, authority: Authority): Promise<(host: string, options?: ConnectionOptions) => Promise<Shake>> {
  let host = '';
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    void authority.leafFor(host).then((secureContext) => {
      const tls = new TLSSocket(socket, { ...agentTlsOptions, secureContext });
      tls.on('error', () => tls.destroy());
      tls.on('data', (chunk: Buffer) => tls.end(chunk));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  return (name, options = {}) => {
    host = name;
    return new Promise((resolve, reject) => {
      const isAddress = name.includes(':') || /^[\d.]+$/.test(name);
      // With an address there is no SNI; `host` is then what the certificate is checked against.
      const socket = connect({ port, host: '127.0.0.1', ca: authority.certificatePem, ALPNProtocols: ['http/1.1'], ...(isAddress ? {} : { servername: name }), ...options });
      let session: Buffer | undefined;
      socket.on('session', (given: Buffer) => (session = given));
      socket.once('error', reject);
      socket.once('secureConnect', () => socket.write('x'));
      socket.resume();
      // TLS 1.3 gives its tickets after the handshake, before the echoed byte.
      socket.once('data', () => {
        const certificate = socket.getPeerCertificate(true);
        let chainLength = 0;
        const seen = new Set<string>();
        for (let at: PeerCertificate | undefined = certificate; at?.fingerprint256 !== undefined && !seen.has(at.fingerprint256); at = (at as { issuerCertificate?: PeerCertificate }).issuerCertificate) {
          seen.add(at.fingerprint256);
          chainLength += 1;
        }
        resolve({ certificate, chainLength, protocol: socket.getProtocol(), alpn: socket.alpnProtocol, resumed: socket.isSessionReused(), session: session ?? socket.getSession() });
        socket.destroy();
      });
    });
  };
}
