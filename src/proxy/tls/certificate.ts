import { createHash, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { bitString, contextTag, element, integer, oid, readElements, sequence, tags, time, trueValue } from './der.ts';

const signAsync = promisify(sign) as (digest: string, data: Uint8Array, key: KeyObject) => Promise<Buffer>;

/** Signs with a CA's key; `algorithm` is the AlgorithmIdentifier that says how. */
export type Signer = { readonly algorithm: Buffer; readonly sign: (data: Uint8Array) => Promise<Buffer> };

const ecdsa: Readonly<Record<string, readonly [digest: string, algorithm: string]>> = {
  prime256v1: ['sha256', '1.2.840.10045.4.3.2'],
  secp384r1: ['sha384', '1.2.840.10045.4.3.3'],
  secp521r1: ['sha512', '1.2.840.10045.4.3.4'],
};
const rsaBitsMin = 2048;

/** Signer for a private key, or undefined for a kind that common clients cannot verify (Ed25519, other curves, short RSA). */
export function signerOf(key: KeyObject): Signer | undefined {
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const known = key.asymmetricKeyType === 'ec' ? ecdsa[namedCurve] : undefined;
  if (known !== undefined) return { algorithm: sequence(oid(known[1])), sign: (data) => signAsync(known[0], data, key) };
  if (key.asymmetricKeyType !== 'rsa' || modulusLength < rsaBitsMin) return undefined;
  return { algorithm: sequence(oid('1.2.840.113549.1.1.11'), element(0x05)), sign: (data) => signAsync('sha256', data, key) };
}

/** A Name with a common name only; empty for undefined. */
export function commonName(text: string | undefined): Buffer {
  if (text === undefined) return sequence();
  return sequence(element(tags.set, sequence(oid('2.5.4.3'), element(tags.utf8String, Buffer.from(text)))));
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [trueValue()] : []), element(tags.octetString, value));
}

const oids = { subjectKeyId: '2.5.29.14', keyUsage: '2.5.29.15', subjectAltName: '2.5.29.17', basicConstraints: '2.5.29.19', authorityKeyId: '2.5.29.35', extendedKeyUsage: '2.5.29.37', serverAuth: '1.3.6.1.5.5.7.3.1' } as const;

export const extensions = {
  /** A CA whose certificates are leaves only (path length 0). */
  leafIssuer: () => extension(oids.basicConstraints, true, sequence(trueValue(), integer(Buffer.from([0])))),
  notCa: () => extension(oids.basicConstraints, true, sequence()),
  keyCertSign: () => extension(oids.keyUsage, true, bitString(Buffer.from([0x06]), 1)),
  digitalSignature: () => extension(oids.keyUsage, true, bitString(Buffer.from([0x80]), 7)),
  serverAuth: () => extension(oids.extendedKeyUsage, false, sequence(oid(oids.serverAuth))),
  subjectKeyId: (id: Buffer) => extension(oids.subjectKeyId, false, element(tags.octetString, id)),
  authorityKeyId: (id: Buffer) => extension(oids.authorityKeyId, false, sequence(element(contextTag(0, false), id))),
  /** Critical when the subject is empty, as RFC 5280 4.2.1.6 asks. */
  subjectAltName: (name: Buffer, critical: boolean) => extension(oids.subjectAltName, critical, sequence(name)),
} as const;

/** Identifier of a key: 160 bits of SHA-256 over its bit string (RFC 7093 method 1). */
export function keyIdOf(spki: Buffer): Buffer {
  const [, bits] = readElements(readElements(spki)[0]?.content ?? spki);
  return createHash('sha256').update((bits?.content ?? spki).subarray(1)).digest().subarray(0, 20);
}

export type CertificateFields = {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SubjectPublicKeyInfo. */
  readonly spki: Buffer;
  readonly extensions: readonly Buffer[];
};

/** 127 random bits, positive and never of a shorter form. */
function randomSerial(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

/** A signed X.509 version 3 certificate, as PEM. */
export async function issueCertificate(signer: Signer, fields: CertificateFields): Promise<string> {
  const toBeSigned = sequence(
    element(contextTag(0, true), integer(Buffer.from([2]))),
    integer(randomSerial()),
    signer.algorithm,
    fields.issuer,
    sequence(time(fields.notBeforeMs), time(fields.notAfterMs)),
    fields.subject,
    fields.spki,
    element(contextTag(3, true), sequence(...fields.extensions)),
  );
  const der = sequence(toBeSigned, signer.algorithm, bitString(await signer.sign(toBeSigned)));
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;
}

/** Parts of a CA's certificate that its leaves repeat byte by byte. */
export type CertificateParts = { readonly subject: Buffer; readonly keyId: Buffer };

/** Reads a certificate that OpenSSL has parsed already, so its outer form is known to be right. */
export function readParts(der: Buffer): CertificateParts {
  const toBeSigned = readElements(readElements(readElements(der)[0]?.content ?? der)[0]?.content ?? der);
  // Version is the only element before the serial number, and absent in version 1.
  const at = toBeSigned[0]?.tag === contextTag(0, true) ? 1 : 0;
  const subject = toBeSigned[at + 4];
  const spki = toBeSigned[at + 5];
  if (subject === undefined || spki === undefined) throw new Error('certificate without subject or key');
  const list = toBeSigned.find(({ tag }) => tag === contextTag(3, true));
  const found = list === undefined ? [] : readElements(readElements(list.content)[0]?.content ?? Buffer.alloc(0));
  const name = oid(oids.subjectKeyId);
  const id = found.map(({ content }) => readElements(content)).find(([first]) => first?.whole.equals(name) === true)?.at(-1)?.content;
  return { subject: subject.whole, keyId: (id === undefined ? undefined : readElements(id)[0]?.content) ?? keyIdOf(spki.whole) };
}
