import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { uuidv7 } from '../../kernel/ids.ts';

export type KeyFiles = { readonly privateJwkFile: string; readonly jwksFile: string };

/**
 * An Ed25519 key pair below the data directory, made once: the private key for `up` and `customhouse token`, the public JWKS for the
 * roles. In production both live with the identity provider or a key management system, and the roles get the JWKS by URL.
 */
export function ensureKeys(dataDir: string, purpose: 'session' | 'capability'): KeyFiles {
  const dir = join(dataDir, 'keys');
  const files = { privateJwkFile: join(dir, `${purpose}.private.jwk.json`), jwksFile: join(dir, `${purpose}.jwks.json`) };
  if (existsSync(files.privateJwkFile) && existsSync(files.jwksFile)) return files;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const kid = uuidv7();
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' };
  writeFileSync(files.jwksFile, `${JSON.stringify({ keys: [jwk] }, null, 2)}\n`);
  writeFileSync(files.privateJwkFile, `${JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid, alg: 'EdDSA' })}\n`, { mode: 0o600 });
  return files;
}
