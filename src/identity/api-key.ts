import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Secret } from '../kernel/secret.ts';

/**
 * An API key is `ch_` + 8-character id + secret of 32 characters (design 8), letters and digits only, so that a double click selects
 * all of it. The first 11 characters are its prefix: shown in lists, and what the look-up goes by. Only the SHA-256 of the whole key is stored: its secret has
 * 190 bits of chance, which no slow hash would make safer.
 */
export type NewApiKey = { readonly key: Secret; readonly prefix: string; readonly hash: string };

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keyPattern = /^ch_[0-9A-Za-z]{40}$/;
const prefixLength = 11;

function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      // 248 = 4 × 62: larger bytes would make the first letters likelier than the last ones.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62] ?? '';
    }
  }
  return text;
}

/** Hexadecimal SHA-256 of the whole key. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}

export function createApiKey(): NewApiKey {
  const key = `ch_${randomText(40)}`;
  return { key: new Secret(key), prefix: key.slice(0, prefixLength), hash: hashApiKey(key) };
}

/** The prefix of a text that has the form of a key; undefined for anything else, also for a truncated key. */
export function apiKeyPrefix(text: string): string | undefined {
  return keyPattern.test(text) ? text.slice(0, prefixLength) : undefined;
}

const nobody = hashApiKey('no key has this hash');

/** Compares in constant time; a key that is not stored is compared too, so that time does not tell whether a prefix exists. */
export function apiKeyMatches(key: string, storedHash: string | undefined): boolean {
  const given = Buffer.from(hashApiKey(key), 'hex');
  const stored = Buffer.from(storedHash ?? nobody, 'hex');
  return stored.length === given.length && timingSafeEqual(given, stored) && storedHash !== undefined;
}
