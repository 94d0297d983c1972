import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, errors } from 'jose';
import type { CryptoKey, FlattenedJWSInput, JSONWebKeySet, JWSHeaderParameters } from 'jose';

/** The public keys could not be read: a fault of the deployment, not of the caller. */
export class KeySetUnavailableError extends Error {
  constructor(url: string, cause: unknown) {
    super(`key set ${new URL(url).protocol}//${new URL(url).host}: cannot be read`, { cause });
    this.name = 'KeySetUnavailableError';
  }
}

export type KeySetOptions = {
  /** `http:`, `https:` or `file:` URL of a JWK Set. */
  readonly url: string;
  /** A token with an unknown key id makes the set be read again, but not more often than this: otherwise anybody could make us hammer the issuer. */
  readonly coolDownMs?: number;
  /** Age after which the set is read again in any case, so that a withdrawn key stops working. */
  readonly cacheMs?: number;
  readonly timeoutMs?: number;
};

export type KeySet = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const bytesMax = 1_048_576;

async function readText(url: string, timeoutMs: number): Promise<string> {
  if (url.startsWith('file:')) return readFile(new URL(url), { encoding: 'utf8', signal: AbortSignal.timeout(timeoutMs) });
  const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok || response.body === null) throw new Error(`answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Finds the key of a token by its `kid`. Rotation needs no restart: an unknown `kid` reads the set again. When a re-read fails the keys
 * already known keep working for ten times `cacheMs`, so that a short outage of the issuer signs nobody out.
 */
export function createKeySet({ url, coolDownMs = 30_000, cacheMs = 600_000, timeoutMs = 5000 }: KeySetOptions): KeySet {
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    triedAtMs = performance.now();
    try {
      // createLocalJWKSet checks the shape and throws on anything else.
      keys = createLocalJWKSet(JSON.parse(await readText(url, timeoutMs)) as JSONWebKeySet);
      readAtMs = performance.now();
    } catch (cause) {
      if (keys === undefined || performance.now() - readAtMs > cacheMs * 10) {
        keys = undefined;
        throw new KeySetUnavailableError(url, cause);
      }
    }
  }

  function readOnce(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  const mayTry = (): boolean => performance.now() - triedAtMs >= coolDownMs;

  async function find(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    if (keys === undefined || (performance.now() - readAtMs > cacheMs && mayTry())) await readOnce();
    if (keys === undefined) throw new KeySetUnavailableError(url, 'no keys');
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !mayTry()) throw error;
      await readOnce();
      return keys(header, token);
    }
  }
  return find;
}
