import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose';
import type { CryptoKey, JWK, JSONWebKeySet } from 'jose';

export type SigningAlgorithm = 'EdDSA' | 'ES256';

/** A private key that can sign tokens. `kid` is the RFC 7638 thumbprint of its public half. */
export type SigningKey = { readonly alg: SigningAlgorithm; readonly kid: string; readonly privateKey: CryptoKey };

/** A key as it is kept in a file: the JWK with its private part. Write it with mode 0600 and never print it. */
export type PrivateJwk = JWK & { readonly alg: SigningAlgorithm; readonly kid: string };

export async function generateSigningJwk(alg: SigningAlgorithm): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, alg, kid: await calculateJwkThumbprint(jwk), use: 'sig' };
}

/** Throws TypeError when the JWK is not a private EdDSA or ES256 key. */
export async function importSigningKey(jwk: PrivateJwk): Promise<SigningKey> {
  const privateKey = await importJWK(jwk, jwk.alg);
  if (privateKey instanceof Uint8Array || privateKey.type !== 'private') throw new TypeError('signing key: not a private key');
  return { alg: jwk.alg, kid: jwk.kid, privateKey };
}

/** The public halves, as a JWK Set that verifiers read. To rotate: add the new key, sign with it, drop the old one when its tokens have expired. */
export function publicKeySet(keys: readonly PrivateJwk[]): JSONWebKeySet {
  return { keys: keys.map(({ d: _private, ...publicPart }) => ({ ...publicPart })) };
}
