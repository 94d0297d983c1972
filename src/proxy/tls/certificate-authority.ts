import { X509Certificate, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { ensureCaFiles } from './ca-files.ts';
import type { Signer } from './certificate.ts';
import { commonName, extensions, issueCertificate, keyIdOf, readParts, signerOf } from './certificate.ts';

const dayMs = 86_400_000;
const lifetimeMs = 3650 * dayMs;
/** Sandboxes restored from an image run behind. */
const backdatedMs = dayMs;

export type CertificateAuthority = {
  readonly signer: Signer;
  readonly subject: Buffer;
  readonly keyId: Buffer;
  readonly notAfterMs: number;
  /** Every certificate of the file, in its order: the signing one first. */
  readonly certificatePem: string;
  /** Certificates that a server must send after its leaf: those of the file that are no roots. */
  readonly chainPem: string;
  /** Of the signing certificate: SHA-256, upper-case hexadecimal with colons. */
  readonly fingerprint: string;
  readonly created: boolean;
};

export type CaLocation = { readonly certPath: string; readonly keyPath: string; readonly nowMs: () => number };

function makeKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function loadKey(pem: string, keyPath: string): { key: KeyObject; signer: Signer } {
  if (/ENCRYPTED/.test(pem)) throw new Error(`CA key ${keyPath}: is encrypted; the proxy cannot ask for its password`);
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw new Error(`CA key ${keyPath}: no private key in PEM form`, { cause: error });
  }
  const signer = signerOf(key);
  if (signer === undefined) throw new Error(`CA key ${keyPath}: expected EC (P-256, P-384, P-521) or RSA of at least 2048 bits, which every client can verify`);
  return { key, signer };
}

/** The name carries a part of the key's identifier: two CAs of the same name in one trust store break chain building. */
async function makeCertificate({ key, signer }: { key: KeyObject; signer: Signer }, nowMs: number): Promise<string> {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const keyId = keyIdOf(spki);
  const name = commonName(`Customhouse CA ${keyId.toString('hex').slice(0, 8)}`);
  return issueCertificate(signer, {
    issuer: name,
    subject: name,
    notBeforeMs: nowMs - backdatedMs,
    notAfterMs: nowMs + lifetimeMs,
    spki,
    extensions: [extensions.leafIssuer(), extensions.keyCertSign(), extensions.subjectKeyId(keyId)],
  });
}

/** The certificates of a PEM file. Throws, with the path, for one without any or with one that cannot be read. */
export function readCertificates(pem: string, path: string): [X509Certificate, ...X509Certificate[]] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    const [first, ...rest] = blocks.map((block) => new X509Certificate(block));
    if (first !== undefined) return [first, ...rest];
  } catch (error) {
    throw new Error(`CA ${path}: holds a certificate that cannot be read`, { cause: error });
  }
  throw new Error(`CA ${path}: no certificate in PEM form`);
}

function isRoot(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate);
}

function checkUsable([first, ...rest]: readonly [X509Certificate, ...X509Certificate[]], key: KeyObject, { certPath, keyPath, nowMs }: CaLocation): void {
  const refuse = (text: string): never => {
    throw new Error(`CA ${certPath}: ${text}`);
  };
  if (!first.checkPrivateKey(key)) refuse(`the key in ${keyPath} belongs to another certificate`);
  // OpenSSL's answer takes both extensions into account.
  if (!first.ca) refuse('the first certificate is not a CA (basicConstraints CA:TRUE, and keyCertSign where there is a keyUsage)');
  let below = first;
  for (const [at, above] of rest.entries()) {
    if (!below.checkIssued(above) || !below.verify(above.publicKey)) refuse(`certificate ${at + 2} of the file did not issue certificate ${at + 1}; put them in the order from the signing CA to the root`);
    below = above;
  }
  for (const certificate of [first, ...rest]) {
    if (nowMs() >= certificate.validToDate.getTime()) refuse(`expired on ${certificate.validToDate.toISOString()}`);
    if (nowMs() < certificate.validFromDate.getTime()) refuse(`is not valid before ${certificate.validFromDate.toISOString()}`);
  }
}

/**
 * The CA of the two PEM files, made at the first start when there is neither. A given certificate may be followed by those above it.
 * Throws with what is wrong: not a CA, another's key, expired, a kind of key that clients do not verify.
 */
export async function loadCertificateAuthority(location: CaLocation): Promise<CertificateAuthority> {
  const { certPath, keyPath, nowMs } = location;
  // The text would stand in each error that names the file.
  if (keyPath.includes('-----BEGIN')) throw new Error('PROXY_CA_KEY: expected the path of a file, not the key itself');
  const files = await ensureCaFiles({ certPath, keyPath, makeKey, makeCertificate: (pem) => makeCertificate(loadKey(pem, keyPath), nowMs()) });
  const { key, signer } = loadKey(files.key, keyPath);
  const certificates = readCertificates(files.certificates, certPath);
  checkUsable(certificates, key, location);
  const [first] = certificates;
  const { subject, keyId } = readParts(first.raw);
  return {
    signer,
    subject,
    keyId,
    notAfterMs: Math.min(...certificates.map(({ validToDate }) => validToDate.getTime())),
    certificatePem: certificates.map((one) => one.toString()).join(''),
    chainPem: certificates.filter((one) => !isRoot(one)).map((one) => one.toString()).join(''),
    fingerprint: first.fingerprint256,
    created: files.created,
  };
}
