import t from 'tap';
import fc from 'fast-check';
import { dimensionColumns } from '../../../src/events/columns.ts';
import type { AuditEvent } from '../../../src/events/event.ts';
import { formatTimestamp, parseTimestamp } from '../../../src/kernel/clock.ts';
import { autoTimeBucket, rangeLabel } from '../../../src/query/buckets.ts';
import { compileMatcher } from '../../../src/query/match.ts';
import type { Metric } from '../../../src/query/metric.ts';
import type { RawStatsParams, StatsBucket, StatsRequest } from '../../../src/query/stats-request.ts';
import { parseStatsRequest } from '../../../src/query/stats-request.ts';
import { openAuditTable } from './audit-table.ts';
import { byTriple, counters, orgA, orgB, randomEvents, startMicros, stored } from './random-events.ts';

type Item = { event: AuditEvent; counter: string };

const bytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The value of a group by the words of the design; undefined when the group has none. */
function valueOf(metric: Metric, items: readonly Item[]): number | undefined {
  if (metric.kind === 'count') return items.length;
  if (metric.kind === 'sum') return items.reduce((sum, { event }) => sum + (event.debits?.[metric.counter] ?? 0), 0);
  const latencies = items.flatMap(({ event }) => event.latency_ms ?? []).toSorted((a, b) => a - b);
  if (latencies.length === 0) return undefined;
  if (metric.kind === 'quantile') return latencies[Math.max(0, Math.ceil(metric.level * latencies.length) - 1)];
  if (metric.kind === 'avg') return latencies.reduce((sum, latency) => sum + latency, 0) / latencies.length;
  if (metric.kind === 'min') return latencies[0];
  return latencies.at(-1);
}

function dimension({ event, counter }: Item, name: string): string {
  return name === 'counter' ? counter : (event as unknown as Record<string, string | undefined>)[name] ?? '';
}

function groupsOf<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...groups.get(key(item)) ?? [], item]);
  return groups;
}

/** Plain computation over rows in memory, written from the contract and the design without looking at the SQL. */
function plainStats(events: readonly AuditEvent[], request: StatsRequest): StatsBucket[] {
  const { groupBy, metric, timeBucket, bucketBy, top } = request;
  const times = events.map((event) => parseTimestamp(event.timestamp) ?? 0);
  const width = timeBucket === 'auto' ? autoTimeBucket(request.window.from ?? Math.min(...times), request.window.to ?? Math.max(...times) + 1) : timeBucket;
  let items: Item[] = events.filter(compileMatcher(request.predicate)).flatMap((event) => (groupBy.includes('counter') ? Object.keys(event.debits ?? {}) : ['']).map((counter) => ({ event, counter })));
  const measured = ({ event }: Item): number | undefined => bucketBy === undefined ? 0 : 'counter' in bucketBy.value ? event.debits?.[bucketBy.value.counter] : (event as unknown as Record<string, number | undefined>)[bucketBy.value.column];
  items = items.filter((item) => measured(item) !== undefined && (!('column' in metric) || item.event.latency_ms !== undefined));
  if (top !== undefined) {
    const ranked = [...groupsOf(items, (item) => dimension(item, top.dimension))].map(([value, members]) => ({ value, rank: valueOf(metric, members) ?? 0 }));
    const kept = ranked.toSorted((a, b) => b.rank - a.rank || bytes(a.value, b.value)).slice(0, top.count).map(({ value }) => value);
    items = items.filter((item) => kept.includes(dimension(item, top.dimension)));
  }
  const bucketOf = (item: Item): number => {
    if (bucketBy !== undefined) return bucketBy.bounds.filter((bound) => (measured(item) ?? 0) >= bound).length;
    return width === undefined ? 0 : Math.floor((parseTimestamp(item.event.timestamp) ?? 0) / width);
  };
  const groups = groupsOf(items, (item) => JSON.stringify([bucketOf(item), ...groupBy.map((name) => dimension(item, name))]));
  if (groups.size === 0 && groupBy.length === 0 && width === undefined && bucketBy === undefined && (metric.kind === 'count' || metric.kind === 'sum')) groups.set('[0]', []);
  const rows = [...groups].map(([key, members]) => ({ key: JSON.parse(key) as [number, ...string[]], value: valueOf(metric, members) }));
  rows.sort((a, b) => a.key[0] - b.key[0] || groupBy.reduce((order, _, index) => order || bytes(a.key[index + 1] as string, b.key[index + 1] as string), 0));
  return rows.flatMap(({ key: [bucket, ...values], value }) => value === undefined ? [] : [{
    group: Object.fromEntries(groupBy.map((name, index) => [name, String(values[index])])),
    ...(bucketBy !== undefined ? { bucket: rangeLabel(bucketBy.bounds, bucket) } : width === undefined ? {} : { bucket: formatTimestamp(bucket * width) }),
    value,
  }]);
}

const parse = (raw: RawStatsParams): StatsRequest => parseStatsRequest({ predicate: true, key: 'all' }, raw);
const metrics = ['count', ...counters.map((counter) => `sum:${counter}`), 'sum:absent', ...['avg', 'min', 'max', 'p50', 'p90', 'p95', 'p99'].map((name) => `${name}:latency_ms`)];
const ranges = ['latency_ms:0,1,10,100,1000', 'transforms_applied:1,2', 'validations_applied:1', 'debits.tokens:-50,0,500', "debits.odd'key:0", 'debits.absent:1'];

t.test('stats are what a plain computation over the same rows gives', async (t) => {
  const table = await openAuditTable(t);
  const events = [...randomEvents(500, { seed: 11, orgId: orgA, spanMicros: 3 * 86_400_000_000 }), ...randomEvents(20, { seed: 12, orgId: orgA, spanMicros: 200 * 86_400_000_000 })].toSorted(byTriple);
  for (let part = 0; part < 3; part += 1) await table.insert(events.filter((_, index) => index % 3 === part), { batchNo: part + 1 });
  await table.insert(randomEvents(100, { seed: 13, orgId: orgB }), { batchNo: 4 });
  const stats = (raw: RawStatsParams) => table.reader.stats(orgA, parse(raw));
  const check = async (raw: RawStatsParams): Promise<void> => {
    const expected = plainStats(events, parse(raw));
    t.same(await stats(raw), expected, JSON.stringify(raw));
  };

  for (const metric of metrics) {
    await check({ metric });
    await check({ metric, group_by: 'decision' });
    await check({ metric, group_by: 'counter', filter: ['decision=allow'] });
    await check({ metric, filter: ['decision=nothing'] });
  }
  for (const name of dimensionColumns) await check({ group_by: name, metric: 'sum:tokens' });
  for (const time_bucket of ['auto', '1h', '6h', '1d']) await check({ time_bucket, group_by: 'event_type', to: formatTimestamp(startMicros + 5 * 86_400_000_000) });
  await check({ time_bucket: 'auto' });
  for (const bucket_by of ranges) await check({ bucket_by, group_by: 'decision' });
  for (const top of ['1:destination', '3:destination', '100:destination']) {
    for (const metric of ['count', 'avg:latency_ms', 'sum:requests']) {
      await check({ top, metric, group_by: 'destination' });
      await check({ top, metric, group_by: 'method,destination', time_bucket: '1d' });
      await check({ top, metric, group_by: 'destination', bucket_by: 'latency_ms:100' });
    }
  }
  await check({ top: '2:counter', group_by: 'agent_role,counter', metric: 'sum:tokens' });
  await check({ top: '2:counter', group_by: 'counter' });

  await fc.assert(fc.asyncProperty(fc.record({
    group_by: fc.option(fc.uniqueArray(fc.constantFrom(...dimensionColumns), { minLength: 1, maxLength: 3 }).map((names) => names.join(',')), { nil: undefined }),
    metric: fc.constantFrom(...metrics),
    buckets: fc.oneof(fc.constant({}), fc.record({ time_bucket: fc.constantFrom('auto', '5m', '15m', '1h', '6h', '1d') }), fc.record({ bucket_by: fc.constantFrom(...ranges) })),
    filter: fc.constantFrom<string[]>([], ['category=audit'], ['counter!=tokens'], ['destination!='], ['workspace_id=ws_1,ws_3']),
    from: fc.constantFrom(undefined, events[100]?.timestamp),
    to: fc.constantFrom(undefined, events[400]?.timestamp),
    count: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  }), async ({ group_by, metric, buckets, filter, from, to, count }) => {
    const names = group_by?.split(',') ?? [];
    const raw: RawStatsParams = { group_by, metric, ...buckets, filter, from, to, top: count === undefined || names[0] === undefined ? undefined : `${count}:${names.at(-1)}` };
    const expected = JSON.stringify(plainStats(events, parse(raw)));
    const got = JSON.stringify(await stats(raw));
    if (got !== expected) throw new Error(`${JSON.stringify(raw)}\n${got.slice(0, 1000)}\n${expected.slice(0, 1000)}`);
  }), { numRuns: 150 });
});

t.test('sums are exact where a number can be, and never wrap', async (t) => {
  const table = await openAuditTable(t);
  const base = randomEvents(3, { seed: 1, orgId: orgA });
  const amounts = [9_007_199_254_740_991, -9_007_199_254_740_990, 3];
  await table.insert(base.map((event, index) => stored({ ...event, debits: { big: amounts[index] ?? 0 } })));
  t.same(await table.reader.stats(orgA, parse({ metric: 'sum:big' })), [{ group: {}, value: 4 }]);
  const many = randomEvents(1100, { seed: 2, orgId: orgB }).map((event) => stored({ ...event, debits: { big: 9_007_199_254_740_991 } }));
  await table.insert(many);
  const [bucket] = await table.reader.stats(orgB, parse({ metric: 'sum:big' }));
  t.equal(bucket?.value, Number(9_007_199_254_740_991n * 1100n), 'beyond 2^63');
});

t.test('at most 10,000 buckets', async (t) => {
  const table = await openAuditTable(t);
  const base = randomEvents(1, { seed: 1, orgId: orgA })[0] as AuditEvent;
  const rows = (count: number, offset: number) => Array.from({ length: count }, (_, index) => ({ ...base, id: `01900000-0000-7000-8000-${String(offset + index).padStart(12, '0')}`, task_id: `task_${offset + index}` }));
  await table.insert(rows(10_000, 0));
  t.equal((await table.reader.stats(orgA, parse({ group_by: 'task_id' }))).length, 10_000);
  await table.insert(rows(1, 10_000), { batchNo: 2 });
  await t.rejects(table.reader.stats(orgA, parse({ group_by: 'task_id' })), { code: 'too_many_buckets', status: 400 });
  await t.rejects(table.reader.stats(orgA, parse({ group_by: 'task_id', time_bucket: '1h' })), { code: 'too_many_buckets' });
  t.equal((await table.reader.stats(orgA, parse({ group_by: 'task_id', top: '5:task_id' }))).length, 5, 'top looks at more');
  t.same(await table.reader.stats(orgA, parse({})), [{ group: {}, value: 10_001 }]);
});
