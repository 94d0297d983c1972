import t from 'tap';
import { createMeter } from '../../src/budgets/meter.ts';
import type { CelProgram } from '../../src/policy/cel/contract.ts';
import { counter } from './counter-fixture.ts';
import { countersOf, document, jsonHead, meter, outcome, sse, sseHead } from './meter-fixture.ts';
import type { Response } from './meter-fixture.ts';

type Case = readonly [what: string, fields: Readonly<Record<string, unknown>>, response: Response, expected: ReturnType<typeof outcome>];

function table(title: string, cases: readonly Case[]): void {
  t.test(title, async (t) => {
    for (const [what, fields, response, expected] of cases) t.strictSame(outcome(meter(countersOf(fields), response)), expected, what);
  });
}

const json = (body: string, more: Partial<Response> = {}): Response => ({ headers: jsonHead, body, ...more });
const stream = (body: string, more: Partial<Response> = {}): Response => ({ headers: sseHead, body, ...more });
const end = 'event: end\ndata: {"n":0}\n\n';
const bytes = { name: 'c', source: 'response.bytes', status_codes: ['2xx', '404', '500-502'] };
const headed = { name: 'c', source: 'response', requires_body: false, value: 'int(response.headers["x-cost"])', status_codes: ['2xx'], accumulator: 'last' };

table('response.bytes counts the body on the wire where the status matches', [
  ['a body', bytes, { body: 'é'.repeat(10) }, [20n, undefined]],
  ['none', bytes, {}, [0n, undefined]],
  ['cut', bytes, { body: 'abc', clean: false }, [3n, undefined]],
  ['compressed bytes as they are', bytes, { body: 'abc', headers: { 'content-encoding': 'gzip' } }, [3n, undefined]],
  ['an exact code', bytes, { status: 404, body: 'abc' }, [3n, undefined]],
  ['the ends of a range', bytes, { status: 500, body: 'abc' }, [3n, undefined]],
  ['the ends of a range', bytes, { status: 502, body: 'abc' }, [3n, undefined]],
  ['behind the range', bytes, { status: 503, body: 'abc' }, undefined],
  ['another family', bytes, { status: 304 }, undefined],
  ['less than the failure charge', { ...bytes, failure_charge: 4 }, { body: 'abc' }, [4n, 'extracted_below_failure_charge']],
]);

table('response, headers phase', [
  ['a header', headed, { headers: { 'x-cost': '7' } }, [7n, undefined]],
  ['another status', headed, { status: 500, headers: { 'x-cost': '7' } }, undefined],
  ['a missing header', headed, {}, [0n, 'cel_eval_error']],
  ['a missing header, and a charge', { ...headed, failure_charge: 9 }, {}, [9n, 'cel_eval_error']],
  ['not a number', { ...headed, failure_charge: 9 }, { headers: { 'x-cost': 'NaN' } }, [9n, 'cel_eval_error']],
  ['negative', { ...headed, failure_charge: 9 }, { headers: { 'x-cost': '-1' } }, [9n, 'cel_eval_error']],
  ['the largest', headed, { headers: { 'x-cost': '9223372036854775807' } }, [2n ** 63n - 1n, undefined]],
  ['over int64', headed, { headers: { 'x-cost': '9223372036854775808' } }, [0n, 'cel_eval_error']],
  ['below the charge', { ...headed, failure_charge: 9 }, { headers: { 'x-cost': '8' } }, [9n, 'extracted_below_failure_charge']],
  ['the size', { ...headed, value: 'response.size * 2' }, { body: 'abcde' }, [10n, undefined]],
  ['the status', { ...headed, value: 'response.status' }, { status: 201 }, [201n, undefined]],
]);

table('response, one document', [
  ['a value', document(), json('{"n": 12}'), [12n, undefined]],
  ['its size', document({ value: 'response.size' }), json('{"n": 12}'), [9n, undefined]],
  ['a parameter in any case', document(), json('{"n": 12}', { headers: { 'content-type': 'Application/JSON; Charset="UTF-8"', 'content-encoding': 'identity' } }), [12n, undefined]],
  ['a BOM', document(), json('\uFEFF{"n": 12}'), [12n, undefined]],
  ['an array', document({ value: 'response.body[1]' }), json('[1, 2]'), [2n, undefined]],
  ['cut behind its end', document(), json('{"n": 12}', { clean: false }), [12n, undefined]],
  ['cut within a number', document({ value: 'response.body', failure_charge: 5 }), json('12', { clean: false }), [5n, 'parse_failed']],
  ['framing_mismatch', document({ failure_charge: 5 }), stream('data: {"n": 12}\n\n'), [5n, 'framing_mismatch']],
  ['format_mismatch', document({ failure_charge: 5 }), json('{"n": 12}', { headers: { 'content-type': 'application/problem+json' } }), [5n, 'format_mismatch']],
  ['no type', document({ failure_charge: 5 }), { body: '{"n": 12}' }, [5n, 'format_mismatch']],
  ['two types', document({ failure_charge: 5 }), json('{"n": 12}', { headers: { 'content-type': 'application/json,application/json' } }), [5n, 'format_mismatch']],
  ['another charset', document({ failure_charge: 5 }), json('{"n": 12}', { headers: { 'content-type': 'application/json; charset=utf-16' } }), [5n, 'format_mismatch']],
  ['encoding_mismatch', document({ failure_charge: 5 }), json('{"n": 12}', { headers: { ...jsonHead, 'content-encoding': 'gzip' } }), [5n, 'encoding_mismatch']],
  ['one coding of two', document({ failure_charge: 5 }), json('{"n": 12}', { headers: { ...jsonHead, 'content-encoding': 'identity, br' } }), [5n, 'encoding_mismatch']],
  ['format before encoding', document(), { body: '', headers: { 'content-encoding': 'gzip' } }, [0n, 'format_mismatch']],
  ['parse_failed', document({ failure_charge: 5 }), json('{"n": 12'), [5n, 'parse_failed']],
  ['parse_failed without a charge', document(), json('{"n": 12'), [0n, 'parse_failed']],
  ['no body', document({ failure_charge: 5 }), json('', { status: 204 }), [5n, 'parse_failed']],
  ['two values of one key', document({ failure_charge: 5 }), json('{"n": 12, "n": 1}'), [5n, 'parse_failed']],
  ['no UTF-8', document({ failure_charge: 5 }), { headers: jsonHead, body: Buffer.from('{"n": 12, "s": "\xff"}', 'latin1') }, [5n, 'parse_failed']],
  ['as long as may be', document(), json('{"n": 12}', { documentBytesMax: 9 }), [12n, undefined]],
  ['longer', document({ failure_charge: 5 }), json('{"n": 12}', { documentBytesMax: 8 }), [5n, 'parse_failed']],
  ['nested too deep', document({ failure_charge: 5 }), json(`${'['.repeat(5_000)}${']'.repeat(5_000)}`, { documentBytesMax: 20_000 }), [5n, 'parse_failed']],
  ...['-1', '1.5', '1e300', '9223372036854775808', '"12"', 'null', 'true', '{}'].map((value): Case => [`cel_eval_error: ${value}`, document({ failure_charge: 5 }), json(`{"n": ${value}}`), [5n, 'cel_eval_error']]),
  ['cel_eval_error: missing', document({ failure_charge: 5 }), json('{}'), [5n, 'cel_eval_error']],
  ['a whole number written as a fraction', document(), json('{"n": 12.0}'), [12n, undefined]],
  ['__proto__ is a key like any', document(), json('{"__proto__": {"n": 1}, "n": 2}'), [2n, undefined]],
  ['extracted_below_failure_charge', document({ failure_charge: 5 }), json('{"n": 4}'), [5n, 'extracted_below_failure_charge']],
  ['exactly the failure charge', document({ failure_charge: 5 }), json('{"n": 5}'), [5n, undefined]],
]);

const events = (...data: readonly string[]): string => data.map((text) => `data: ${text}\n\n`).join('');
table('response, event stream', [
  ['sum', sse(), stream(events('{"n":1}', '{"n":5}', '{"n":3}') + end), [9n, undefined]],
  ['max', sse({ accumulator: 'max' }), stream(events('{"n":1}', '{"n":5}', '{"n":3}') + end), [5n, undefined]],
  ['last', sse({ accumulator: 'last', sse_event: 'message' }), stream(events('{"n":1}', '{"n":5}', '{"n":3}') + end), [3n, undefined]],
  ['the sum stops at the end of int64', sse({ value: 'event.n * 4611686018427387904' }), stream(events('{"n":1}', '{"n":1}', '{"n":1}') + end), [2n ** 63n - 1n, undefined]],
  ['its own type', sse({ sse_event: 'usage' }), stream(`event: usage\n${events('{"n":1}', '{"n":5}')}${end}`), [1n, undefined]],
  ['a type is compared exactly', sse({ sse_event: 'usage' }), stream(`event: Usage\n${events('{"n":1}')}event: usage \n${events('{"n":1}')}${end}`), [0n, undefined]],
  ['events of other types need not be JSON', sse({ sse_event: 'usage' }), stream(`${events('hello')}event: usage\n${events('{"n":1}')}${end}`), [1n, undefined]],
  ['no event at all', sse({ failure_charge: 5 }), stream(''), [5n, 'terminator_not_observed']],
  ['the end alone is below the charge', sse({ failure_charge: 5 }), stream(end), [5n, 'extracted_below_failure_charge']],
  ['JSON that is no object is passed over', sse(), stream(events('[1]', '7', '"x"', 'null', '{"n":1}') + end), [1n, undefined]],
  ['parse_failed', sse({ failure_charge: 5 }), stream(events('{"n":1', 'x') + end), [5n, 'parse_failed']],
  ['parse_failed costs no less than what was extracted around it', sse({ failure_charge: 5 }), stream(events('{"n":4}', '{', '{"n":6}') + end), [10n, 'parse_failed']],
  ['cel_eval_error', sse({ failure_charge: 5 }), stream(events('{"m":1}') + end), [5n, 'cel_eval_error']],
  ['parse_failed before cel_eval_error', sse({ failure_charge: 5 }), stream(events('{"m":1}', 'x')), [5n, 'parse_failed']],
  ['cel_eval_error before terminator_not_observed', sse(), stream(events('{"n":-4}', '{"n":1}')), [1n, 'cel_eval_error']],
  ['terminator_not_observed', sse({ failure_charge: 5 }), stream(events('{"n":1}')), [5n, 'terminator_not_observed']],
  ['terminator_not_observed, more extracted', sse({ failure_charge: 5 }), stream(events('{"n":8}')), [8n, 'terminator_not_observed']],
  ['cut before the end', sse({ failure_charge: 5 }), stream(events('{"n":8}') + end.trimEnd(), { clean: false }), [8n, 'terminator_not_observed']],
  ['cut behind the end', sse(), stream(events('{"n":8}') + end, { clean: false }), [8n, undefined]],
  ['nothing counts behind the end', sse(), stream(events('{"n":8}') + end + events('{"n":1}', 'x')), [8n, undefined]],
  ['the event that ends counts', sse(), stream('event: end\ndata: {"n":3}\n\n'), [3n, undefined]],
  ['sentinel', sse({ terminal_sentinel: '[DONE]' }), stream(events('{"n":8}', '[DONE]', '{"n":1}')), [8n, undefined]],
  ['sentinel that is not exactly it', sse({ terminal_sentinel: '[DONE]' }), stream(events('{"n":8}', '[DONE] ', '[done]')), [8n, 'parse_failed']],
  ['sentinel that is JSON', sse({ terminal_sentinel: '{"end":1}' }), stream(events('{"n":8}', '{"end":1}')), [8n, undefined]],
  ['sentinel of another type than sse_event', sse({ terminal_sentinel: '[DONE]', sse_event: 'usage' }), stream(`event: usage\n${events('{"n":8}', '[DONE]')}`), [8n, undefined]],
  ['cel', sse({ terminal_cel: 'event.kind == "stop"' }), stream(events('{"n":8}', '{"n":1,"kind":"stop"}', '{"n":1}')), [9n, undefined]],
  ['cel over events of other types', sse({ terminal_cel: 'event.kind == "stop"', sse_event: 'usage' }), stream(`event: usage\n${events('{"n":8}', 'x', '{"kind":"stop"}')}`), [8n, undefined]],
  ['cel that is never true', sse({ terminal_cel: 'event.kind == "stop"' }), stream(events('{"n":8}', '{"n":1,"kind":7}')), [9n, 'terminator_not_observed']],
  ['cel over the response', sse({ terminal_cel: 'response.size >= 20' }), stream(events('{"n":8}', '{"n":1}', '{"n":1}')), [9n, undefined]],
  ['framing_mismatch', sse({ failure_charge: 5 }), json('{"n": 1}'), [5n, 'framing_mismatch']],
  ['framing before encoding', sse(), { headers: { 'content-encoding': 'br' } }, [0n, 'framing_mismatch']],
  ['format_mismatch', sse({ failure_charge: 5 }), stream(end, { headers: { 'content-type': 'text/event-stream; charset=iso-8859-1' } }), [5n, 'format_mismatch']],
  ['encoding_mismatch', sse({ failure_charge: 5 }), stream(end, { headers: { ...sseHead, 'content-encoding': 'zstd' } }), [5n, 'encoding_mismatch']],
  ['another status says nothing', sse({ failure_charge: 5 }), stream('', { status: 500 }), undefined],
  ['an event over the bound', sse({ failure_charge: 5 }), stream(events('{"n":8}', `{"n":1,"s":"${'x'.repeat(1_000)}"}`, '{"n":1}') + end), [9n, 'parse_failed']],
  ['an event over the bound of another type', sse({ sse_event: 'usage' }), stream(`event: other\n${events('x'.repeat(2_000))}event: usage\n${events('{"n":1}')}${end}`), [1n, undefined]],
  ['an event over the bound that ends', sse(), stream(events('{"n":8}') + `data: ${'x'.repeat(2_000)}\nevent: end\n\n`), [8n, 'parse_failed']],
  ['a line without end', sse({ failure_charge: 5 }), stream(events('{"n":8}') + `data: ${'x'.repeat(5_000)}`), [8n, 'parse_failed']],
  ['a comment without end', sse(), stream(events('{"n":8}') + `: ${'x'.repeat(5_000)}`), [8n, 'terminator_not_observed']],
]);

t.test('counters of one response are metered apart, and those over the request are not there', async (t) => {
  const counters = countersOf(sse(), { name: 'requests', source: 'request.count' }, { name: 'sent', source: 'request.bytes' }, { ...bytes, name: 'received' }, document({ name: 'whole', failure_charge: 2 }), { ...headed, name: 'cost' });
  const body = events('{"n":4}') + end;
  const result = meter(counters, stream(body, { headers: { ...sseHead, 'x-cost': '3' } }));
  t.strictSame([...result.debits], [['c', 4n], ['received', BigInt(body.length)], ['whole', 2n], ['cost', 3n]]);
  t.strictSame([...result.floored], [['whole', 'framing_mismatch']]);
});

t.test('the body is asked for only where a counter looks at it', async (t) => {
  const looks = (fields: Readonly<Record<string, unknown>>, response: Response): boolean =>
    !createMeter({ counters: countersOf(fields), head: { status: response.status ?? 200, headers: new Map(Object.entries(response.headers ?? {})) }, limits: { documentBytesMax: 1, eventBytesMax: 1 } }).headersOnly;
  t.equal(looks({ name: 'c', source: 'request.bytes' }, {}), false);
  t.equal(looks(headed, {}), false);
  t.equal(looks({ ...headed, value: 'response.size' }, {}), true);
  t.equal(looks(bytes, {}), true);
  t.equal(looks(bytes, { status: 302 }), false);
  t.equal(looks(sse(), { headers: sseHead }), true);
  t.equal(looks(sse(), { headers: jsonHead }), false, 'what cannot be read is not');
  t.equal(looks(document(), { headers: jsonHead }), true);
});

t.test('a program that throws floors its counter and nothing more', async (t) => {
  const throwing = (): CelProgram<'integer'> => ({ source: 'x', phase: 'counter_sse', result: 'integer', usesRequestBody: false, usesResponseBody: false, secretKeys: [], literal: undefined, evaluate() { throw new Error('out of order'); } });
  const common = { source: 'response', requiresBody: true, framing: 'sse', format: 'application/json', encoding: 'identity', statusCodes: [{ from: 200, to: 299 }], accumulator: 'sum', value: throwing(), failureCharge: 3n } as const;
  const counters = [counter('one', { ...common, terminator: { kind: 'cel', program: { ...throwing(), result: 'bool' } as unknown as CelProgram<'bool'> } }), counter('two', { ...common, terminator: { kind: 'event_type', value: 'end' } })];
  const result = meter(counters, stream(events('{"n":1}') + end));
  t.strictSame([...result.debits], [['one', 3n], ['two', 3n]]);
  t.strictSame([...result.floored], [['one', 'cel_eval_error'], ['two', 'cel_eval_error']]);
});
