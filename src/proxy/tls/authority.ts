import { generateKeyPairSync } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import type { Host } from '../../kernel/host.ts';
import { readHost } from '../../kernel/host.ts';
import type { CaLocation } from './certificate-authority.ts';
import { loadCertificateAuthority } from './certificate-authority.ts';
import { createLeafCache } from './leaf-cache.ts';
import { mintLeaf } from './leaf-certificate.ts';
import { createContextMaker } from './leaf-context.ts';

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

function hostOf(text: string): Host {
  const host = readHost(text);
  if ('refused' in host) throw new Error(`no certificate for this host: ${host.refused}`);
  return host;
}

/** Opens the CA, or makes it, and mints leaf certificates (design 10). All leaves of a process share one P-256 key. */
export async function openAuthority(options: AuthorityOptions): Promise<Authority> {
  const { nowMs, leavesMax } = options;
  const ca = await loadCertificateAuthority(options);
  const leafKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { ...ca, leafSpki: leafKey.publicKey.export({ type: 'spki', format: 'der' }) };
  const makeContext = createContextMaker(leafKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  let minted = 0;

  async function makeLeaf(name: string): Promise<{ value: SecureContext; fromMs: number; untilMs: number }> {
    const mintedAtMs = nowMs();
    const leaf = await mintLeaf(issuer, hostOf(name), mintedAtMs);
    minted += 1;
    return { value: makeContext(leaf.pem + ca.chainPem), fromMs: leaf.notBeforeMs, untilMs: mintedAtMs + (leaf.notAfterMs - mintedAtMs) * renewAfter };
  }

  const cache = createLeafCache({ make: makeLeaf, nowMs, sizeMax: leavesMax });

  return {
    certificatePem: ca.certificatePem,
    fingerprint: ca.fingerprint,
    notAfterMs: ca.notAfterMs,
    created: ca.created,
    leafFor: async (host) => cache.get(hostOf(host).text),
    stats: () => ({ kept: cache.size(), minted }),
  };
}
