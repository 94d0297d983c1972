import type { Micros } from '../kernel/clock.ts';
import { validationError } from '../kernel/errors.ts';
import { isCounterName } from './metric.ts';
import { shown } from './problems.ts';

const second = 1_000_000;

/** Widths of a time bucket in microseconds, finest first; buckets start at multiples of the width since the epoch (UTC). */
const timeBuckets = new Map<string, Micros>([['5m', 300 * second], ['15m', 900 * second], ['1h', 3600 * second], ['6h', 21_600 * second], ['1d', 86_400 * second]]);

export type TimeBucket = 'auto' | Micros;

/** Numeric ranges of one value: `bounds` b1 < … < bn give the ranges `<b1`, `b1-b2`, …, `>=bn`. Rows without the value are in none. */
export type BucketBy = { readonly value: { readonly column: string } | { readonly counter: string }; readonly bounds: readonly number[] };

export const autoPointsMax = 300;
export const boundsMax = 100;
const rangeColumns = ['latency_ms', 'transforms_applied', 'validations_applied'];
const debitsPrefix = 'debits.';

/** @throws AppError validation_error with `details.fields.time_bucket` */
export function parseTimeBucket(text: string): TimeBucket {
  const bucket = text === 'auto' ? 'auto' : timeBuckets.get(text);
  if (bucket === undefined) throw validationError({ time_bucket: `${shown(text)} is not one of auto, ${[...timeBuckets.keys()].join(', ')}` });
  return bucket;
}

/** The finest width that cuts [from, to) into at most 300 buckets, or a day where none does. */
export function autoTimeBucket(from: Micros, to: Micros): Micros {
  const widths = [...timeBuckets.values()];
  const last = Math.max(from, to - 1);
  const points = (width: Micros): number => Math.floor(last / width) - Math.floor(from / width) + 1;
  return widths.find((width) => points(width) <= autoPointsMax) ?? 86_400 * second;
}

function parseBounds(text: string): number[] | undefined {
  const bounds = text.split(',').map((part) => (/^-?\d{1,16}$/.test(part) ? Number(part) : Number.NaN));
  const sound = bounds.length <= boundsMax && bounds.every((bound, index) => Number.isSafeInteger(bound) && (index === 0 || bound > (bounds[index - 1] ?? bound)));
  return sound ? bounds.map((bound) => bound + 0) : undefined;
}

/** @throws AppError validation_error with `details.fields.bucket_by` */
export function parseBucketBy(text: string): BucketBy {
  // Bounds hold no colon, a debits key may: the last one separates.
  const colon = text.lastIndexOf(':');
  const name = colon === -1 ? text : text.slice(0, colon);
  const counter = name.startsWith(debitsPrefix) ? name.slice(debitsPrefix.length) : undefined;
  if (counter === undefined ? !rangeColumns.includes(name) : !isCounterName(counter)) {
    throw validationError({ bucket_by: `${shown(name)} has no ranges; expected ${rangeColumns.join(', ')} or debits.<key>, then a colon and bounds` });
  }
  const bounds = colon === -1 ? undefined : parseBounds(text.slice(colon + 1));
  if (bounds === undefined) throw validationError({ bucket_by: `expected 1 to ${boundsMax} ascending integers after "${shown(name).slice(1, -1)}:", such as ${shown(name).slice(1, -1)}:10,100` });
  return { value: counter === undefined ? { column: name } : { counter }, bounds };
}

/** Label of range `index`, counted from 0 (`<b1`) to n (`>=bn`). */
export function rangeLabel(bounds: readonly number[], index: number): string {
  const lower = bounds[index - 1];
  const upper = bounds[index];
  if (lower === undefined) return `<${String(upper)}`;
  return upper === undefined ? `>=${lower}` : `${lower}-${upper}`;
}
