import type { Host } from '../../kernel/host.ts';
import type { Signer } from './certificate.ts';
import { commonName, extensions, issueCertificate } from './certificate.ts';
import { contextTag, element } from './der.ts';

const dayMs = 86_400_000;
/** Clients refuse certificates over 398 days; ours are short, as nothing but a new connection is needed to renew one. */
const lifetimeMs = 30 * dayMs;
/** Sandboxes restored from an image run behind. */
const backdatedMs = dayMs;
/** Upper bound of a common name (RFC 5280 appendix A). */
const commonNameCharactersMax = 64;

/** What a leaf takes over from its CA, and the one public key of all leaves. */
export type LeafIssuer = {
  readonly signer: Signer;
  readonly subject: Buffer;
  readonly keyId: Buffer;
  readonly notAfterMs: number;
  readonly leafSpki: Buffer;
};

export type Leaf = {
  readonly pem: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
};

/** The bytes of an address in the forms that `readHost` gives: dotted IPv4, or IPv6 of hexadecimal groups with at most one `::`. */
export function addressBytes({ kind, text }: Host): Buffer {
  if (kind === 'ipv4') return Buffer.from(text.split('.').map(Number));
  const groups = (part: string | undefined): string[] => (part === undefined || part === '' ? [] : part.split(':'));
  const [head, tail] = text.split('::');
  const before = groups(head);
  const after = groups(tail);
  const all = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function generalName(host: Host): Buffer {
  return host.kind === 'name' ? element(contextTag(2, false), Buffer.from(host.text)) : element(contextTag(7, false), addressBytes(host));
}

/**
 * Mints a certificate for exactly one host, never a wildcard. No subject key identifier: Windows' Schannel then takes the CA for
 * another's; the authority key identifier must be there for Python from 3.13 on. Throws once the CA has expired.
 */
export async function mintLeaf(issuer: LeafIssuer, host: Host, nowMs: number): Promise<Leaf> {
  if (nowMs >= issuer.notAfterMs) throw new Error(`the CA expired on ${new Date(issuer.notAfterMs).toISOString()}; give the proxy another`);
  const notBeforeMs = nowMs - backdatedMs;
  const notAfterMs = Math.min(nowMs + lifetimeMs, issuer.notAfterMs);
  const named = host.text.length <= commonNameCharactersMax;
  const pem = await issueCertificate(issuer.signer, {
    issuer: issuer.subject,
    subject: commonName(named ? host.text : undefined),
    notBeforeMs,
    notAfterMs,
    spki: issuer.leafSpki,
    extensions: [
      extensions.notCa(),
      extensions.digitalSignature(),
      extensions.serverAuth(),
      extensions.authorityKeyId(issuer.keyId),
      extensions.subjectAltName(generalName(host), !named),
    ],
  });
  return { pem, notBeforeMs, notAfterMs };
}
