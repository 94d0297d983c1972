import type { AuditEvent } from '../events/event.ts';
import { parseTimestamp } from '../kernel/clock.ts';
import { validationError } from '../kernel/errors.ts';
import type { CursorBinding, Order, RowKey } from './cursor.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { Filter } from './filter.ts';
import { filterKey, filterPredicate, parseFilters } from './filter.ts';
import type { Predicate } from './predicate.ts';
import { allOf } from './predicate.ts';
import { FieldProblems, shown } from './problems.ts';
import type { Visibility } from './visibility.ts';
import type { Window } from './window.ts';
import { parseTime, parseWindow, windowPredicate } from './window.ts';

/** One page: rows of `predicate` behind `after` in `order`, at most `limit`. `cursorFor` gives the cursor that stands behind a row. */
export type PageRequest = {
  readonly predicate: Predicate;
  readonly order: Order;
  readonly limit: number;
  readonly after: RowKey | undefined;
  readonly cursorFor: (event: AuditEvent) => string;
};

/** Query parameters as they came; the route has already refused unknown ones and repeated ones (except `filter`). */
export type RawPageParams = {
  readonly filter?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly order?: string | undefined;
  readonly limit?: string | number | undefined;
  readonly cursor?: string | undefined;
};

export type RawActivityParams = {
  readonly task_id?: string | undefined;
  readonly event_type?: string | undefined;
  readonly after?: string | undefined;
  readonly order?: string | undefined;
  readonly limit?: string | number | undefined;
  readonly cursor?: string | undefined;
};

export const limitDefault = 100;
export const limitMax = 10_000;

function parseLimit(raw: string | number | undefined): number {
  const text = String(raw ?? limitDefault);
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > limitMax) throw validationError({ limit: `${shown(text)} is not an integer from 1 to ${limitMax}` });
  return limit;
}

function parseOrder(raw: string | undefined, fallback: Order): Order {
  if (raw === undefined) return fallback;
  if (raw !== 'asc' && raw !== 'desc') throw validationError({ order: `${shown(raw)} is neither asc nor desc` });
  return raw;
}

/** The key of an answered row. */
export function rowKey(event: AuditEvent): RowKey {
  const timestamp = parseTimestamp(event.timestamp);
  if (timestamp === undefined) throw new RangeError('an answered row has no valid timestamp');
  return { timestamp, sourceSeq: event.source_seq, id: event.id };
}

type Parsed = { orgId: string; visibility: Visibility; filters: readonly Filter[]; window: Window; order: Order; limit: number; cursor: string | undefined };

function pageRequest(parsed: Parsed): PageRequest {
  const { orgId, visibility, filters, window, order, limit, cursor } = parsed;
  const binding: CursorBinding = { orgId, visibility: visibility.key, filters: filterKey(filters), from: window.from, to: window.to };
  return {
    predicate: allOf([windowPredicate(window), visibility.predicate, filterPredicate(filters)]),
    order,
    limit,
    after: cursor === undefined ? undefined : decodeCursor(binding, order, cursor),
    cursorFor: (event) => encodeCursor(binding, order, rowKey(event)),
  };
}

/**
 * `GET /audit`, `/workspaces/{id}/audit` and exports (contract 4.1, 4.2).
 * @throws AppError validation_error with every bad parameter in `details.fields`; invalid_cursor
 */
export function parsePageRequest(orgId: string, visibility: Visibility, raw: RawPageParams): PageRequest {
  const problems = new FieldProblems();
  const filters = problems.take(() => parseFilters(raw.filter ?? [])) ?? [];
  const window = problems.take(() => parseWindow(raw)) ?? {};
  const order = problems.take(() => parseOrder(raw.order, 'desc')) ?? 'desc';
  const limit = problems.take(() => parseLimit(raw.limit)) ?? limitDefault;
  problems.throwIfAny();
  return pageRequest({ orgId, visibility, filters, window, order, limit, cursor: raw.cursor });
}

/** The `task_id` and `event_type` parameters of the activity routes as filters (contract 4.3, 4.5). */
export function activityFilters(raw: { readonly task_id?: string | undefined; readonly event_type?: string | undefined }): Filter[] {
  const problems = new FieldProblems();
  const filters: Filter[] = [];
  for (const column of ['task_id', 'event_type'] as const) {
    const value = raw[column];
    if (value === undefined) continue;
    if (value === '' || value.length > 512 || value.includes('\0') || !value.isWellFormed()) problems.add(column, 'must have 1 to 512 characters');
    else filters.push({ column, negated: false, values: [value] });
  }
  problems.throwIfAny();
  return filters;
}

/**
 * `GET /workspaces/{id}/activity` (contract 4.3): `after` is exclusive, and excludes `cursor`.
 * @throws AppError validation_error, invalid_cursor
 */
export function parseActivityRequest(orgId: string, visibility: Visibility, raw: RawActivityParams): PageRequest {
  const problems = new FieldProblems();
  const filters = problems.take(() => activityFilters(raw)) ?? [];
  const after = raw.after === undefined ? undefined : problems.take(() => parseTime('after', raw.after as string));
  const order = problems.take(() => parseOrder(raw.order, 'asc')) ?? 'asc';
  const limit = problems.take(() => parseLimit(raw.limit)) ?? limitDefault;
  if (raw.after !== undefined && raw.cursor !== undefined) problems.add('after', 'cannot be given together with cursor');
  problems.throwIfAny();
  const window = after === undefined ? {} : { from: after + 1 };
  return pageRequest({ orgId, visibility, filters, window, order, limit, cursor: raw.cursor });
}
