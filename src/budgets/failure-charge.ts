import type { Counter } from '../policy/model.ts';
import { saturated } from './amount.ts';
import type { FlooredReason, MeterResult } from './contract.ts';

export type CounterResult = { readonly debit: bigint; readonly floored: FlooredReason | undefined };

/**
 * The debit of a response counter. A reason means that the extraction failed: at least the failure charge is debited, and what was
 * extracted before when that is more, as a failure must never be cheaper than what is known. Without one a lower value is raised to it.
 * Order of reasons, the first wins: framing, format, encoding mismatch (from the head; the body is not looked at then), parse_failed,
 * cel_eval_error, terminator_not_observed, extracted_below_failure_charge.
 */
export function charged({ failureCharge }: Pick<Counter, 'failureCharge'>, extracted: bigint, reason: FlooredReason | undefined): CounterResult {
  const below = extracted < failureCharge;
  return { debit: saturated(below ? failureCharge : extracted), floored: reason ?? (below ? 'extracted_below_failure_charge' : undefined) };
}

export function meterResult(results: readonly { readonly counter: Pick<Counter, 'name'>; readonly result: CounterResult }[]): MeterResult {
  return {
    debits: new Map(results.map(({ counter, result }) => [counter.name, result.debit])),
    floored: new Map(results.flatMap(({ counter, result: { floored } }) => (floored === undefined ? [] : [[counter.name, floored] as const]))),
  };
}
