import t from 'tap';
import fc from 'fast-check';
import { dimensionColumns } from '../../src/events/columns.ts';
import { AppError } from '../../src/kernel/errors.ts';
import { autoPointsMax, autoTimeBucket, parseBucketBy, rangeLabel } from '../../src/query/buckets.ts';
import type { RawStatsParams } from '../../src/query/stats-request.ts';
import { parseStatsRequest } from '../../src/query/stats-request.ts';

const parse = (raw: RawStatsParams) => parseStatsRequest({ predicate: true, key: 'all' }, raw);

function fields(raw: RawStatsParams): string[] {
  try {
    parse(raw);
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error') return Object.keys(error.details?.fields ?? {}).sort();
    throw error;
  }
  return [];
}

t.test('nothing asked: one count', async (t) => {
  t.same(parse({}), { predicate: true, window: {}, groupBy: [], metric: { kind: 'count' } });
});

t.test('group_by takes the filterable columns, user_id, reason and counter', (t) => {
  t.same(parse({ group_by: dimensionColumns.join(',') }).groupBy, dimensionColumns);
  t.ok(['user_id', 'reason', 'counter', 'decision'].every((dimension) => dimensionColumns.includes(dimension)));
  for (const bad of ['', ',', 'decision,', 'decision, method', 'Decision', 'latency_ms', 'id', 'org_id', 'timestamp', 'detail', 'debits.tokens', 'decision,decision', 'decision;DROP TABLE x', '__proto__']) t.same(fields({ group_by: bad }), ['group_by'], bad);
  t.end();
});

t.test('metric', (t) => {
  t.same(parse({ metric: 'sum:tokens' }).metric, { kind: 'sum', counter: 'tokens' });
  t.same(parse({ metric: "sum:a:b' --" }).metric, { kind: 'sum', counter: "a:b' --" });
  t.same(parse({ metric: 'avg:latency_ms' }).metric, { kind: 'avg', column: 'latency_ms' });
  t.same(parse({ metric: 'min:latency_ms' }).metric, { kind: 'min', column: 'latency_ms' });
  t.same(parse({ metric: 'max:latency_ms' }).metric, { kind: 'max', column: 'latency_ms' });
  for (const percent of [50, 90, 95, 99]) t.same(parse({ metric: `p${percent}:latency_ms` }).metric, { kind: 'quantile', level: percent / 100, column: 'latency_ms' });
  for (const bad of ['', 'sum', 'sum:', 'avg', 'avg:', 'avg:tokens', 'avg:transforms_applied', 'count:decision', 'COUNT', 'p42:latency_ms', 'p100:latency_ms', 'median:latency_ms', ' count', 'sum:\0', `sum:${'x'.repeat(513)}`, 'constructor:latency_ms']) t.same(fields({ metric: bad }), ['metric'], bad);
  t.end();
});

t.test('time_bucket', (t) => {
  const minutes = { '5m': 5, '15m': 15, '1h': 60, '6h': 360, '1d': 1440 };
  for (const [text, width] of Object.entries(minutes)) t.equal(parse({ time_bucket: text }).timeBucket, width * 60_000_000);
  t.equal(parse({ time_bucket: 'auto' }).timeBucket, 'auto');
  for (const bad of ['', '1m', '2h', '5M', '1w', '300', 'AUTO', '__proto__']) t.same(fields({ time_bucket: bad }), ['time_bucket'], bad);
  t.end();
});

t.test('auto takes the finest width of at most 300 points', (t) => {
  const hour = 3_600_000_000;
  const day = 24 * hour;
  const start = 20_000 * day;
  const cases: [number, number][] = [[0, hour / 12], [hour, hour / 12], [25 * hour, hour / 12], [25 * hour + 1, hour / 4], [75 * hour, hour / 4], [300 * hour, hour], [300 * hour + 1, 6 * hour], [75 * day, 6 * hour], [75 * day + 1, day], [3000 * day, day]];
  for (const [length, width] of cases) t.equal(autoTimeBucket(start, start + length), width, `${length / hour} hours`);
  fc.assert(fc.property(fc.integer({ min: 0, max: 300 * 86_400 }), fc.integer({ min: 0, max: 1e9 }), (lengthSeconds, startSeconds) => {
    const from = startSeconds * 1_000_000;
    const to = from + lengthSeconds * 1_000_000;
    const width = autoTimeBucket(from, to);
    return width === day || Math.floor(Math.max(from, to - 1) / width) - Math.floor(from / width) + 1 <= autoPointsMax;
  }));
  t.end();
});

t.test('bucket_by', (t) => {
  t.same(parseBucketBy('latency_ms:10,100'), { value: { column: 'latency_ms' }, bounds: [10, 100] });
  t.same(parseBucketBy('debits.tokens:-5,0,7'), { value: { counter: 'tokens' }, bounds: [-5, 0, 7] });
  t.same(parseBucketBy('debits.a:b.c:1'), { value: { counter: 'a:b.c' }, bounds: [1] });
  t.same(['transforms_applied:1', 'validations_applied:1'].map((text) => parseBucketBy(text).bounds), [[1], [1]]);
  t.same([0, 1, 2].map((index) => rangeLabel([10, 100], index)), ['<10', '10-100', '>=100']);
  const bad = ['', 'latency_ms', 'latency_ms:', 'latency_ms:a', 'latency_ms:1,', 'latency_ms:1,1', 'latency_ms:2,1', 'latency_ms:1.5', 'latency_ms:1e3', 'latency_ms:99999999999999999', 'latency_ms: 1', 'source_seq:1', 'debits.:1', 'debits:1', 'decision:1', ':1', `latency_ms:${Array.from({ length: 101 }, (_, index) => index).join(',')}`];
  for (const text of bad) t.same(fields({ bucket_by: text }), ['bucket_by'], text);
  t.end();
});

t.test('top', (t) => {
  t.same(parse({ top: '3:decision', group_by: 'method,decision' }).top, { count: 3, dimension: 'decision' });
  t.same(fields({ top: '3:decision' }), ['top'], 'needs its dimension in group_by');
  t.same(fields({ top: '3:decision', group_by: 'method' }), ['top']);
  for (const bad of ['', '3', '3:', ':decision', '0:decision', '-1:decision', '1.5:decision', '10001:decision', 'x:decision', '3:nope', '3:latency_ms', ' 3:decision']) t.same(fields({ top: bad, group_by: 'decision' }), ['top'], bad);
  t.end();
});

t.test('what does not go together, and all problems at once', (t) => {
  t.same(fields({ time_bucket: '1h', bucket_by: 'latency_ms:1' }), ['bucket_by']);
  t.same(fields({ group_by: 'x', time_bucket: 'x', metric: 'x', filter: ['x'], from: 'x', to: 'x', top: '1:x' }), ['filter', 'from', 'group_by', 'metric', 'time_bucket', 'to']);
  t.end();
});

t.test('whatever comes in, the answer is a request or a 400', (t) => {
  const text = fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('decision', 'sum:x', '1:decision', 'latency_ms:1', 'auto')), { nil: undefined });
  fc.assert(fc.property(fc.record({ group_by: text, time_bucket: text, bucket_by: text, metric: text, top: text, filter: fc.array(fc.string({ unit: 'binary' })), from: text, to: text }), (raw) => {
    try {
      parse(raw);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
    }
  }), { numRuns: 1000 });
  t.end();
});
