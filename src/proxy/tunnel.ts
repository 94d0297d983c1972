import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { Duplex } from 'node:stream';
import { readAuthority, readHost } from '../kernel/host.ts';
import type { DoorContext } from './contract.ts';
import type { Identify } from './identify.ts';
import type { Verdict } from './verdict.ts';
import { deny, refuse } from './verdict.ts';

export type TunnelDeps = {
  readonly identify: Identify;
  /** Mints the leaf certificate of a host that was admitted. */
  readonly leafFor: (host: string) => Promise<SecureContext>;
  readonly handshakeTimeoutMs: number;
};

export type TunnelTarget = { readonly host: string; readonly port: number; readonly connectHeaders: readonly string[]; readonly attribution: Verdict['attribution'] };

/**
 * Whether a CONNECT may open a tunnel: its token is good and some rule names its host. What is asked inside is decided request by request;
 * certificates are made for admitted names only (attacks 100, 101).
 */
export async function decideTunnel(request: IncomingMessage, identify: Identify): Promise<Verdict | TunnelTarget> {
  const identified = await identify(request.rawHeaders);
  if ('decision' in identified) return identified;
  const { workspace, attribution } = identified;
  // Python up to 3.11 opens its tunnels with HTTP/1.0; of a CONNECT nothing but its target and token is read, so that changes nothing.
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') return refuse('http_version', 505, {}, attribution);
  const authority = readAuthority(request.url ?? '');
  if ('refused' in authority) return refuse(`target_${authority.refused}`, 400, {}, attribution);
  if (authority.port === undefined) return refuse('target_port', 400, {}, attribution);
  const named = request.headers.host;
  if (named !== undefined) {
    const host = readAuthority(named);
    if ('refused' in host) return refuse(`host_${host.refused}`, 400, {}, attribution);
    if (host.host.text !== authority.host.text || (host.port ?? authority.port) !== authority.port) return refuse('host_mismatch', 421, {}, attribution);
  }
  const { policy } = workspace;
  if (policy === undefined) return deny('no_policy', attribution);
  if (policy === 'broken') return deny('policy_error', attribution);
  if (workspace.gone.aborted) return deny('workspace_gone', attribution);
  if (workspace.enforcement === 'enforce' && !policy.admitsHost(authority.host.text)) {
    return policy.rules.length === 0 ? deny('policy_empty', attribution) : deny('no_match', attribution, { allowrule_eval: [] });
  }
  return { host: authority.host.text, port: authority.port, connectHeaders: tokenHeaders(request.rawHeaders), attribution };
}

/** Of the CONNECT only its token goes on: nothing else of the outer hop reaches a decision inside (attacks 117). */
function tokenHeaders(rawHeaders: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (/^(?:proxy-authorization|x-capability-token)$/i.test(name)) kept.push(name, rawHeaders[at + 1] ?? '');
  }
  return kept;
}

/**
 * Answers the CONNECT and terminates TLS on its connection. Resolves with the decrypted side and what is known of it; undefined when the
 * agent did not shake hands in time, or spoke something else.
 */
export async function openTunnel(socket: Duplex, head: Buffer, target: TunnelTarget, { leafFor, handshakeTimeoutMs }: TunnelDeps): Promise<{ readonly socket: TLSSocket; readonly door: DoorContext } | undefined> {
  const secureContext = await leafFor(target.host);
  if (socket.destroyed) return undefined;
  if (head.length > 0) socket.unshift(head);
  socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
  const shaken = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), handshakeTimeoutMs);
    secure.once('secure', () => resolve(true));
    secure.once('close', () => resolve(false));
    // Half closed before the end of its handshake: it can never finish.
    secure.once('end', () => resolve(false));
    secure.on('error', () => resolve(false));
    secure.once('close', () => clearTimeout(timer));
    secure.once('secure', () => clearTimeout(timer));
  });
  if (!shaken) {
    secure.destroy();
    socket.destroy();
    return undefined;
  }
  return { socket: secure, door: { door: 'tunnel', host: target.host, port: target.port, sni: sniOf(secure), connectHeaders: target.connectHeaders } };
}

/** The name of the ClientHello in canonical form; one that is no host cannot equal the target. */
function sniOf(secure: TLSSocket): string | undefined {
  const { servername } = secure as { servername?: string | false | null };
  if (typeof servername !== 'string' || servername === '') return undefined;
  const host = readHost(servername);
  return 'refused' in host ? 'invalid' : host.text;
}
