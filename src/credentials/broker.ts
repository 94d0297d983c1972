import type { AuthProvider } from '../kernel/auth-providers.ts';
import type { MintKinds } from './kinds.ts';
import type { MintedCredential } from './minted-credential.ts';
import { staticKinds } from './static-kinds.ts';
import type { StatusChange } from './status-reports.ts';
import { createStatusReports } from './status-reports.ts';
import type { CredentialOwner, CredentialVault, StoredCredential } from './vault.ts';

/** Why a mint gave what it gave: for metrics. Rows say no more than `auth_unavailable` (contract 6.4). */
export type MintOutcome =
  | 'minted' | 'cached' | 'not_found' | 'unusable_status' | 'provider_mismatch' | 'kind_unavailable' | 'kind_failed' | 'vault_failed' | 'timed_out' | 'overloaded';

export type BrokerLimits = {
  /** How long a minted token is used at most before the vault is asked again. */
  readonly ttlMs: number;
  /** How long a failure is answered without asking again. */
  readonly negativeTtlMs: number;
  /** A token is not used any more this long before it expires: it still has to travel. */
  readonly expiryMarginMs: number;
  readonly entriesMax: number;
  /** Loads and mints under way at once; more are refused. */
  readonly mintsMax: number;
  /** For load and mint together. */
  readonly timeoutMs: number;
};

export const brokerLimits: BrokerLimits = { ttlMs: 60_000, negativeTtlMs: 5_000, expiryMarginMs: 30_000, entriesMax: 4_096, mintsMax: 64, timeoutMs: 5_000 };

export type BrokerDeps = {
  readonly vault: CredentialVault;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Called once for each change of a credential's status. Must not throw. */
  readonly onStatus: (change: StatusChange) => void;
  readonly onOutcome: (outcome: MintOutcome) => void;
  /** What the vault or a kind rejected with. */
  readonly onError: (error: unknown) => void;
  readonly limits?: BrokerLimits;
  readonly kinds?: MintKinds;
};

export type Broker = {
  /**
   * A token for the sink of `provider`, or undefined when there is none, for whatever reason. Never rejects. Nothing that is held for
   * one workspace is answered to another.
   */
  mint(owner: CredentialOwner, credential: string, provider: AuthProvider): Promise<MintedCredential | undefined>;
  /** Forgets what is held for an org, or for one name of it: deleted, rotated, authorized anew. Also mints under way are not kept. */
  invalidate(orgId: string, name?: string): void;
  /** Entries held, the ones under way included. */
  readonly size: number;
};

type Result = { readonly outcome: MintOutcome; readonly provider?: AuthProvider; readonly minted?: MintedCredential; readonly untilMs: number };
type Entry = { readonly orgId: string; readonly name: string; readonly pending: Promise<Result>; result: Result | undefined };

export function createBroker({ vault, clock, onStatus, onOutcome, onError, limits = brokerLimits, kinds = staticKinds }: BrokerDeps): Broker {
  const entries = new Map<string, Entry>();
  const report = createStatusReports(onStatus, limits.entriesMax);
  let underWay = 0;

  async function obtain(owner: CredentialOwner, name: string): Promise<Result> {
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setTimeout(() => controller.abort(), limits.timeoutMs);
    try {
      // The vault is told to stop, and no longer waited for when it does not.
      return await Promise.race([loadAndMint(owner, name, signal), aborted(signal)]);
    } catch (error) {
      if (!signal.aborted) onError(error);
      return failed(signal.aborted ? 'timed_out' : 'vault_failed');
    } finally {
      clearTimeout(timer);
    }
  }

  async function loadAndMint(owner: CredentialOwner, name: string, signal: AbortSignal): Promise<Result> {
    const stored = await vault.load({ ...owner, name }, signal);
    signal.throwIfAborted();
    // A vault that mixes up orgs must not make a token of one go out for another.
    if (stored === undefined || stored.orgId !== owner.orgId) return failed('not_found');
    // Only a new authorization leads out of these (contract 3.3).
    if (stored.status === 'revoked' || stored.status === 'needs_reauth') return failed('unusable_status');
    const kind = kinds[stored.kind];
    if (kind === undefined) return failed('kind_unavailable');
    const given = await kind(stored, signal);
    signal.throwIfAborted();
    if (!given.ok) {
      report(owner, stored, given);
      return failed('kind_failed');
    }
    report(owner, stored, { status: 'active', reason: 'minted', terminal: false });
    return kept(stored, given.minted, given.expiresAtMs);
  }

  function kept({ provider }: StoredCredential, minted: MintedCredential, expiresAtMs: number | undefined): Result {
    const ttlEndMs = clock() + limits.ttlMs;
    return { outcome: 'minted', provider, minted, untilMs: expiresAtMs === undefined ? ttlEndMs : Math.min(ttlEndMs, expiresAtMs - limits.expiryMarginMs) };
  }

  function failed(outcome: MintOutcome): Result {
    return { outcome, untilMs: clock() + limits.negativeTtlMs };
  }

  function entryOf(owner: CredentialOwner, name: string): Entry | undefined {
    const key = JSON.stringify([owner.orgId, owner.workspaceId, name]);
    const known = entries.get(key);
    if (known !== undefined) entries.delete(key);
    if (known !== undefined && (known.result === undefined || clock() < known.result.untilMs)) {
      entries.set(key, known);
      return known;
    }
    if (underWay >= limits.mintsMax) return undefined;
    underWay += 1;
    const pending = obtain(owner, name).finally(() => (underWay -= 1));
    const entry: Entry = { orgId: owner.orgId, name, pending, result: undefined };
    entries.set(key, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= limits.entriesMax) break;
      entries.delete(oldest);
    }
    return entry;
  }

  return {
    async mint(owner, credential, provider) {
      const entry = entryOf(owner, credential);
      if (entry === undefined) {
        onOutcome('overloaded');
        return undefined;
      }
      const held = entry.result;
      const result = held ?? (entry.result = await entry.pending);
      // That a policy names another provider says nothing about the credential: its status stays.
      const mismatch = result.provider !== undefined && result.provider !== provider;
      onOutcome(mismatch ? 'provider_mismatch' : held !== undefined && result.minted !== undefined ? 'cached' : result.outcome);
      return mismatch ? undefined : result.minted;
    },
    invalidate(orgId, name) {
      for (const [key, entry] of entries) if (entry.orgId === orgId && (name === undefined || entry.name === name)) entries.delete(key);
    },
    get size() {
      return entries.size;
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
}
