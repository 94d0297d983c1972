import { uuidv7 } from '../kernel/ids.ts';
import { checkedAmount } from './amount.ts';
import type { Hold, Reservation } from './contract.ts';

/**
 * What a store has to keep of a request. Counters without a scope and without `max_concurrent` only measure (contract 2.7, warning 1): no
 * store is asked for them and they have no state. Throws RangeError for a negative amount or a counter that is named twice.
 */
export function enforcedOf(reservations: readonly Reservation[]): readonly Reservation[] {
  const names = new Set<string>();
  return reservations.map(({ counter, amount }) => {
    if (names.has(counter.name)) throw new RangeError(`counter ${counter.name} is reserved twice`);
    names.add(counter.name);
    return { counter, amount: checkedAmount(amount, `the amount of ${counter.name}`) };
  }).filter(({ counter }) => counter.workspace !== undefined || counter.task !== undefined || counter.maxConcurrent > 0);
}

/** A hold on nothing, for requests none of whose counters enforce anything. */
export const emptyHold: Hold = Object.freeze({ kind: 'held', id: 'none' });

export function newHold(): Hold {
  return { kind: 'held', id: uuidv7() };
}

/** How long an expired hold is remembered, so that a settle that comes late (Redis was away, a stalled process) still debits once. */
export const lateSettleMs = 3_600_000;
