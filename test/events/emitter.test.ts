import fc from 'fast-check';
import t from 'tap';
import { eventCatalog } from '../../src/events/catalog.ts';
import type { EmittedEvent, InvalidEventMode } from '../../src/events/emitter.ts';
import { InvalidEventError, createEmitter } from '../../src/events/emitter.ts';
import { columns } from '../../src/events/columns.ts';
import { decodeRow, encodeLine } from '../../src/events/line.ts';
import { jsonCharactersMax } from '../../src/events/json-bounds.ts';
import { rowProblems } from '../../src/events/schema.ts';
import { platformOrgId, uuidv7Millis } from '../../src/kernel/ids.ts';
import { sampleEvent, without } from '../support/sample-events.ts';

const org_id = '01900000-0000-7000-8000-000000000001';

function emitter(mode: InvalidEventMode): { build: (emitted: object) => ReturnType<ReturnType<typeof createEmitter>['build']>; invalid: InvalidEventError[] } {
  let seq = 100;
  const invalid: InvalidEventError[] = [];
  const { build } = createEmitter({ mode, nextSeq: () => (seq += 1), onInvalid: (error) => invalid.push(error) });
  return { build: (emitted) => build(emitted as EmittedEvent), invalid };
}

t.test('id, timestamp, source_seq, category and actor are filled in', async (t) => {
  const { build } = emitter('refuse');
  const emitted = { event_type: 'secret_created', org_id, user_id: 'user_1', detail: { resource_id: 's', name: 's' } };
  const [first, second] = [build(emitted), build(emitted)];
  t.match(first, { ...emitted, category: 'audit', actor: 'control-plane', source_seq: 101 });
  t.equal(second.source_seq, 102);
  t.ok(second.id > first.id && second.timestamp > first.timestamp, 'ascending');
  t.ok(Math.abs((uuidv7Millis(first.id) ?? 0) - Date.parse(first.timestamp)) < 60_000, 'id and timestamp tell the same time');
  t.same(rowProblems(first, { strict: true }), []);
  const given = sampleEvent('secret_created');
  t.same(build(given), given, 'what the source sets stays');
});

t.test('category and actor are the catalog\'s, whatever the source says', async (t) => {
  const { build } = emitter('refuse');
  t.match(build({ ...sampleEvent('policy_decision'), category: 'activity', actor: 'agent' }), { category: 'audit', actor: 'policy-engine' });
});

t.test('every event type passes unflagged in both modes', async (t) => {
  for (const mode of ['refuse', 'flag'] as const) {
    const { build, invalid } = emitter(mode);
    for (const type of eventCatalog.keys()) {
      const event = sampleEvent(type);
      t.same(build(event), event, `${mode}: ${type}`);
    }
    t.same(invalid, []);
  }
});

t.test('refuse: a row that breaks the catalog throws and names what is wrong', async (t) => {
  const { build, invalid } = emitter('refuse');
  t.throws(() => build({ event_type: 'secret_created', org_id, user_id: 'u', detail: { name: 's' } }), { name: 'InvalidEventError', message: 'secret_created breaks the event catalog: detail.resource_id: required' });
  t.throws(() => build({ event_type: 'policy_decision', org_id: 'acme', user_id: 'u' }), InvalidEventError);
  t.throws(() => build({ event_type: 'unheard_of', org_id, user_id: 'u' }), InvalidEventError);
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  t.throws(() => build(sampleEvent('tool_call', { detail: circular })), { message: 'tool_call breaks the event catalog: detail: nested deeper than 64 levels' });
  t.same(invalid, [], 'the callback is for flagged rows');
});

t.test('flag: the row is kept, says what was wrong, and is reported', async (t) => {
  const { build, invalid } = emitter('flag');
  const row = build({ event_type: 'secret_created', org_id, user_id: 'u', detail: { name: 's' }, method: 7, colour: 'red' });
  t.match(row, { event_type: 'secret_created', org_id, user_id: 'u', detail: { name: 's' } });
  t.same(row.detail?.['schema_problems'], invalid[0]?.problems);
  t.notOk('method' in row || 'colour' in row, 'what no column holds is gone');
  t.equal(invalid.length, 1);
  t.same([...(invalid[0]?.problems ?? [])].sort(), ['colour: not a known field', 'detail.resource_id: required', 'method: must be string']);
});

t.test('flag: columns every row needs are replaced', async (t) => {
  const { build } = emitter('flag');
  const row = build({ event_type: 'secret_created', org_id: 'acme', user_id: '', id: 'x', timestamp: 'now', source_seq: -1, detail: { resource_id: 's', name: 's' } });
  t.match(row, { org_id: platformOrgId, user_id: 'system', source_seq: 101, detail: { name: 's' } });
  t.same(rowProblems(row, { strict: false }), []);
});

t.test('flag: a detail that cannot be stored is replaced, its problems are kept', async (t) => {
  const { build } = emitter('flag');
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const cases: [string, unknown, object][] = [
    ['circular', circular, { truncated: true }], ['too large', { text: 'x'.repeat(jsonCharactersMax) }, { truncated: true }], ['a bigint', { n: 1n }, { truncated: true }],
    ['just large enough that the problems do not fit', { text: 'x'.repeat(jsonCharactersMax - 40), extra: 1 }, { truncated: true }],
    ['an array', [1, 2], {}], ['a date', new Date(0), {}], ['text', 'text', {}], ['null', null, {}],
  ];
  for (const [name, detail, kept] of cases) {
    const row = build({ ...sampleEvent('secret_created'), detail });
    const { schema_problems, ...rest } = row.detail ?? {};
    t.same(rest, kept, name);
    t.ok(Array.isArray(schema_problems) && schema_problems.length > 0, `${name}: problems`);
    t.same(rowProblems(row, { strict: false }), [], `${name}: can be stored`);
    t.doesNotThrow(() => encodeLine(row, 400), `${name}: can be encoded`);
  }
});

t.test('flag: whatever is wrong with a row of a known type, the result can be stored, encoded and read back', async (t) => {
  const odd = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withNullPrototype: true, withSparseArray: true, withTypedArray: true, withUnicodeString: true, maxDepth: 3 }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom(-1, 1.5, 2 ** 32, 2 ** 53, 2 ** 64, -(2 ** 64), 1e308, Number.NaN, Infinity, -0, 1n, Symbol('s'), () => 1, '\ud800', 'x'.repeat(70_000), undefined, null),
    fc.dictionary(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'a/b', 'a~b', 'a.b', 'a:b', '', 'schema_problems')), fc.oneof(fc.integer(), fc.constantFrom<unknown>(1.5, 'parse_failed', 1n, null, '\udc00'))),
  );
  const names = fc.oneof(fc.constantFrom(...columns.map((column) => column.name)), fc.constantFrom('a.b', 'a:b', 'a/b', '', '~1', '__proto__', 'constructor', 'detail.x', 'org_id:'), fc.string({ unit: 'binary' }));
  const changes = fc.array(fc.tuple(names.filter((name) => name !== 'event_type'), odd), { maxLength: 8 });
  const dropped = fc.subarray(columns.map((column) => column.name as string).filter((name) => name !== 'event_type'));
  const { build, invalid } = emitter('flag');
  fc.assert(fc.property(fc.constantFrom(...eventCatalog.keys()), changes, fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, dropped), (type, entries, absent) => {
    const emitted = Object.fromEntries([...Object.entries(without(sampleEvent(type), ...absent)), ...entries]);
    const before = invalid.length;
    const row = build(emitted);
    const problems = rowProblems(row, { strict: false });
    if (problems.length > 0) throw new Error(problems.join('; '));
    const flagged = Array.isArray(row.detail?.['schema_problems']) && invalid.length === before + 1;
    if (!flagged && rowProblems(row, { strict: true }).length > 0) throw new Error('breaks the catalog and is not flagged');
    const back = decodeRow(JSON.parse(encodeLine(row, 400)) as Record<string, unknown>);
    const lost = rowProblems(back, { strict: false });
    if (lost.length > 0) throw new Error(`after storing: ${lost.join('; ')}`);
    if (back.event_type !== type || back.id !== row.id) throw new Error('another row came back');
  }), { numRuns: 3000 });
  t.pass('3,000 broken rows');
});
