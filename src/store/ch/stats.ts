import { formatTimestamp, parseTimestamp } from '../../kernel/clock.ts';
import type { Micros } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { autoTimeBucket, rangeLabel } from '../../query/buckets.ts';
import type { Order } from '../../query/cursor.ts';
import type { StatsBucket, StatsRequest } from '../../query/stats-request.ts';
import { clickHouseCode } from './errors.ts';
import { pageStatement } from './page.ts';
import type { QueryRunner } from './query-runner.ts';
import type { ResolvedStats } from './stats-sql.ts';
import { bucketsMax, statsStatement } from './stats-sql.ts';

type Row = Readonly<Record<string, string | number | null>>;

const tooManyRows = 158;

function tooManyBuckets(): AppError {
  return new AppError('too_many_buckets', `more than ${bucketsMax} buckets; use a wider time_bucket, fewer dimensions, a filter or top`, { max: bucketsMax });
}

/** Time of the org's first or last row; a look at one end of the primary key. */
async function edge(runner: QueryRunner, table: string, orgId: string, order: Order, signal: AbortSignal | undefined): Promise<Micros | undefined> {
  const statement = pageStatement(table, orgId, { predicate: true, order, after: undefined, limit: 1 }, ['timestamp']);
  const [row] = await runner.rows<{ timestamp: string }>(statement, signal);
  return row === undefined ? undefined : parseTimestamp(`${row.timestamp.replace(' ', 'T')}Z`);
}

/** `auto` over [from, to); a side that the caller left open is the org's first or last row. */
async function resolveAuto(runner: QueryRunner, table: string, orgId: string, request: StatsRequest, signal: AbortSignal | undefined): Promise<number> {
  const from = request.window.from ?? await edge(runner, table, orgId, 'asc', signal);
  const to = request.window.to ?? await edge(runner, table, orgId, 'desc', signal);
  return from === undefined || to === undefined || from > to ? autoTimeBucket(0, 0) : autoTimeBucket(from, to + (request.window.to === undefined ? 1 : 0));
}

function answered(request: ResolvedStats, row: Row): StatsBucket {
  const group = Object.fromEntries(request.groupBy.map((dimension, index) => [dimension, String(row[`g${index}`] ?? '')]));
  const bucket = row['b'];
  if (bucket === undefined || bucket === null) return { group, value: Number(row['v']) };
  const label = request.bucketBy === undefined ? formatTimestamp(Number(bucket)) : rangeLabel(request.bucketBy.bounds, Number(bucket));
  return { group, bucket: label, value: Number(row['v']) };
}

/**
 * Aggregation (contract 4.4). Ordered by bucket, then by dimension values as bytes; buckets without rows are left out.
 * @throws AppError too_many_buckets over 10,000
 */
export async function readStats(runner: QueryRunner, table: string, orgId: string, request: StatsRequest, signal: AbortSignal | undefined): Promise<StatsBucket[]> {
  const { timeBucket, ...rest } = request;
  const width = timeBucket === 'auto' ? await resolveAuto(runner, table, orgId, request, signal) : timeBucket;
  const resolved: ResolvedStats = width === undefined ? rest : { ...rest, timeBucket: width };
  let rows: Row[];
  try {
    rows = await runner.rows<Row>(statsStatement(table, orgId, resolved), signal);
  } catch (error) {
    if (error instanceof AppError && clickHouseCode(error.cause) === tooManyRows) throw tooManyBuckets();
    throw error;
  }
  if (rows.length > bucketsMax) throw tooManyBuckets();
  return rows.map((row) => answered(resolved, row));
}
