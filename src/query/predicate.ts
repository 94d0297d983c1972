import type { Micros } from '../kernel/clock.ts';

/**
 * What a caller asked for and may see, as one tree. `sql.ts` compiles it to SQL and `match.ts` to a function, with equal results on every
 * row: an absent column counts as the empty string, so `not in` holds for rows that do not have the column.
 *
 * `in` and `populated` name a text column of the column table, or `counter` (keys of `debits` and `budget_state`).
 * Windows are half-open, so that windows set side by side count every row once: `since` is inclusive, `until` is exclusive.
 */
export type Predicate =
  | boolean
  | { readonly and: readonly Predicate[] }
  | { readonly or: readonly Predicate[] }
  | { readonly not: Predicate }
  | { readonly in: string; readonly values: readonly string[] }
  | { readonly populated: string }
  | { readonly since: Micros }
  | { readonly until: Micros };

/** Conjunction without the parts that decide nothing. */
export function allOf(parts: readonly Predicate[]): Predicate {
  const kept = parts.filter((part) => part !== true);
  if (kept.includes(false)) return false;
  const [first] = kept;
  if (first === undefined) return true;
  return kept.length === 1 ? first : { and: kept };
}

/** Disjunction without the parts that decide nothing. */
export function anyOf(parts: readonly Predicate[]): Predicate {
  const kept = parts.filter((part) => part !== false);
  if (kept.includes(true)) return true;
  const [first] = kept;
  if (first === undefined) return false;
  return kept.length === 1 ? first : { or: kept };
}

/** Membership; of an empty list nothing is a member. */
export function isIn(column: string, values: readonly string[]): Predicate {
  return values.length === 0 ? false : { in: column, values };
}
