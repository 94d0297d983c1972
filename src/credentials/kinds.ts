import type { MintedCredential } from './minted-credential.ts';
import type { CredentialKind, CredentialStatus, StoredCredential } from './vault.ts';

/**
 * What one mint gave. `expiresAtMs` is in milliseconds since the epoch; absent for what does not expire. A failure's `reason` is a short
 * slug of ours, never a provider's text; `terminal` says that trying again is no use.
 */
export type KindOutcome =
  | { readonly ok: true; readonly minted: MintedCredential; readonly expiresAtMs?: number }
  | { readonly ok: false; readonly status: Exclude<CredentialStatus, 'active' | 'revoked'>; readonly reason: string; readonly terminal: boolean };

export type MintKind = (stored: StoredCredential, signal: AbortSignal) => Promise<KindOutcome>;

/** Kinds without an entry cannot be minted here: they answer as unavailable, without a change of status. */
export type MintKinds = Readonly<Partial<Record<CredentialKind, MintKind>>>;
