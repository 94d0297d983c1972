import t from 'tap';
import fc from 'fast-check';
import { AppError } from '../../src/kernel/errors.ts';
import { parseTimestamp } from '../../src/kernel/clock.ts';
import type { RawActivityParams, RawPageParams } from '../../src/query/page-request.ts';
import { parseActivityRequest, parsePageRequest } from '../../src/query/page-request.ts';
import { sampleEvent } from '../support/sample-events.ts';

const everything = { predicate: true, key: 'all' } as const;
const page = (raw: RawPageParams) => parsePageRequest('org', everything, raw);
const activity = (raw: RawActivityParams) => parseActivityRequest('org', everything, raw);

function fields(parse: () => unknown): string[] {
  try {
    parse();
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error') return Object.keys(error.details?.fields ?? {}).sort();
    throw error;
  }
  return [];
}

t.test('defaults of 4.1 and 4.3', (t) => {
  t.match(page({}), { predicate: true, order: 'desc', limit: 100, after: undefined });
  t.match(activity({}), { predicate: true, order: 'asc', limit: 100, after: undefined });
  t.end();
});

t.test('limit', (t) => {
  for (const limit of ['1', '100', '10000', 1, 10_000]) t.equal(page({ limit }).limit, Number(limit));
  for (const limit of ['0', '10001', '-1', '1.5', '1e3', '0x10', '', ' 5', '5 ', 'ten', '99999999999999999999', 0, 10_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) t.same(fields(() => page({ limit })), ['limit'], String(limit));
  t.end();
});

t.test('from is inclusive, to is exclusive, after is exclusive', (t) => {
  const at = parseTimestamp('2026-11-20T10:00:00Z') ?? 0;
  t.same(page({ from: '2026-11-20T10:00:00Z', to: '2026-11-20T12:00:00+01:00' }).predicate, { and: [{ since: at }, { until: at + 3_600_000_000 }] });
  t.same(page({ from: '2026-11-20T10:00:00.1234567Z' }).predicate, { since: at + 123_456 });
  t.same(activity({ after: '2026-11-20T10:00:00Z' }).predicate, { since: at + 1 });
  t.same(fields(() => page({ from: '2026-11-20T10:00:01Z', to: '2026-11-20T10:00:00Z' })), ['to']);
  t.same(fields(() => page({ from: '2026-11-20T10:00:00Z', to: '2026-11-20T10:00:00Z' })), [], 'an empty window is no error');
  for (const bad of ['', 'now', '2026-11-20', '2026-11-20T10:00:00', '2026-02-30T10:00:00Z', '2026-11-20 10:00:00Z', '1795000000', '2026-11-20T24:00:00Z', '2026-11-20T10:00:00+0100', '1969-12-31T23:59:59Z', '2200-01-01T00:00:00Z']) {
    t.same(fields(() => page({ from: bad, to: bad })), ['from', 'to'], bad);
    t.same(fields(() => activity({ after: bad })), ['after'], bad);
  }
  t.end();
});

t.test('every wrong parameter is named at once', (t) => {
  t.same(fields(() => page({ filter: ['x'], from: 'x', to: 'y', order: 'up', limit: 'z' })), ['filter', 'from', 'limit', 'order', 'to']);
  t.same(fields(() => activity({ after: 'x', order: 'DESC', limit: '0', task_id: '', event_type: 'x'.repeat(513) })), ['after', 'event_type', 'limit', 'order', 'task_id']);
  t.end();
});

t.test('after and cursor exclude each other', (t) => {
  const cursor = activity({}).cursorFor(sampleEvent('task_submitted'));
  t.same(fields(() => activity({ after: '2026-11-20T10:00:00Z', cursor })), ['after']);
  t.end();
});

t.test('task_id and event_type are filters', (t) => {
  t.same(activity({ task_id: 'a,b', event_type: 'tool_call' }).predicate, { and: [{ in: 'task_id', values: ['a,b'] }, { in: 'event_type', values: ['tool_call'] }] });
  t.end();
});

t.test('a cursor fits the request it came from, at any limit', (t) => {
  const event = sampleEvent('policy_decision');
  const raw = { filter: ['decision=allow'], from: '2026-11-20T10:00:00Z', order: 'asc' };
  const cursor = page(raw).cursorFor(event);
  t.same(page({ ...raw, limit: 7, cursor }).after, { timestamp: parseTimestamp(event.timestamp), sourceSeq: event.source_seq, id: event.id });
  t.same(page({ ...raw, from: '2026-11-20T11:00:00+01:00', cursor }).after?.id, event.id, 'the same time written otherwise');
  const others: RawPageParams[] = [{ ...raw, order: 'desc' }, { ...raw, filter: ['decision=deny'] }, { ...raw, filter: [] }, { ...raw, from: undefined }, { ...raw, to: '2026-11-21T10:00:00Z' }];
  for (const other of others) t.throws(() => page({ ...other, cursor }), { code: 'invalid_cursor' });
  t.throws(() => parsePageRequest('other org', everything, { ...raw, cursor }), { code: 'invalid_cursor' });
  t.throws(() => parsePageRequest('org', { predicate: true, key: 'other caller' }, { ...raw, cursor }), { code: 'invalid_cursor' });
  t.end();
});

t.test('whatever comes in, the answer is a request or a 400', (t) => {
  const text = fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('2026-11-20T10:00:00Z', 'asc', '5', "' OR 1=1", 'decision=deny')), { nil: undefined });
  fc.assert(fc.property(fc.record({ filter: fc.array(fc.string({ unit: 'binary' })), from: text, to: text, order: text, limit: text, cursor: text, after: text, task_id: text }), (raw) => {
    for (const parse of [() => page(raw), () => activity(raw)]) {
      try {
        parse();
      } catch (error) {
        if (!(error instanceof AppError) || error.status !== 400) throw error;
      }
    }
  }), { numRuns: 1000 });
  t.end();
});
