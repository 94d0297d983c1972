import type { Micros } from '../kernel/clock.ts';
import { parseTimestamp } from '../kernel/clock.ts';
import { validationError } from '../kernel/errors.ts';
import type { Predicate } from './predicate.ts';
import { allOf } from './predicate.ts';
import { FieldProblems, shown } from './problems.ts';

/** `from` is inclusive, `to` is exclusive. */
export type Window = { readonly from?: Micros; readonly to?: Micros };

/** @throws AppError validation_error for anything but an RFC 3339 date-time with a zone, of the years 1970 to 2199 */
export function parseTime(field: string, text: string): Micros {
  const micros = parseTimestamp(text);
  if (micros === undefined) throw validationError({ [field]: `${shown(text)} is not an RFC 3339 date-time such as 2026-11-20T10:00:00Z` });
  return micros;
}

/** @throws AppError validation_error naming `from`, `to` or both */
export function parseWindow(raw: { readonly from?: string | undefined; readonly to?: string | undefined }): Window {
  const problems = new FieldProblems();
  const from = raw.from === undefined ? undefined : problems.take(() => parseTime('from', raw.from as string));
  const to = raw.to === undefined ? undefined : problems.take(() => parseTime('to', raw.to as string));
  problems.throwIfAny();
  if (from !== undefined && to !== undefined && from > to) throw validationError({ to: 'lies before from' });
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

export function windowPredicate(window: Window): Predicate {
  return allOf([window.from === undefined ? true : { since: window.from }, window.to === undefined ? true : { until: window.to }]);
}
