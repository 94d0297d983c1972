import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { createSecureContext } from 'node:tls';
import { readHost } from '../../kernel/host.ts';
import type { CaLocation } from './certificate-authority.ts';
import { loadCertificateAuthority } from './certificate-authority.ts';
import { createLeafCache } from './leaf-cache.ts';
import { mintLeaf } from './leaf-certificate.ts';

export type AuthorityOptions = CaLocation & {
  /** Hosts whose contexts are kept; the least recently used goes first. */
  readonly leavesMax: number;
};

export type Authority = {
  /** The CA's certificate, and those above it when its file holds them. */
  readonly certificatePem: string;
  /** SHA-256 of the signing certificate, upper-case hexadecimal with colons. */
  readonly fingerprint: string;
  readonly notAfterMs: number;
  /** True when this call made the CA. */
  readonly created: boolean;
  /**
   * Context with a certificate for exactly this host (a name, or an address without brackets), minted when there is none. Ask only for
   * hosts that were admitted: minting costs processor time. Rejects for a text that `readHost` refuses and once the CA has expired.
   */
  readonly leafFor: (host: string) => Promise<SecureContext>;
  readonly stats: () => { readonly kept: number; readonly minted: number };
};

/** Options of each TLS socket towards an agent, beside its context: HTTP/1.1 is what the proxy speaks. */
export const agentTlsOptions = { isServer: true, ALPNProtocols: ['http/1.1'] };

/** Part of a leaf's time that may pass before a new connection gets a fresh one. */
const renewAfter = 3 / 4;
const sessionTimeoutSeconds = 3600;
const ticketKeyBytes = 48;

/**
 * Opens the CA and mints leaf certificates (design 10). All leaves of a process share one P-256 key, and all contexts the same ticket
 * keys, so a client resumes its session whichever context answers, also after a leaf was minted anew.
 */
export async function openAuthority(options: AuthorityOptions): Promise<Authority> {
  const { nowMs, leavesMax } = options;
  const ca = await loadCertificateAuthority(options);
  const leafKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const leafKeyPem = leafKey.privateKey.export({ type: 'pkcs8', format: 'pem' });
  const issuer = { ...ca, leafSpki: leafKey.publicKey.export({ type: 'spki', format: 'der' }) };
  const ticketKeys = randomBytes(ticketKeyBytes);
  let minted = 0;

  async function makeContext(name: string): Promise<{ value: SecureContext; fromMs: number; untilMs: number }> {
    const host = readHost(name);
    if ('refused' in host) throw new Error(`no certificate for this host: ${host.refused}`);
    const now = nowMs();
    const leaf = await mintLeaf(issuer, host, now);
    minted += 1;
    const value = createSecureContext({
      key: leafKeyPem,
      cert: leaf.pem + ca.chainPem,
      // An empty store: the default one holds all public roots, and is searched for the leaf's chain in each handshake.
      ca: [],
      minVersion: 'TLSv1.2',
      ticketKeys,
      sessionIdContext: 'customhouse',
      sessionTimeout: sessionTimeoutSeconds,
    });
    return { value, fromMs: leaf.notBeforeMs, untilMs: now + (leaf.notAfterMs - now) * renewAfter };
  }

  const cache = createLeafCache({ make: makeContext, nowMs, sizeMax: leavesMax });

  async function leafFor(host: string): Promise<SecureContext> {
    const read = readHost(host);
    if ('refused' in read) throw new Error(`no certificate for this host: ${read.refused}`);
    return cache.get(read.text);
  }

  return {
    certificatePem: ca.certificatePem,
    fingerprint: ca.fingerprint,
    notAfterMs: ca.notAfterMs,
    created: ca.created,
    leafFor,
    stats: () => ({ kept: cache.size(), minted }),
  };
}
