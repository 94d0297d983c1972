import fc from 'fast-check';
import t from 'tap';
import { counterColumn, dimensionColumns, filterableColumns } from '../../src/events/columns.ts';
import type { ApiDeps } from '../../src/api/deps.ts';
import { startLiveApi } from './live-api.ts';
import { tenantRows } from './rows.ts';

let reads = 0;

/** Counts what reaches the audit store. */
function counting(deps: ApiDeps): ApiDeps {
  const { reader } = deps;
  return {
    ...deps,
    reader: {
      ...reader,
      page: (...asked) => {
        reads += 1;
        return reader.page(...asked);
      },
      stats: (...asked) => {
        reads += 1;
        return reader.stats(...asked);
      },
      exportStream: (...asked) => {
        reads += 1;
        return reader.exportStream(...asked);
      },
    },
  };
}

const live = await startLiveApi(t, { LOG_LEVEL: 'error' }, counting);
const { app, a } = live;
await live.commitRows(tenantRows(a, 200));
const headers = { authorization: `Bearer ${a.keys.full}` };
const cursor = (await app.inject({ url: '/v1/audit?limit=5', headers })).json<{ cursor: string }>().cursor;

const injections = fc.constantFrom(
  "' OR 1=1 --", "'; DROP TABLE audit_events; --", "') UNION ALL SELECT * FROM system.users --", '{x:String}', '{p0:String}', '\\', "\\'", '"', '`', '%', '%s', '${7*7}', '{{7*7}}',
  '../../etc/passwd', '\r\nx-injected: 1', '\u0000', '\ud800', '\ufeff', '﷽', '𝒳', 'null', 'undefined', 'NaN', '__proto__', 'constructor', 'toString', '[]', '{}', '-1', '1e309', '0x1', '9'.repeat(30), 'a'.repeat(5000),
);
const text = fc.oneof(injections, fc.string({ maxLength: 20 }), fc.string({ unit: 'binary', maxLength: 10 }));
const column = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...filterableColumns) }, { weight: 1, arbitrary: text });
const values = fc.array(fc.oneof(text, fc.constantFrom('deny', 'allow', 'tokens', a.aliceWorkspace)), { minLength: 0, maxLength: 4 }).map((list) => list.join(','));
const filter = fc.oneof({ weight: 5, arbitrary: fc.tuple(column, fc.constantFrom('=', '!=', '==', '>', ''), values).map((parts) => parts.join('')) }, { weight: 1, arbitrary: text });
const date = fc.oneof(
  fc.date({ min: new Date('2026-11-20T09:00:00Z'), max: new Date('2026-11-20T12:00:00Z'), noInvalidDate: true }).map((value) => value.toISOString()),
  fc.tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 99 }), fc.integer({ min: 0, max: 99 }), fc.constantFrom('Z', '+99:99', '-12:00', '', 'z')).map(([year, month, day, zone]) => `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}T00:00:00${zone}`),
  text,
);
const limit = fc.oneof(fc.integer({ min: -5, max: 10_050 }).map(String), text);
const cursors = fc.oneof(
  text,
  fc.tuple(fc.nat(cursor.length - 1), fc.constantFrom('A', '_', '=', ' ', '')).map(([at, letter]) => cursor.slice(0, at) + letter + cursor.slice(at + 1)),
  fc.uint8Array({ minLength: 40, maxLength: 50 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
);
const dimension = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...dimensionColumns, counterColumn) }, { weight: 1, arbitrary: text });
const groupBy = fc.array(dimension, { maxLength: 4 }).map((list) => list.join(','));
const metric = fc.oneof(fc.constantFrom('count', 'avg:latency_ms', 'sum:tokens', 'p95:latency_ms', 'max:latency_ms'), fc.tuple(fc.constantFrom('sum', 'avg', 'min', 'p50', 'count', ''), text).map((parts) => parts.join(':')), text);
const top = fc.oneof(fc.tuple(fc.oneof(fc.integer({ min: -1, max: 20 }).map(String), text), dimension).map((parts) => parts.join(':')), text);
const timeBucket = fc.oneof(fc.constantFrom('auto', '5m', '15m', '1h', '6h', '1d'), text);
const bounds = fc.array(fc.oneof(fc.integer({ min: -10, max: 600 }).map(String), text), { maxLength: 5 }).map((list) => list.join(','));
const bucketBy = fc.oneof(fc.tuple(fc.oneof(fc.constantFrom('latency_ms', 'transforms_applied', 'debits.tokens', 'debits.'), text), bounds).map((parts) => parts.join(':')), text);
const order = fc.oneof(fc.constantFrom('asc', 'desc'), text);

type Parameters = Record<string, fc.Arbitrary<string>>;
const pageParameters: Parameters = { filter, from: date, to: date, order, limit, cursor: cursors };
const statsParameters: Parameters = { filter, from: date, to: date, group_by: groupBy, metric, top, time_bucket: timeBucket, bucket_by: bucketBy };
const routes: [string, Parameters][] = [
  ['/v1/audit', pageParameters],
  [`/v1/workspaces/${a.aliceWorkspace}/audit`, pageParameters],
  [`/v1/workspaces/${a.aliceWorkspace}/activity`, { task_id: text, event_type: text, after: date, order, limit, cursor: cursors }],
  ['/v1/audit/stats', statsParameters],
  [`/v1/workspaces/${a.aliceWorkspace}/audit/stats`, statsParameters],
  ['/v1/audit/export', { format: fc.oneof(fc.constantFrom('ndjson', 'csv', 'parquet'), text), filter, from: date, to: date, order }],
];

/** UTF-8, and for lone surrogates the bytes that a broken client would send. */
function encoded(value: string): string {
  return value.isWellFormed() ? encodeURIComponent(value) : '%ed%a0%80%ff';
}

/** Some of the parameters, in any order, sometimes one of them twice or an unknown one beside them. */
function queries(parameters: Parameters): fc.Arbitrary<string> {
  const pair = fc.constantFrom(...Object.keys(parameters)).chain((name) => (parameters[name] as fc.Arbitrary<string>).map((value) => `${name}=${encoded(value)}`));
  const stray = fc.tuple(text, text).map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  return fc.array(fc.oneof({ weight: 12, arbitrary: pair }, { weight: 1, arbitrary: stray }), { maxLength: 4 }).map((pairs) => pairs.join('&'));
}

type Body = { error?: { code: string; request_id: string; details?: { fields?: Record<string, string> } } };

/** Undefined when the answer is as it must be, else what is wrong. */
async function wrongAnswer(url: string): Promise<string | undefined> {
  const before = reads;
  const answer = await app.inject({ url, headers });
  if (answer.statusCode === 200) return reads === before + 1 ? undefined : `${reads - before} reads`;
  const { error } = answer.json<Body>();
  if (answer.statusCode >= 500 || error === undefined) return `status ${answer.statusCode} ${answer.body}`;
  if (answer.headers['x-request-id'] !== error.request_id) return 'request id';
  // Found only by counting them.
  if (error.code === 'too_many_buckets') return undefined;
  if (reads !== before) return `refused with ${error.code}, and yet the store was asked`;
  if (error.code === 'validation_error' && Object.keys(error.details?.fields ?? {}).length === 0) return 'names no field';
  return undefined;
}

for (const [path, parameters] of routes) {
  t.test(`${path.replace(a.aliceWorkspace, '{id}')}: never a 500, and wrong input never reaches the store`, async (t) => {
    let accepted = 0;
    let refused = 0;
    await fc.assert(fc.asyncProperty(queries(parameters), async (query) => {
      const before = reads;
      const problem = await wrongAnswer(`${path}?${query}`);
      if (reads === before) refused += 1;
      else accepted += 1;
      if (problem !== undefined) throw new Error(`${query}: ${problem}`);
    }), { numRuns: 120 });
    t.ok(accepted > 5 && refused > 5, `${accepted} accepted, ${refused} refused: both were tried`);
  });
}

t.test('raw query strings, paths and headers', async (t) => {
  const raw = fc.string({ unit: fc.constantFrom(...'abfilterom=&%?#[]{}\\|^`"\'<>+;:,./0123456789é\t'.split('')), maxLength: 60 });
  await fc.assert(fc.asyncProperty(raw, fc.constantFrom(...routes.map(([path]) => path)), async (query, path) => {
    const answer = await app.inject({ url: `${path}?${query.replaceAll('#', '')}`, headers });
    return answer.statusCode < 500;
  }), { numRuns: 100 });
  await fc.assert(fc.asyncProperty(text, fc.constantFrom('audit', 'activity', 'audit/stats', 'activity/stream'), async (id, rest) => {
    const answer = await app.inject({ url: `/v1/workspaces/${encoded(id)}/${rest}`, headers });
    return [400, 404].includes(answer.statusCode);
  }), { numRuns: 100 });
  await fc.assert(fc.asyncProperty(fc.string({ maxLength: 80 }), fc.string({ maxLength: 40 }), async (authorization, orgId) => {
    const answer = await app.inject({ url: '/v1/audit', headers: { authorization, 'x-org-id': orgId } });
    return [401, 429].includes(answer.statusCode);
  }), { numRuns: 100 });
  await fc.assert(fc.asyncProperty(fc.string({ maxLength: 60 }), async (orgId) => {
    const answer = await app.inject({ url: '/v1/session', headers: { ...headers, 'x-org-id': orgId } });
    return answer.statusCode === 403;
  }), { numRuns: 50 });
  t.notMatch(live.log(), /"level":(50|60)/, 'nothing was logged as an error of ours');
});
