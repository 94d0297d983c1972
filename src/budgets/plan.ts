import type { Counter } from '../policy/model.ts';
import { saturated } from './amount.ts';
import type { FlooredReason, MeterResult, Reservation } from './contract.ts';
import { charged, meterResult } from './failure-charge.ts';

export type BudgetPlan = {
  readonly reservations: readonly Reservation[];
  /** All amounts are final and nothing has to be held: `charge` does in one step what `reserve` and `settle` do in two. It cannot be taken back. */
  readonly chargeable: boolean;
};

/**
 * What to reserve for an allowed request (contract 2.7): 1 for request.count; the length of the body for request.bytes, where it is
 * known, else 0 until the request settles; `reserve_per_request` for what the response will tell.
 * `bodyBytes` is 0 for a request without a body, undefined for one whose length is not known yet (chunked).
 */
export function planBudget(counters: readonly Counter[], request: { readonly bodyBytes: number | undefined }): BudgetPlan {
  return {
    reservations: counters.map((counter) => ({ counter, amount: reservedFor(counter, request.bodyBytes) })),
    chargeable: counters.every((counter) => counter.maxConcurrent === 0 && isFinal(counter, request.bodyBytes)),
  };
}

function reservedFor(counter: Counter, bodyBytes: number | undefined): bigint {
  switch (counter.source) {
    case 'request.count': return 1n;
    case 'request.bytes': return BigInt(bodyBytes ?? 0);
    case 'response.bytes':
    case 'response': return counter.reservePerRequest;
  }
}

function isFinal({ source }: Counter, bodyBytes: number | undefined): boolean {
  return source === 'request.count' || (source === 'request.bytes' && bodyBytes !== undefined);
}

/**
 * What a request that left the proxy costs in the end: its own side from what was sent, the response's from the meter. A response counter
 * whose status codes did not match has no debit; the store settles it with 0.
 */
export function finalDebits(counters: readonly Counter[], request: { readonly sentBodyBytes: number }, response: MeterResult): MeterResult {
  const own = counters.flatMap(({ name, source }): [string, bigint][] => {
    if (source === 'request.count') return [[name, 1n]];
    return source === 'request.bytes' ? [[name, saturated(BigInt(request.sentBodyBytes))]] : [];
  });
  return { debits: new Map([...own, ...response.debits]), floored: response.floored };
}

/**
 * The response's side of a request that may have reached its upstream but was never answered: each failure charge, so that hanging up
 * before the head is not free (attacks 122). The reasons are those a response cut at its first byte would give.
 */
export function meterOfNoResponse(counters: readonly Counter[]): MeterResult {
  const responding = counters.filter(({ source }) => source === 'response' || source === 'response.bytes');
  return meterResult(responding.map((counter) => ({ counter, result: charged(counter, 0n, reasonWithoutResponse(counter)) })));
}

function reasonWithoutResponse({ source, requiresBody, framing }: Counter): FlooredReason | undefined {
  if (source === 'response.bytes') return undefined;
  if (!requiresBody) return 'cel_eval_error';
  return framing === 'sse' ? 'terminator_not_observed' : 'parse_failed';
}

/** `debits` of a row: the contract has plain integers there, so what a double cannot hold exactly stays at the largest it can. */
export function rowDebits(debits: ReadonlyMap<string, bigint>): Record<string, number> {
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  return Object.fromEntries([...debits].map(([name, amount]) => [name, Number(amount > most ? most : amount)]));
}

