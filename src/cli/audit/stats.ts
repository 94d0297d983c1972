import type { Command } from 'commander';
import type { TargetOptions } from '../target.ts';
import { addTargetOptions, resolveTarget } from '../target.ts';
import { getJson } from './api-call.ts';
import { settle } from './failure.ts';
import type { Column, Screen } from './table.ts';
import { renderTable, tint } from './table.ts';
import { collect, timeOption } from './time.ts';

export type StatsOptions = TargetOptions & { groupBy?: string; timeBucket?: string; bucketBy?: string; metric?: string; top?: string; filter?: string[]; from?: string; to?: string; workspace?: string; json?: boolean };

/** Contract 2.5. */
type Bucket = { group: Record<string, string>; bucket?: string; value: number };

function number(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en-US') : value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

function statsTable(screen: Screen, buckets: readonly Bucket[], options: StatsOptions): string {
  const dimensions = options.groupBy?.split(',').map((name) => name.trim()) ?? [];
  const bucketed = buckets.some((bucket) => bucket.bucket !== undefined);
  const columns: Column[] = [
    ...(bucketed ? [{ title: options.timeBucket === undefined ? options.bucketBy?.split(':')[0] ?? 'range' : 'time', widthMin: 8, widthMax: 32 }] : []),
    ...dimensions.map((title) => ({ title, widthMin: 8, widthMax: 60, ...(title === 'decision' ? { tint: (cell: string) => (cell === 'deny' ? 'red' as const : 'green' as const) } : {}) })),
    { title: options.metric ?? 'count', right: true, widthMin: 8, widthMax: 24 },
  ];
  return renderTable(screen, columns, buckets.map(({ group, bucket, value }) => [...(bucketed ? [bucket ?? ''] : []), ...dimensions.map((name) => group[name] ?? ''), number(value)]));
}

export async function runStats(options: StatsOptions, screen: Screen): Promise<void> {
  const { groupBy, timeBucket, bucketBy, metric, top, filter, from, to, workspace } = options;
  const path = workspace === undefined ? '/audit/stats' : `/workspaces/${encodeURIComponent(workspace)}/audit/stats`;
  const { buckets } = await getJson<{ buckets: Bucket[] }>(resolveTarget(options), path, { group_by: groupBy, time_bucket: timeBucket, bucket_by: bucketBy, metric, top, filter, from, to });
  if (screen.isTTY !== true || options.json === true) screen.write(buckets.map((bucket) => `${JSON.stringify(bucket)}\n`).join(''));
  else screen.write(buckets.length === 0 ? tint(screen, 'dim', 'no rows\n') : statsTable(screen, buckets, options));
}

export function registerStats(audit: Command): void {
  addTargetOptions(audit.command('stats').description('counts, sums and percentiles over the audit log'))
    .option('--group-by <dimensions>', 'such as destination,decision')
    .option('--time-bucket <size>', 'auto, 5m, 15m, 1h, 6h or 1d')
    .option('--bucket-by <ranges>', 'column:b1,b2,… such as latency_ms:10,100,1000')
    .option('--metric <metric>', 'count, sum:<debits key>, or avg, min, max, p50, p90, p95, p99 :latency_ms')
    .option('--top <n:dimension>', 'the largest values of one dimension only')
    .option('--filter <filter>', 'as for query (repeatable)', collect)
    .option('--from <time>', 'rows at or after this time, or this long ago (2h, 7d)', timeOption('--from'))
    .option('--to <time>', 'rows before this time', timeOption('--to'))
    .option('--workspace <id>', 'rows of one workspace')
    .option('--json', 'NDJSON also on a terminal')
    .action((options: StatsOptions) => settle(() => runStats(options, process.stdout)));
}
