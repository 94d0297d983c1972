import { formatTimestamp } from '../src/kernel/clock.ts';
import { fillClickHouse, rowCount, sinceMs, untilMs } from './query-data.ts';
import { fillPostgres } from './query-postgres.ts';
import { pageCases, statsCases } from './query-cases.ts';
import type { QueryCase } from './query-cases.ts';
import type { BenchStack } from './stack.ts';
import { withStack } from './stack.ts';
import { interleaved, median, printTable, quantile } from './table.ts';

const rounds = 15;

async function ask(stack: BenchStack, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${stack.dev.base_url}${path}`, { headers: { authorization: `Bearer ${stack.org.api_key}` } });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

async function measure(stack: BenchStack, sql: Awaited<ReturnType<typeof fillPostgres>>, cases: readonly QueryCase[]): Promise<{ rows: string[][]; toPostgres: number[] }> {
  const rows: string[][] = [];
  const toPostgres: number[] = [];
  for (const query of cases) {
    const times = await interleaved(rounds, {
      service: () => ask(stack, query.path),
      bare: async () => (await stack.clickhouse.query({ query: query.clickhouse, format: 'JSONCompactEachRow' })).json(),
      postgres: () => sql.unsafe(query.postgres),
    });
    const [service, bare, postgres] = [median(times.service), median(times.bare), median(times.postgres)];
    toPostgres.push(postgres / service);
    rows.push([query.name, service.toFixed(1), quantile(times.service, 0.95).toFixed(1), bare.toFixed(1), (service - bare).toFixed(1), (service / bare).toFixed(2), postgres.toFixed(1), (postgres / service).toFixed(2)]);
  }
  return { rows, toPostgres };
}

const head = ['query', 'service p50', 'p95', 'bare SQL p50', 'over, ms', 'over, x', 'Postgres p50', 'Postgres / service'];

/** A cursor far into the org's rows, by walking there in the largest pages. */
async function cursorAtDepth(stack: BenchStack, depth: number): Promise<{ path: string; last: { timestamp: string; source_seq: number; id: string } }> {
  let cursor = '';
  let last: { timestamp: string; source_seq: number; id: string } | undefined;
  for (let at = 0; at < depth; at += 10_000) {
    const page = await ask(stack, `/v1/audit?limit=10000${cursor}`);
    last = (page['events'] as { timestamp: string; source_seq: number; id: string }[]).at(-1);
    cursor = `&cursor=${encodeURIComponent(String(page['cursor']))}`;
  }
  if (last === undefined) throw new Error('no rows');
  return { path: `/v1/audit?limit=100${cursor}`, last };
}

/** `npm run bench -- query`: pages and stats on 5 million rows; times in ms, medians of 15 rounds in turn. */
export async function run(): Promise<void> {
  await withStack(async (stack) => {
    console.log(`making ${rowCount} rows in ClickHouse …`);
    await fillClickHouse(stack);
    console.log('copying them into Postgres, with seven indexes …');
    const sql = await fillPostgres(stack);
    const window = { from: formatTimestamp(sinceMs * 1000), to: formatTimestamp(untilMs * 1000), weekFrom: formatTimestamp((untilMs - 7 * 86_400_000) * 1000) };
    const deep = await cursorAtDepth(stack, 100_000);
    const pages = await measure(stack, sql, pageCases(stack.org.org_id, deep));
    printTable(`Pages, ${rowCount} rows, ms`, head, pages.rows);
    const stats = await measure(stack, sql, statsCases(stack.org.org_id, window));
    printTable(`Stats, ${rowCount} rows, ms`, head, stats.rows);
    console.log(`\nmedian of Postgres / service over the eight stats queries: ${median(stats.toPostgres).toFixed(1)}`);
    const disk = await stack.clickhouse.query({ query: "SELECT sum(bytes_on_disk) / sum(rows) AS bytes FROM system.parts WHERE active AND table = 'audit_events'", format: 'JSONEachRow' });
    const [clickhouse] = await disk.json<{ bytes: number }>();
    const [postgres] = await sql<{ bytes: number }[]>`select pg_total_relation_size('bench_events')::float8 / ${rowCount} as bytes`;
    console.log(`bytes a row on disk: ClickHouse ${Math.round(clickhouse?.bytes ?? 0)}, Postgres ${Math.round(postgres?.bytes ?? 0)}`);
    await sql.end();
  });
}
