import type { Counter } from '../policy/model.ts';

/** `status_codes` of a counter (contract 2.7). A counter whose codes do not match says nothing of the response: no debit, no floor. */
export function matchesStatus({ statusCodes }: Pick<Counter, 'statusCodes'>, status: number): boolean {
  return statusCodes.some(({ from, to }) => status >= from && status <= to);
}
