import { connect } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { createLocalJWKSet } from 'jose';
import type { AuditEvent } from '../../src/events/event.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signCapabilityToken, verifyCapabilityToken } from '../../src/identity/tokens.ts';
import type { VerifyCapability } from '../../src/proxy/identify.ts';
import { orgId, startHarness, workspaceId } from './proxy-harness.ts';
import type { Harness, HarnessOptions } from './proxy-harness.ts';

const caps = '- name: demo\n  type: http\n  allow:\n    - {name: api, domains: [api.example.com], methods: [GET], paths: ["/v1/**"]}\n';
const jwk = await generateSigningJwk('EdDSA');
export const key = await importSigningKey(jwk);
const keys = createLocalJWKSet(publicKeySet([jwk]));
export const token = await signCapabilityToken({ orgId, workspaceId, taskId: 't1' }, key, { expiresInS: 600 });
const verify: VerifyCapability = (text) => verifyCapabilityToken(text, { keys: (header, input) => keys(header, input) }).catch(() => undefined);

export type Rig = Harness & { readonly tlsPort: number; readonly sent: { host: string; port: number; scheme: string; headers: readonly (readonly [string, string])[] }[] };

/** A proxy with transparent TLS whose client at 127.0.0.1 is the workspace, unless `sources` says otherwise. Every upstream refuses to be reached. */
export async function startRig(t: Parameters<typeof startHarness>[0], { sources = `127.0.0.1=${token}`, ...options }: HarnessOptions & { readonly sources?: string } = {}): Promise<Rig> {
  const sent: Rig['sent'] = [];
  const harness = await startHarness(t, {
    caps, verify,
    send: async ({ host, port, scheme, headers }) => {
      sent.push({ host, port, scheme, headers });
      return { failure: 'connect_failed', sent: false };
    },
    ...options,
    settings: { proxyTransparentPort: 0, proxySources: sources, ...options.settings },
  });
  const tlsPort = harness.proxy.transparentPort;
  if (tlsPort === undefined) throw new Error('transparent TLS is off');
  return { ...harness, tlsPort, sent };
}

export function shake(rig: Rig, options: ConnectionOptions & { readonly localAddress?: string } = {}): TLSSocket {
  const secure = connect({ port: rig.tlsPort, host: '127.0.0.1', ca: rig.ca, servername: 'api.example.com', ...options });
  secure.on('error', () => undefined);
  return secure;
}

/** Everything that is answered to `text` until the connection ends. */
export async function say(secure: TLSSocket, text: string): Promise<string> {
  let received = '';
  secure.on('data', (chunk: Buffer) => { received += chunk.toString('latin1'); });
  const closed = new Promise((resolve) => secure.once('close', resolve));
  secure.write(text);
  await closed;
  return received;
}

export const get = (path: string, { host = 'api.example.com', header = '' } = {}): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${header}Connection: close\r\n\r\n`;

/** Waits for the door to have let its connections go, which is after their rows. */
export async function rowsOf(rig: Rig): Promise<AuditEvent[]> {
  for (;;) {
    const metrics = await rig.proxy.metrics.registry.getSingleMetric('customhouse_proxy_transparent_connections')?.get();
    if (metrics?.values[0]?.value === 0) return rig.rows();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A row of what passed comes at its end: by path, which is the order of the requests. */
export const byPath = (rows: readonly AuditEvent[]): AuditEvent[] => rows.toSorted((a, b) => (a.path ?? '').localeCompare(b.path ?? ''));
export const shown = (rows: readonly AuditEvent[]): unknown[] => rows.map(({ destination, path, decision, reason, detail }) => [destination, path, decision, reason, (detail as { refused?: string } | undefined)?.refused]);
