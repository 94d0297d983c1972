import type { BudgetOwner, BudgetStore, CounterState, Exhausted, Hold, MeterResult } from '../budgets/contract.ts';
import { finalDebits, meterOfNoResponse, planBudget, rowDebits } from '../budgets/plan.ts';
import type { Counter } from '../policy/model.ts';
import type { Attribution, Spent, Verdict } from './verdict.ts';
import { deny } from './verdict.ts';

export const nothingSpent: Spent = { debits: {}, budgetState: {}, floored: new Map() };

const noResponse: MeterResult = { debits: new Map(), floored: new Map() };

/** The budgets of one request that was let through: held from before its first byte upstream until its row. */
export type Spending = {
  readonly settle: (sentBodyBytes: number, response: MeterResult) => Promise<Spent>;
  /** The request may have reached its upstream, which did not answer. */
  readonly settleUnanswered: (sentBodyBytes: number) => Promise<Spent>;
  /** Nothing left the proxy. */
  readonly release: () => Promise<Spent>;
};

export type SpendingDeps = { readonly store: BudgetStore; readonly renewMs: number; readonly onError: (error: unknown) => void };

/**
 * Reserves for all counters or none (design 11). A store that cannot be asked rejects: the request is denied, never let through. Holds of
 * long streams are renewed; one that expired meanwhile is settled all the same.
 */
export async function startSpending(counters: readonly Counter[], owner: BudgetOwner, bodyBytes: number | undefined, { store, renewMs, onError }: SpendingDeps): Promise<Spending | Exhausted> {
  const { reservations } = planBudget(counters, { bodyBytes });
  if (reservations.length === 0) return unmetered;
  const hold = await store.reserve(owner, reservations);
  if (hold.kind === 'exhausted') return hold;
  const timer = setInterval(() => void store.renew(owner, hold).catch(onError), renewMs);
  timer.unref();
  return held(counters, owner, hold, store, () => clearInterval(timer));
}

/** For requests without counters. */
export const unmetered: Spending = { settle: async () => nothingSpent, settleUnanswered: async () => nothingSpent, release: async () => nothingSpent };

function held(counters: readonly Counter[], owner: BudgetOwner, hold: Hold, store: BudgetStore, stop: () => void): Spending {
  async function settle(sentBodyBytes: number, response: MeterResult): Promise<Spent> {
    stop();
    const { debits, floored } = finalDebits(counters, { sentBodyBytes }, response);
    const budgetState: Readonly<Record<string, CounterState>> = await store.settle(owner, hold, debits);
    return { debits: rowDebits(debits), budgetState, floored };
  }
  return {
    settle,
    settleUnanswered: (sentBodyBytes) => settle(sentBodyBytes, meterOfNoResponse(counters)),
    async release() {
      stop();
      await store.release(owner, hold);
      return { ...nothingSpent, debits: rowDebits(noResponse.debits) };
    },
  };
}

/** The deny of a reached ceiling (contract 6.3): `detail.counter`, and `detail.scope` for a budget. */
export function exhaustedVerdict({ limit, counter, scope, retryAfterMs }: Exhausted, attribution: Attribution): Verdict {
  const detail = { counter, ...(scope === undefined ? {} : { scope }) };
  const verdict = deny(limit === 'budget' ? 'budget_exhausted' : 'concurrency_exhausted', attribution, detail, 'request_body');
  return retryAfterMs === undefined ? verdict : { ...verdict, retryAfterMs };
}
