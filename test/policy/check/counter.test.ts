import type { Test } from 'tap';
import t from 'tap';
import { readPolicyText, readPolicyValue } from '../../../src/policy/read-policy.ts';
import { countersWith, headersOnly, single, sse } from '../contract/support/documents.ts';
import { checkMarked } from './support/marked.ts';

const stream = `${sse}terminal_sentinel: "[DONE]"\n`;
const replaced = (base: string, field: string, line: string) => base.replace(new RegExp(`^${field}:.*\n`, 'm'), line === '' ? '' : `${line}\n`);
const document = (t: Test, name: string, text: string) => checkMarked(t, name, countersWith(text));

t.test('names', async (t) => {
  const count = (name: string) => `source: request.count\nname: ${name}`;
  checkMarked(t, 'twice: the later ones, and where the first one is', countersWith(count('calls'), count('‹duplicate_name|first in line 9›calls'), count('other'), count('‹duplicate_name›calls')));
  checkMarked(t, 'twice, beside other problems', countersWith(`${count('calls')}\nmax_concurrent: ‹negative_value›-1`, count('‹duplicate_name›calls')));
  checkMarked(t, 'wrong names are not compared', countersWith(count('‹reserved_identifier›_a'), count('‹reserved_identifier›_a')));
  document(t, 'a letter first', count('‹invalid_identifier›1st'));
  document(t, '64 characters', count('a'.repeat(64)));
  document(t, '65 characters', count(`‹invalid_identifier›${'a'.repeat(65)}`));
});

t.test('what value reads, and the advice', async (t) => {
  document(t, 'headers: the body', replaced(headersOnly, 'value', 'value: ‹undeclared_reference|framing: single_document›response.body.n'));
  document(t, 'headers: an event', replaced(headersOnly, 'value', 'value: ‹undeclared_reference|framing: sse›event.n'));
  document(t, 'document: an event', replaced(single, 'value', 'value: ‹undeclared_reference|response.body›event.n'));
  document(t, 'stream: the body', replaced(stream, 'value', 'value: ‹undeclared_reference|one event at a time›response.body.n'));
  document(t, 'the column inside of a folded block', replaced(headersOnly, 'value', 'value: >-\n  response.size +\n  ‹undeclared_reference›nope'));
});

t.test('one mistake is one problem', async (t) => {
  document(t, 'an unknown framing: value and terminator may be right', replaced(stream, 'framing', 'framing: ‹invalid_enum|did you mean sse?›ssse'));
  document(t, 'an unknown framing over a document', replaced(single, 'framing', 'framing: ‹invalid_enum›document'));
  document(t, 'no framing', `‹field_required_for_source|framing›${replaced(stream, 'framing', '')}`);
  document(t, 'an unknown framing, and a name that no phase has', replaced(replaced(stream, 'framing', 'framing: ‹wrong_type›1'), 'value', 'value: event.n + ‹undeclared_reference|undeclared reference: nope›nope'));
  document(t, 'an unknown framing, and no CEL', replaced(replaced(single, 'framing', 'framing: ‹wrong_type›1'), 'value', 'value: "‹cel_syntax›)"'));
  document(t, 'requires_body of another type: no row of the table applies', replaced(stream, 'requires_body', 'requires_body: ‹wrong_type›"true"'));
  document(t, 'requires_body of another type: what every response counter needs is', `‹value_required›‹field_required_for_source|accumulator›${replaced(replaced(replaced(stream, 'requires_body', 'requires_body: ‹wrong_type›1'), 'value', ''), 'accumulator', '')}`);
  document(t, 'requires_body null', replaced(headersOnly, 'requires_body', 'requires_body: ‹wrong_type|leave the field out›null'));
  document(t, 'an unknown source', replaced(stream, 'source', 'source: ‹invalid_enum|did you mean response?›respons'));
  document(t, 'an unknown source, and no CEL', replaced(replaced(stream, 'source', 'source: ‹invalid_enum›x'), 'value', 'value: event.n + ‹undeclared_reference›nope'));
  document(t, 'a rejected field that is null', `${headersOnly}sse_event: ‹wrong_type|leave the field out›null`);
  document(t, 'a required field of another type is not missing', replaced(replaced(headersOnly, 'status_codes', 'status_codes: ‹wrong_type›2xx'), 'accumulator', 'accumulator: ‹wrong_type›1'));
  document(t, 'a wrong code is not a missing one', replaced(headersOnly, 'status_codes', 'status_codes: [‹invalid_status_code›"1"]'));
  document(t, 'a field written otherwise is unknown, and the right one missing', `‹value_required›name: x\n${replaced(replaced(headersOnly, 'value', '‹unknown_field|did you mean value?›valu: response.size'), 'name', '')}`);
});

t.test('no counter at all', async (t) => {
  document(t, 'a text', '‹wrong_type›calls');
  t.strictSame(readPolicyText('- {name: a, type: http, allow: [{domains: [api.example.com], methods: [GET]}], budgets: {counters: []}}').policy?.document.capabilities[0]?.counters, []);
  t.strictSame(readPolicyText('- {name: a, type: http, allow: [{domains: [api.example.com], methods: [GET]}], budgets: {}}').policy?.document.capabilities[0]?.counters, []);
});

t.test('counters as they are read', async (t) => {
  const { policy } = readPolicyText(countersWith(`${stream}sse_event: usage\nreserve_per_request: 7\nfailure_charge: 5\ntask: {max: 50}`, replaced(single, 'name', 'name: document'), replaced(`${sse}terminal_cel: event.done == true`, 'name', 'name: cel'), replaced(`${sse}terminal_event_type: done`, 'name', 'name: type')));
  const counters = policy?.document.capabilities[0]?.counters ?? [];
  t.match(counters, [
    { name: 'tokens', source: 'response', requiresBody: true, framing: 'sse', format: 'application/json', encoding: 'identity', sseEvent: 'usage', accumulator: 'sum', reservePerRequest: 7n, failureCharge: 5n, workspace: { max: 100n, ttlMs: 3_600_000 }, task: { max: 50n }, value: { phase: 'counter_sse' }, terminator: { kind: 'sentinel', value: '[DONE]' } },
    { name: 'document', framing: 'single_document', value: { phase: 'counter_document', usesResponseBody: true }, terminator: undefined, sseEvent: undefined },
    { name: 'cel', terminator: { kind: 'cel', program: { source: 'event.done == true', phase: 'terminal' } } },
    { name: 'type', terminator: { kind: 'event_type', value: 'done' } },
  ]);
  const [first] = counters;
  t.strictSame(first?.value?.evaluate({ response: { status: 200, headers: new Map(), size: 0 }, event: { tokens: 12 } }), { ok: true, value: 12n });
});

t.test('parsed JSON has the same problems, at paths', async (t) => {
  const counter = { name: 'tokens', source: 'response', requires_body: true, value: 'event.n', status_codes: [200], failure_charge: -1 };
  const { problems } = readPolicyValue([{ name: 'a', type: 'http', allow: [{ domains: ['api.example.com'], methods: ['GET'] }], budgets: { counters: [counter] } }]);
  const at = 'capabilities[0].budgets.counters[0]';
  t.strictSame(problems.map(({ slug, path }) => `${slug} ${path}`).sort(), [
    `accept_encoding_identity_required ${at}`, `field_required_for_source ${at}`, `field_required_for_source ${at}`, `field_required_for_source ${at}`, `field_required_for_source ${at}`,
    `negative_value ${at}.failure_charge`, `wrong_type ${at}.status_codes[0]`,
  ]);
});
