import type { Counter } from '../policy/model.ts';

/** Whose budgets a request counts against. Requests without a task share one task scope of their own, so that a ceiling is never skipped. */
export type BudgetOwner = { readonly orgId: string; readonly workspaceId: string; readonly taskId: string | undefined };

/** One counter of one request: `amount` is held until the request settles (0 for none). */
export type Reservation = { readonly counter: Counter; readonly amount: bigint };

/** A ceiling that is reached. `scope` is absent for `concurrency`; `retryAfterMs` when the window has an end. */
export type Exhausted = {
  readonly kind: 'exhausted';
  readonly limit: 'budget' | 'concurrency';
  readonly counter: string;
  readonly scope?: 'workspace' | 'task';
  readonly retryAfterMs?: number;
};

/** State of one counter after a commit, as in a row's `budget_state` (contract 2.1). Amounts within int64; beyond 2^53 as decimal text. */
export type ScopeState = { readonly max: number | string; readonly used: number | string; readonly held: number | string; readonly resets_at?: string };
export type CounterState = { readonly workspace?: ScopeState; readonly task?: ScopeState; readonly in_flight?: number };

export type Hold = { readonly kind: 'held'; readonly id: string };

/**
 * Counters of workspaces (design 11). Every call is atomic over all counters and both scopes of one request. A store that cannot be
 * reached rejects: the request is denied as internal_error, never let through.
 */
export type BudgetStore = {
  /** Checks every ceiling and `max_concurrent`, then holds all amounts or none. */
  reserve(owner: BudgetOwner, reservations: readonly Reservation[]): Promise<Hold | Exhausted>;
  /** For requests whose amounts are final at admission: reserve and settle in one step. */
  charge(owner: BudgetOwner, reservations: readonly Reservation[]): Promise<{ readonly kind: 'charged'; readonly state: Readonly<Record<string, CounterState>> } | Exhausted>;
  /** Keeps a hold alive while its stream runs. False when it expired meanwhile. */
  renew(owner: BudgetOwner, hold: Hold): Promise<boolean>;
  /** Ends a hold with what was really used, each counter of the reservation named; a hold settles once, further calls change nothing. */
  settle(owner: BudgetOwner, hold: Hold, debits: ReadonlyMap<string, bigint>): Promise<Readonly<Record<string, CounterState>>>;
  /** Gives everything back: nothing left the proxy. */
  release(owner: BudgetOwner, hold: Hold): Promise<void>;
  close(): Promise<void>;
};

/** What a response told about its counters. */
export type MeterResult = {
  /** Amount of each counter whose status codes match, also 0. */
  readonly debits: ReadonlyMap<string, bigint>;
  /** Contract 6.5. */
  readonly floored: ReadonlyMap<string, FlooredReason>;
};

export type FlooredReason =
  | 'framing_mismatch'
  | 'format_mismatch'
  | 'encoding_mismatch'
  | 'parse_failed'
  | 'cel_eval_error'
  | 'extracted_below_failure_charge'
  | 'terminator_not_observed';

export type ResponseHead = { readonly status: number; readonly headers: ReadonlyMap<string, string> };

/** Watches one response for all counters of its capability. Never changes or delays bytes; keeps at most one SSE event or one document. */
export type Meter = {
  /** True when no counter looks at the body: chunks need not be given. */
  readonly headersOnly: boolean;
  onChunk(chunk: Uint8Array): void;
  /** `clean` is false when the upstream or the agent cut the stream. */
  finish(clean: boolean): MeterResult;
};
