import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateSecretsKey } from '../../identity/sealing.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../identity/signing-key.ts';
import type { PrivateJwk, SigningKey } from '../../identity/signing-key.ts';

export type KeyPurpose = 'session' | 'capability';

function privateFile(dataDir: string, purpose: KeyPurpose): string {
  return join(dataDir, 'keys', `${purpose}.private.jwk.json`);
}

/** The public half, which the roles read. */
export function jwksFile(dataDir: string, purpose: KeyPurpose): string {
  return join(dataDir, 'keys', `${purpose}.jwks.json`);
}

/**
 * An Ed25519 key below the data directory, made once: the private half for `up` and `customhouse token`, the public JWK Set for the
 * roles. In production the private halves live with the identity provider and the control plane, and the roles get the sets by URL.
 */
export async function ensureKey(dataDir: string, purpose: KeyPurpose): Promise<void> {
  if (existsSync(privateFile(dataDir, purpose)) && existsSync(jwksFile(dataDir, purpose))) return;
  mkdirSync(join(dataDir, 'keys'), { recursive: true, mode: 0o700 });
  const jwk = await generateSigningJwk('EdDSA');
  // The public set first: a crash between the two writes makes both anew, never a private key whose public half is another's.
  writeFileSync(jwksFile(dataDir, purpose), `${JSON.stringify(publicKeySet([jwk]), null, 2)}\n`);
  writeFileSync(privateFile(dataDir, purpose), `${JSON.stringify(jwk)}\n`, { mode: 0o600 });
}

export function readKey(dataDir: string, purpose: KeyPurpose): Promise<SigningKey> {
  return importSigningKey(JSON.parse(readFileSync(privateFile(dataDir, purpose), 'utf8')) as PrivateJwk);
}

export type SharedSecret = 'secrets-key' | 'internal-token';

function secretFile(dataDir: string, name: SharedSecret): string {
  return join(dataDir, 'keys', name);
}

/** Made once: what the stack's secrets are sealed with, and what its proxy shows to its api. A lost sealing key cannot be made again. */
export function ensureSharedSecret(dataDir: string, name: SharedSecret): void {
  const file = secretFile(dataDir, name);
  if (existsSync(file)) return;
  mkdirSync(join(dataDir, 'keys'), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.tmp`, `${name === 'secrets-key' ? generateSecretsKey() : randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

export function readSharedSecret(dataDir: string, name: SharedSecret): string {
  return readFileSync(secretFile(dataDir, name), 'utf8').trim();
}

/** The same for a command: undefined where the stack's directory holds none. */
export function sharedSecretIn(dataDir: string, name: SharedSecret): string | undefined {
  return existsSync(secretFile(dataDir, name)) ? readSharedSecret(dataDir, name) : undefined;
}
