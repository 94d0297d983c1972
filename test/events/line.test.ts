import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { columns } from '../../src/events/columns.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { batchSuffix, decodeRow, encodeLine, lineOrg, stampLine, storedTimestamp } from '../../src/events/line.ts';
import { rowProblems } from '../../src/events/schema.ts';
import { formatTimestamp } from '../../src/kernel/clock.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { parseJson } from '../../src/kernel/json.ts';
import { sampleEvent } from '../support/sample-events.ts';

const stamp = { ingestedAtMs: 1_795_168_801_234, producer: 'proxy:"one"\n', batchId: '01900000-0000-7000-8000-00000000000a', batchNo: 12, batchRows: 345 };
const suffix = batchSuffix(stamp);

/** Any UTF-16, with what breaks codecs made likely. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\ud800', '\udfff', '\\', 'ud800', '\\ud800', '"', '\n', '\r', '\0', '\u2028', '\ufeff', '{', '}', '\ufffd', '😀', '\t', "'", ',') }),
  fc.constantFrom('__proto__', 'constructor', 'toString', '', 'null', '{"org_id":"'),
);
const key = text;
const filled = text.filter((value) => value !== '');
const safeInteger = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER));
/** Names of counters, credentials and transforms: what the schema lets into a map column. */
const name = text.filter((value) => !/[\u0000-\u001f"\\]/.test(value));
const columnOf = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 5 }).map((entries) => Object.fromEntries(entries) as Record<string, T>);
const mapOf = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 5 }).map((entries) => Object.fromEntries(entries) as Record<string, T>);
// fc.jsonValue covers doubles from -MAX to MAX; -0 is left out, as JSON writes it as 0.
const json = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }).map((value) => parseJson(JSON.stringify(value)));
const jsonWithText = fc.oneof(json, text, fc.constantFrom(1e308, 5e-324, 1e21, 2 ** 63, -(2 ** 53)));

const row: fc.Arbitrary<AuditEvent> = fc.record({
  workspace_id: filled, task_id: filled, destination: filled, method: filled, path: filled, capability_name: filled,
  decision: fc.constantFrom('allow' as const, 'deny' as const), reason: fc.constant('no_token' as const),
  latency_ms: fc.nat(4_294_967_295), transforms_applied: fc.nat(65_535), validations_applied: fc.nat(65_535),
  detail: mapOf(jsonWithText), debits: columnOf(safeInteger), budget_state: columnOf(jsonWithText),
  floored: columnOf(fc.constant('parse_failed' as const)), auth_used: fc.array(filled, { minLength: 1, maxLength: 4 }),
  timestamp: fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) * 1000 - 1 }).map(formatTimestamp),
  source_seq: fc.nat(Number.MAX_SAFE_INTEGER), user_id: filled,
}, { requiredKeys: ['timestamp', 'source_seq', 'user_id'] }).map((changes) => ({
  id: uuidv7(), org_id: '01900000-0000-7000-8000-000000000001', event_type: 'policy_decision', category: 'audit', actor: 'policy-engine', ...changes,
}));

/** What the codec promises for lone surrogates, said in another way: only inside the JSON text is nothing else changed. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWellFormed(inner));
}

/** Proxy rows always answer their three counts. */
const withCounts = (event: AuditEvent): AuditEvent => ({ latency_ms: 0, transforms_applied: 0, validations_applied: 0, ...event });

t.test('any sound row of well-formed text comes back as it was', async (t) => {
  fc.assert(fc.property(row.filter(isWellFormed), (event) => {
    const line = stampLine(encodeLine(event, 400), suffix);
    const decoded = decodeRow(JSON.parse(line) as Record<string, unknown>);
    if (!isDeepStrictEqual(sorted(decoded), sorted(withCounts(event)))) fail('differs');
  }), { numRuns: 1000 });
  t.pass('1,000 rows');
});

t.test('a line is one line of well-formed UTF-8 whatever is in the row, and nothing is dropped', async (t) => {
  fc.assert(fc.property(row, (event) => {
    const line = stampLine(encodeLine(event, 400), suffix);
    if (/[\n\r\0]/.test(line)) fail('a control character');
    if (!line.isWellFormed() || Buffer.from(line).toString() !== line) fail('not UTF-8');
    const stored = JSON.parse(line) as Record<string, unknown>;
    if (!isWellFormed(stored)) fail('a lone surrogate');
    const decoded = decodeRow(stored);
    if (!isWellFormed(decoded)) fail('a lone surrogate in JSON text');
    for (const [name, value] of Object.entries(event)) {
      const back = decoded[name as keyof AuditEvent];
      if (typeof value === 'object' && Object.keys(value).length !== Object.keys(back as object).length) fail(`${name} lost a key`);
      if (typeof value === 'string' && name !== 'timestamp' && back !== value.toWellFormed()) fail(`${name} differs`);
    }
    if (lineOrg(line) !== event.org_id) fail('org');
  }), { numRuns: 1000 });
  t.pass('1,000 rows of arbitrary UTF-16');
});

t.test('the org comes first, columns once, internal ones last', async (t) => {
  const event = sampleEvent('policy_decision');
  const line = stampLine(encodeLine(event, 90), suffix);
  t.ok(line.startsWith(`{"org_id":"${event.org_id}",`));
  const names = [...line.matchAll(/"([a-z_]+)":/g)].map((match) => match[1]);
  for (const { name } of columns.filter(({ name }) => Object.hasOwn(event, name))) t.equal(names.filter((found) => found === name).length, 1, `${name} once`);
  const stored = JSON.parse(line) as Record<string, unknown>;
  t.same(Object.keys(stored).slice(-6), ['retention_days', 'ingested_at', 'producer', 'batch_id', 'batch_no', 'batch_rows']);
  t.match(stored, { retention_days: 90, ingested_at: '2026-11-20 10:00:01.234', producer: stamp.producer, batch_id: stamp.batchId, batch_no: 12, batch_rows: 345 });
  t.equal(stored['timestamp'], '2026-11-20 10:00:00.123456');
  t.equal(stored['budget_state'] && (stored['budget_state'] as Record<string, unknown>)['tokens'], '{"used":5,"max":100}', 'JSON text of each value');
});

t.test('a lone surrogate becomes U+FFFD in text, key and detail; keys that collide are kept apart', async (t) => {
  const event = sampleEvent('policy_decision', {
    path: '/a\ud800b', method: '\udc00', auth_used: ['x\ud800'], debits: { 'k\ud800': 1, 'k\udfff': 2, 'k\ufffd': 3, 'k\ufffd2': 4 }, detail: { 'd\ud800': ['\udfff', { '\ud800': 1 }] }, budget_state: { b: '\ud800' },
  });
  const decoded = decodeRow(JSON.parse(encodeLine(event, 400)) as Record<string, unknown>);
  t.match(decoded, { path: '/a\ufffdb', method: '\ufffd', auth_used: ['x\ufffd'], detail: { 'd\ufffd': ['\ufffd', { '\ufffd': 1 }] }, budget_state: { b: '\ufffd' } });
  const { debits = {} } = decoded;
  t.same(Object.values(debits).sort(), [1, 2, 3, 4]);
  t.equal(debits['k\ufffd'], 3, 'a key that was well-formed keeps its name');
  t.equal(debits['k\ufffd2'], 4);
  t.same(rowProblems(decoded, { strict: false }), []);
});

t.test('text that only looks like a surrogate escape is not touched', async (t) => {
  const event = sampleEvent('policy_decision', { path: '/\\ud800', detail: { 'a\\ud800': '\\\\udc00' } });
  const decoded = decodeRow(JSON.parse(encodeLine(event, 400)) as Record<string, unknown>);
  t.equal(decoded.path, '/\\ud800');
  t.same(decoded.detail, { 'a\\ud800': '\\\\udc00' });
});

t.test('timestamps are stored in UTC with six digits, whatever their zone and fraction', async (t) => {
  t.equal(storedTimestamp('2026-11-20T12:00:00.1234567+02:00'), '2026-11-20 10:00:00.123456');
  t.equal(storedTimestamp('2026-11-20T10:00:00Z'), '2026-11-20 10:00:00.000000');
  t.throws(() => storedTimestamp('2026-02-30T00:00:00Z'), { message: 'timestamp: not an RFC 3339 date-time' });
  t.throws(() => encodeLine(sampleEvent('secret_created', { timestamp: 'now' }), 400), RangeError);
});

t.test('a stored row as ClickHouse answers it: empty columns are left out, counts stay on proxy rows', async (t) => {
  const empty = { workspace_id: '', task_id: '', path: '', detail: '', debits: {}, budget_state: {}, floored: {}, auth_used: [], latency_ms: 0, transforms_applied: 0, validations_applied: 0 };
  const base = { id: 'i', org_id: 'o', user_id: 'u', source_seq: '9007199254740991', category: 'audit', actor: 'policy-engine' };
  for (const timestamp of ['2026-11-20 10:00:00.123456', '2026-11-20T10:00:00.123456Z']) {
    const expected = { id: 'i', org_id: 'o', user_id: 'u', timestamp: '2026-11-20T10:00:00.123456Z', source_seq: 9_007_199_254_740_991, category: 'audit', actor: 'policy-engine' };
    t.strictSame(decodeRow({ ...base, ...empty, timestamp, event_type: 'secret_created' }), { ...expected, event_type: 'secret_created' });
    t.strictSame(decodeRow({ ...base, ...empty, timestamp, event_type: 'policy_decision' }), { ...expected, event_type: 'policy_decision', latency_ms: 0, transforms_applied: 0, validations_applied: 0 });
  }
  t.same(decodeRow({ ...base, timestamp: '2026-11-20 10:00:00.123456', event_type: 'x', debits: { a: '-9007199254740991' }, budget_state: { a: 'null' } }).debits, { a: -9_007_199_254_740_991 });
});

t.test('lineOrg answers only for lines of ours', async (t) => {
  const org = '01900000-0000-7000-8000-000000000001';
  t.equal(lineOrg(`{"org_id":"${org}","id":1}`), org);
  for (const line of ['', '{}', `{ "org_id":"${org}"}`, `{"id":"${org}"}`, '{"org_id":"short"}', `{"org_id":"${org}0"}`, `{"org_id":"${org}`]) t.equal(lineOrg(line), undefined, line);
});

function fail(reason: string): never {
  throw new Error(reason);
}

/** Key order is not part of a row. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([name, inner]): [string, unknown] => [name, sorted(inner)]).sort(([a], [b]) => (a < b ? -1 : 1)));
}
