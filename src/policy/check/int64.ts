import type { Reporter } from '../problem.ts';
import type { Fields } from './fields.ts';

const int64Max = 2n ** 63n - 1n;

/** A non-negative integer field within int64; 0 when absent, undefined when wrong. The wrong type is reported where the map is opened. */
export function amountOf(fields: Fields, key: string, reporter: Reporter, max: bigint = int64Max): bigint | undefined {
  if (!fields.has(key)) return 0n;
  const field = fields.integer(key);
  if (field === undefined) return undefined;
  if (field.integer < 0n && field.integer >= -int64Max - 1n) {
    reporter.problem('negative_value', field, `${key} may not be negative`);
    return undefined;
  }
  if (field.integer > max || field.integer < 0n) {
    reporter.problem('invalid_int64', field, `${key} must be an integer from 0 to ${max}`);
    return undefined;
  }
  return field.integer;
}
