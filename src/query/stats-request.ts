import { dimensionColumns } from '../events/columns.ts';
import { validationError } from '../kernel/errors.ts';
import type { BucketBy, TimeBucket } from './buckets.ts';
import { parseBucketBy, parseTimeBucket } from './buckets.ts';
import { filterPredicate, parseFilters } from './filter.ts';
import type { Metric } from './metric.ts';
import { parseMetric } from './metric.ts';
import type { Predicate } from './predicate.ts';
import { allOf } from './predicate.ts';
import { FieldProblems, shown } from './problems.ts';
import type { Visibility } from './visibility.ts';
import type { Window } from './window.ts';
import { parseWindow, windowPredicate } from './window.ts';

export type Top = { readonly count: number; readonly dimension: string };

/** Aggregation of the rows of `predicate` (contract 4.4). `window` is already part of `predicate`; it decides what `auto` means. */
export type StatsRequest = {
  readonly predicate: Predicate;
  readonly window: Window;
  readonly groupBy: readonly string[];
  readonly metric: Metric;
  readonly timeBucket?: TimeBucket;
  readonly bucketBy?: BucketBy;
  readonly top?: Top;
};

/** One row of the answer (contract 2.5). An absent column's dimension value is the empty string. */
export type StatsBucket = { group: Record<string, string>; bucket?: string; value: number };

export type RawStatsParams = {
  readonly group_by?: string | undefined;
  readonly time_bucket?: string | undefined;
  readonly bucket_by?: string | undefined;
  readonly metric?: string | undefined;
  readonly top?: string | undefined;
  readonly filter?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

export const topMax = 10_000;

function parseGroupBy(text: string): string[] {
  const dimensions = text.split(',');
  const unknown = dimensions.find((dimension) => !dimensionColumns.includes(dimension));
  if (unknown !== undefined) throw validationError({ group_by: `unknown dimension ${shown(unknown)}; known are ${dimensionColumns.join(', ')}` });
  if (new Set(dimensions).size < dimensions.length) throw validationError({ group_by: 'names a dimension twice' });
  return dimensions;
}

function parseTop(text: string, groupBy: readonly string[]): Top {
  const match = /^(\d{1,5}):(.+)$/s.exec(text);
  const count = Number(match?.[1] ?? 0);
  const dimension = match?.[2] ?? '';
  if (match === null || count < 1 || count > topMax) throw validationError({ top: `${shown(text)} is not of the form N:dimension with N from 1 to ${topMax}` });
  if (!dimensionColumns.includes(dimension)) throw validationError({ top: `unknown dimension ${shown(dimension)}` });
  if (!groupBy.includes(dimension)) throw validationError({ top: `${dimension} must also be in group_by` });
  return { count, dimension };
}

/**
 * Parses the aggregation parameters (contract 4.4, design 7).
 * @throws AppError validation_error with every bad parameter in `details.fields`
 */
export function parseStatsRequest(visibility: Visibility, raw: RawStatsParams): StatsRequest {
  const problems = new FieldProblems();
  const given = <T>(text: string | undefined, parse: (text: string) => T): T | undefined => (text === undefined ? undefined : problems.take(() => parse(text)));
  const groupBy = given(raw.group_by, parseGroupBy);
  const timeBucket = given(raw.time_bucket, parseTimeBucket);
  const bucketBy = given(raw.bucket_by, parseBucketBy);
  const metric = given(raw.metric, parseMetric) ?? { kind: 'count' };
  // With a bad group_by, what `top` may name is unknown: one problem is not reported as two.
  const top = raw.group_by !== undefined && groupBy === undefined ? undefined : given(raw.top, (text) => parseTop(text, groupBy ?? []));
  const filters = problems.take(() => parseFilters(raw.filter ?? [])) ?? [];
  const window = problems.take(() => parseWindow(raw)) ?? {};
  if (raw.time_bucket !== undefined && raw.bucket_by !== undefined) problems.add('bucket_by', 'cannot be given together with time_bucket');
  problems.throwIfAny();
  return {
    predicate: allOf([windowPredicate(window), visibility.predicate, filterPredicate(filters)]),
    window,
    groupBy: groupBy ?? [],
    metric,
    ...(timeBucket === undefined ? {} : { timeBucket }),
    ...(bucketBy === undefined ? {} : { bucketBy }),
    ...(top === undefined ? {} : { top }),
  };
}
