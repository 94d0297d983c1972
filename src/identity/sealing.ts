import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { Secret } from '../kernel/secret.ts';

/** What a sealed value belongs to. It is bound into the seal: a value copied to another org, name or kind does not open. */
export type SealedFor = { readonly kind: 'secret' | 'credential'; readonly orgId: string; readonly name: string; readonly userId?: string | undefined };

export type Sealer = {
  readonly seal: (value: Secret, owner: SealedFor) => Buffer;
  /** Throws SealingError. */
  readonly open: (sealed: Uint8Array, owner: SealedFor) => Secret;
};

/**
 * `no_key`: SECRETS_KEY is not set. `unknown_key`: sealed with a key that SECRETS_KEY no longer holds. `damaged`: changed, cut short, or
 * moved to another owner.
 */
export class SealingError extends Error {
  readonly code: 'no_key' | 'unknown_key' | 'damaged';

  constructor(code: SealingError['code']) {
    super(`sealed value: ${code}`);
    this.name = 'SealingError';
    this.code = code;
  }
}

const formatVersion = 1;
const keyIdBytes = 8;
const ivBytes = 12;
const tagBytes = 16;
const headBytes = 1 + keyIdBytes + ivBytes + tagBytes;

type Key = { readonly id: Buffer; readonly key: Buffer };

function toKey(text: string): Key {
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32) throw new RangeError('a sealing key has 32 bytes');
  return { key, id: createHash('sha256').update('customhouse sealing key id').update(key).digest().subarray(0, keyIdBytes) };
}

/** JSON, so that no two owners share a text. */
function associatedData({ kind, orgId, name, userId }: SealedFor): Buffer {
  return Buffer.from(JSON.stringify([kind, orgId, name, userId ?? null]), 'utf8');
}

/**
 * AES-256-GCM under the keys of the setting SECRETS_KEY: comma-separated, base64, 32 bytes each. The first seals, all of them open, so
 * that a key is rotated by putting a new one in front. Layout: version (1 byte), key id (8), nonce (12), tag (16), ciphertext.
 * Without keys every call throws `no_key`.
 */
export function createSealer(secretsKey: string | undefined): Sealer {
  const keys = secretsKey === undefined ? [] : secretsKey.split(',').map((text) => toKey(text.trim()));
  return {
    seal(value, owner) {
      const [first] = keys;
      if (first === undefined) throw new SealingError('no_key');
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', first.key, iv, { authTagLength: tagBytes }).setAAD(associatedData(owner));
      const ciphertext = Buffer.concat([cipher.update(value.reveal(), 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(formatVersion), first.id, iv, cipher.getAuthTag(), ciphertext]);
    },
    open(sealed, owner) {
      if (keys.length === 0) throw new SealingError('no_key');
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes.length < headBytes || bytes[0] !== formatVersion) throw new SealingError('damaged');
      const keyId = bytes.subarray(1, 1 + keyIdBytes);
      const key = keys.find(({ id }) => id.equals(keyId));
      if (key === undefined) throw new SealingError('unknown_key');
      const iv = bytes.subarray(1 + keyIdBytes, 1 + keyIdBytes + ivBytes);
      const decipher = createDecipheriv('aes-256-gcm', key.key, iv, { authTagLength: tagBytes }).setAAD(associatedData(owner)).setAuthTag(bytes.subarray(headBytes - tagBytes, headBytes));
      try {
        return new Secret(Buffer.concat([decipher.update(bytes.subarray(headBytes)), decipher.final()]).toString('utf8'));
      } catch {
        // The cause says no more than this does.
        throw new SealingError('damaged');
      }
    },
  };
}

/** A new key in the form of the setting. */
export function generateSecretsKey(): string {
  return randomBytes(32).toString('base64');
}
