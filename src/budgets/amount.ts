/** Amounts of counters are int64, never negative (contract 2.7). */
export const int64Max = 2n ** 63n - 1n;

/** Sums that leave int64 stay at its end: a counter that wrapped round would let everything through. */
export function saturated(amount: bigint): bigint {
  return amount > int64Max ? int64Max : amount;
}

/** Throws RangeError for a negative amount: a debit must never give something back. */
export function checkedAmount(amount: bigint, what: string): bigint {
  if (amount < 0n) throw new RangeError(`${what} is negative`);
  return saturated(amount);
}

/** As rows carry it: a number where a double holds it exactly, else decimal text. */
export function shownAmount(amount: bigint): number | string {
  const capped = saturated(amount);
  return capped <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(capped) : String(capped);
}
