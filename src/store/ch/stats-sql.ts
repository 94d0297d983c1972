import type { ClickHouseSettings } from '@clickhouse/client';
import { counterColumn } from '../../events/columns.ts';
import type { BucketBy } from '../../query/buckets.ts';
import type { Metric } from '../../query/metric.ts';
import type { StatsRequest } from '../../query/stats-request.ts';
import { SqlParams, columnSql, compilePredicate } from '../../query/sql.ts';
import type { Statement } from './query-runner.ts';

/** A request whose `auto` has been worked out: width of the time bucket in microseconds. */
export type ResolvedStats = Omit<StatsRequest, 'timeBucket'> & { readonly timeBucket?: number };

export const bucketsMax = 10_000;

const countColumns = ['latency_ms', 'transforms_applied', 'validations_applied'];

function countColumn(name: string): string {
  if (!countColumns.includes(name)) throw new Error(`${name} is not a count column of the audit table`);
  return name;
}

/** Rows that have a count column: proxy rows always, others when it is not zero (as the API answers them, contract 2.1). */
export function hasCount(column: string): string {
  return `(event_type = 'policy_decision' OR ${countColumn(column)} != 0)`;
}

function metricSql(metric: Metric, params: SqlParams): string {
  switch (metric.kind) {
    case 'count':
      return 'count()';
    case 'sum':
      // Int64 would wrap around silently.
      return `sum(toInt128(debits[${params.add('String', metric.counter)}]))`;
    case 'quantile':
      // Nearest rank over a table of distinct values: exact, repeatable, and its memory does not grow with the rows.
      return `quantileExactWeighted(${metric.level})(${countColumn(metric.column)}, 1)`;
    case 'avg':
    case 'min':
    case 'max':
      return `${metric.kind}(${countColumn(metric.column)})`;
  }
}

function rangeSql(bucketBy: BucketBy, params: SqlParams): { index: string; present: string } {
  const { value, bounds } = bucketBy;
  const counter = 'counter' in value ? params.add('String', value.counter) : '';
  const subject = 'counter' in value ? `debits[${counter}]` : countColumn(value.column);
  const present = 'counter' in value ? `has(counters, ${counter}) AND mapContains(debits, ${counter})` : hasCount(value.column);
  const cases = bounds.map((bound, index) => `${subject} < ${params.add('Int64', String(bound))}, ${index}`);
  return { index: `multiIf(${cases.join(', ')}, ${bounds.length})`, present };
}

function dimensionSql(dimension: string): string {
  return dimension === counterColumn ? counterColumn : columnSql(dimension);
}

/** Columns of an answered row: `b` (bucket: microseconds or range index), `g0`… (dimensions), `v` (value). */
export function statsStatement(table: string, orgId: string, request: ResolvedStats): Statement {
  const params = new SqlParams();
  const { groupBy, metric, top, timeBucket, bucketBy } = request;
  const conditions = [`org_id = ${params.add('String', orgId)}`];
  if (request.predicate !== true) conditions.push(compilePredicate(request.predicate, params));
  if ('column' in metric) conditions.push(hasCount(metric.column));
  const range = bucketBy === undefined ? undefined : rangeSql(bucketBy, params);
  if (range !== undefined) conditions.push(range.present);
  const bucket = range?.index ?? (timeBucket === undefined ? undefined : `intDiv(toUnixTimestamp64Micro(timestamp), ${params.add('Int64', timeBucket)}) * ${params.add('Int64', timeBucket)}`);
  // `counter` as a dimension counts a row once for each of its debits.
  const source = groupBy.includes(counterColumn) ? `${table} ARRAY JOIN mapKeys(debits) AS ${counterColumn}` : table;
  const value = metricSql(metric, params);
  const groups = groupBy.map((dimension, index) => ({ name: `g${index}`, sql: dimensionSql(dimension) }));
  const keys = [...(bucket === undefined ? [] : [{ name: 'b', sql: bucket }]), ...groups];
  const selected = [...keys.map((key) => `${key.sql} AS ${key.name}`), `${value} AS v`].join(', ');
  const grouping = keys.length === 0 ? (metric.kind === 'count' || metric.kind === 'sum' ? '' : ' HAVING count() > 0') : ` GROUP BY ${keys.map((key) => key.name).join(', ')}`;
  const ordering = keys.length === 0 ? '' : ` ORDER BY ${keys.map((key) => key.name).join(', ')}`;
  const limit = `LIMIT ${bucketsMax + 1}`;
  const where = conditions.join(' AND ');
  if (top === undefined) {
    // More groups than can be answered are an error anyway: stop as soon as there are too many.
    const settings: ClickHouseSettings = { max_rows_to_group_by: String(bucketsMax), group_by_overflow_mode: 'throw' };
    return { sql: `SELECT ${selected} FROM ${source} WHERE ${where}${grouping}${ordering} ${limit}`, params, settings };
  }
  const dimension = dimensionSql(top.dimension);
  const count = params.add('UInt64', top.count);
  if (keys.length === 1) {
    return { sql: `SELECT g0, v FROM (SELECT ${selected} FROM ${source} WHERE ${where} GROUP BY g0 ORDER BY v DESC, g0 LIMIT ${count}) ORDER BY g0 ${limit}`, params };
  }
  const ranked = `SELECT ${dimension} FROM ${source} WHERE ${where} GROUP BY ${dimension} ORDER BY ${value} DESC, ${dimension} LIMIT ${count}`;
  return { sql: `SELECT ${selected} FROM ${source} WHERE ${where} AND ${dimension} GLOBAL IN (${ranked})${grouping}${ordering} ${limit}`, params };
}
