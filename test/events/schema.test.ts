import t from 'tap';
import { eventCatalog } from '../../src/events/catalog.ts';
import { columns } from '../../src/events/columns.ts';
import { denyReasons } from '../../src/events/enumerations.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { jsonCharactersMax, jsonDepthMax } from '../../src/events/json-bounds.ts';
import { rowProblems, unstorableColumns } from '../../src/events/schema.ts';
import { platformOrgId } from '../../src/kernel/ids.ts';
import { sampleEvent, without } from '../support/sample-events.ts';

const strict = (row: unknown): string[] => rowProblems(row, { strict: true });
const lenient = (row: unknown): string[] => rowProblems(row, { strict: false });

function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let n = 1; n < levels; n += 1) value = { inner: value };
  return value;
}

t.test('a sound row of every event type is accepted, with the optional keys and without', async (t) => {
  for (const [type, definition] of eventCatalog) {
    const row = sampleEvent(type);
    t.same(strict(row), [], type);
    t.same(lenient(row), [], `${type}, leniently`);
    const optional = Object.entries(definition.detail ?? {}).filter(([, key]) => key.optional).map(([name]) => name);
    if (optional.length > 0) t.same(strict({ ...row, detail: without((row.detail ?? {}) as AuditEvent, ...optional) }), [], `${type} without ${optional.join(', ')}`);
  }
});

t.test('every event type refuses what its catalog row does not allow', async (t) => {
  for (const [type, definition] of eventCatalog) {
    const row = sampleEvent(type);
    t.match(strict({ ...row, category: definition.category === 'audit' ? 'activity' : 'audit' }), [/^category: must be "/], `${type}: the other category`);
    t.match(strict({ ...row, actor: 'root' }), [/^actor: must be "/], `${type}: another actor`);
    t.same(strict({ ...row, colour: 'red' }), ['colour: not a known field'], `${type}: an unknown column`);
    for (const [key, { optional }] of Object.entries(definition.detail ?? {})) {
      const rest = without(row.detail as unknown as AuditEvent, key);
      t.same(strict({ ...row, detail: rest }), optional ? [] : [`detail.${key}: required`], `${type} without detail.${key}`);
      t.match(strict({ ...row, detail: { ...row.detail, [key]: { an: 'object' } } }), [new RegExp(`^detail\\.${key}: must be `)], `${type}: detail.${key} of another type`);
      t.same(lenient({ ...row, detail: rest }), [], `${type} without detail.${key} can be stored`);
    }
    if (definition.detail !== undefined) t.same(strict({ ...row, detail: { ...row.detail, extra: 1 } }), ['detail.extra: not a known field'], `${type}: an unknown detail key`);
    else t.same(strict({ ...row, detail: { anything: [1, { goes: true }] } }), [], `${type}: any detail`);
    if (definition.scope === 'workspace' || definition.scope === 'agent') {
      t.same(strict(without(row, 'workspace_id')), ['workspace_id: required'], `${type} without workspace`);
      t.match(strict({ ...row, workspace_id: '' }), [/^workspace_id: /], `${type} with an empty workspace`);
    }
  }
});

t.test('columns that every row has', async (t) => {
  const row = sampleEvent('secret_created');
  for (const name of ['id', 'org_id', 'user_id', 'timestamp', 'source_seq', 'category', 'actor', 'event_type']) {
    t.same(lenient(without(row, name)), [`${name}: required`], name);
  }
  for (const notARow of [null, undefined, 7, 'row', [], [row]]) t.same(lenient(notARow), ['row: must be a JSON object'], JSON.stringify(notARow));
  for (const type of ['nothing_known', '', 'constructor', '__proto__', 'toString']) t.same(lenient({ ...row, event_type: type }), ['event_type: not a known event type'], type);
  for (const type of [7, null, ['secret_created']]) t.same(lenient({ ...row, event_type: type }), ['event_type: required'], JSON.stringify(type));
  t.same(lenient(Object.create(row)), ['event_type: required'], 'inherited columns do not count');
  t.same(lenient({ ...row, org_id: platformOrgId }), [], 'the platform org');
});

t.test('each column refuses values its store column cannot hold', async (t) => {
  const row = sampleEvent('policy_decision');
  const refused: Record<string, unknown[]> = {
    id: ['', 'x', 'c232ab00-9414-4ec8-a1b2-e33d3b1f9f00', row.id.toUpperCase(), 7, null],
    org_id: ['', 'acme', row.id.toUpperCase(), `${row.org_id}"`, null],
    user_id: ['', 'u'.repeat(513), null, 7],
    timestamp: ['', '2026-11-20', '2026-02-30T00:00:00Z', '1969-12-31T00:00:00Z', 1_795_168_800_000, null],
    source_seq: [-1, 1.5, 2 ** 53, '7', Number.NaN, Infinity, null],
    latency_ms: [-1, 4_294_967_296, 0.5, '12', Number.NaN, null],
    transforms_applied: [-1, 65_536, 0.5, null],
    validations_applied: [-1, 65_536, 0.5, null],
    destination: ['d'.repeat(2049), 7, null], method: ['m'.repeat(65), {}, null], path: ['p'.repeat(65_537), [], null],
    workspace_id: ['w'.repeat(513), null], task_id: [7], agent_role: [true], agent_provider: [{}], capability_name: [[]],
    decision: ['maybe', '', null], reason: ['because', null], policy_type: ['tcp', null], phase: ['body', null],
    detail: ['text', [], null, 7, nested(jsonDepthMax + 1), { text: 'x'.repeat(jsonCharactersMax) }, { big: 1n }, { call: () => 1 }],
    debits: [{ a: 1.5 }, { a: '1' }, { a: 2 ** 53 }, { a: -(2 ** 53) }, { a: null }, { ['k'.repeat(513)]: 1 }, [], null],
    budget_state: ['text', [], null, { a: nested(jsonDepthMax) }, { a: 1n }, { a: 'x'.repeat(jsonCharactersMax) }],
    floored: [{ a: 'reason' }, { a: '' }, null], transforms_failed: [{ a: 'reason' }, null], auth_failures: [{ a: 1 }, null],
    auth_used: [{}, 'main', [7], [null], ['n'.repeat(513)], Array.from({ length: 1025 }, () => 'n'), null],
  };
  const untested = columns.map(({ name }) => name as string).filter((name) => !Object.hasOwn(refused, name));
  t.same(untested, ['event_type', 'category', 'actor'], 'every column is in this table, or in a test above');
  for (const [name, values] of Object.entries(refused)) {
    for (const [at, value] of values.entries()) {
      const broken = { ...row, [name]: value };
      const problems = lenient(broken);
      t.ok(problems.length > 0 && problems.every((problem) => problem.startsWith(name)), `${name} value ${at}: ${problems.join('; ')}`);
      t.same(unstorableColumns(broken), [name], `${name} value ${at}: named as the column to drop`);
    }
  }
});

t.test('the largest values that fit', async (t) => {
  const row = sampleEvent('policy_decision', {
    source_seq: Number.MAX_SAFE_INTEGER, latency_ms: 4_294_967_295, transforms_applied: 65_535, validations_applied: 65_535, path: 'p'.repeat(65_536),
    debits: { a: Number.MAX_SAFE_INTEGER, b: -Number.MAX_SAFE_INTEGER }, detail: nested(jsonDepthMax), timestamp: '2199-12-31T23:59:59.999999Z',
  });
  t.same(strict(row), []);
});

t.test('policy decisions: what each reason must carry', async (t) => {
  const deny = (reason: string, detail?: Record<string, unknown>): AuditEvent =>
    sampleEvent('policy_decision', { decision: 'deny', reason: reason as (typeof denyReasons)[number], ...(detail === undefined ? {} : { detail }) });
  const evaluated = ['no_match', 'schema_violation', 'format_mismatch'];
  const counted = ['budget_exhausted', 'concurrency_exhausted'];
  for (const reason of denyReasons) {
    if (evaluated.includes(reason)) {
      t.same(strict(deny(reason)), ['detail: required'], reason);
      t.same(strict(deny(reason, {})), ['detail.allowrule_eval: required'], reason);
      t.same(strict(deny(reason, { allowrule_eval: [] })), [], reason);
    } else if (counted.includes(reason)) {
      t.same(strict(deny(reason, {})), ['detail.counter: required'], reason);
      t.same(strict(deny(reason, { counter: 'tokens', scope: 'workspace' })), [], reason);
    } else {
      t.same(strict(deny(reason)), [], reason);
    }
    t.same(lenient(deny(reason)), [], `${reason} can be stored without`);
  }
  const row = sampleEvent('policy_decision');
  t.same(strict({ ...row, decision: 'deny' }), ['reason: required'], 'a deny without reason');
  t.match(strict({ ...row, reason: 'no_match', detail: { allowrule_eval: [] } }), [/^reason: /], 'an allow with a reason');
  for (const name of ['decision', 'policy_type', 'phase', 'latency_ms']) t.ok(strict(without(row, name)).includes(`${name}: required`), `without ${name}`);
  t.same(strict({ ...row, policy_type: 'dns', phase: 'dns' }), [], 'a DNS allow');
  t.ok(strict({ ...row, policy_type: 'dns', phase: 'dns', decision: 'deny', reason: 'no_policy' }).length > 0, 'a DNS deny is not written');
  t.ok(strict({ ...row, phase: 'dns' }).length > 0, 'phase dns of an HTTP decision');
  t.ok(strict({ ...row, policy_type: 'dns' }).length > 0, 'a DNS decision of an HTTP phase');
});

t.test('own keys named as the prototype are ordinary keys', async (t) => {
  const odd = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3, "hasOwnProperty": 4}') as Record<string, number>;
  t.same(strict(sampleEvent('policy_decision', { debits: odd, detail: odd })), []);
  t.match(lenient(sampleEvent('policy_decision', { debits: JSON.parse('{"__proto__": "1"}') as Record<string, number> })), [/^debits\.__proto__: must be integer/]);
  t.same(lenient(JSON.parse(JSON.stringify(sampleEvent('secret_created')).replace('{', '{"__proto__":{},'))), ['__proto__: not a known field']);
});

t.test('problem texts repeat no values and have a bound', async (t) => {
  const secret = 'sk-live-5f1e0c';
  const row = sampleEvent('credential_status');
  const problems = strict({ ...row, user_id: '', method: { secret }, decision: secret, reason: [secret], debits: { a: secret }, auth_used: secret, detail: { ...row.detail, terminal: secret, name: [secret] } });
  t.ok(problems.length >= 6);
  t.notMatch(problems.join('\n'), secret);
  const many = sampleEvent('policy_decision', { debits: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`${'k'.repeat(500)}${n}`, 1.5])) });
  const listed = lenient(many);
  t.equal(listed.length, 21);
  t.equal(listed.at(-1), 'and 980 more');
  t.ok(listed.every((text) => text.length <= 400), 'none longer than 400 characters');
});
