import t from 'tap';
import type { ProblemSlug } from '../../../src/policy/problem-slugs.ts';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { countersWith } from '../contract/support/documents.ts';
import { checkMarked } from './support/marked.ts';

/** Each field with a value that is right, and with its empty value. */
const fields = {
  value: ['"1"', '""'],
  requires_body: ['true', 'false'],
  framing: ['single_document', '""'],
  format: ['application/json', '""'],
  encoding: ['identity', '""'],
  sse_event: ['usage', '""'],
  status_codes: ['[2xx]', '[]'],
  accumulator: ['sum', '""'],
  reserve_per_request: ['5', '0'],
  failure_charge: ['5', '0'],
  max_concurrent: ['5', '0'],
  terminal_event_type: ['done', '""'],
  terminal_sentinel: ['"[DONE]"', '""'],
  terminal_cel: ['event.done == true', '""'],
} as const;
type Field = keyof typeof fields;

/** Columns follow the order of `fields`: R required, X rejected, W accepted with a warning, `.` accepted. */
const table: Readonly<Record<string, { readonly base: string; readonly says: Readonly<Record<Field, 'R' | 'X' | 'W' | '.'>> }>> = {
  'request.count': row('source: request.count', 'XXXXXXWWXX.XXX'),
  'request.bytes': row('source: request.bytes', 'XXXXXXWWXX.XXX'),
  'response.bytes': row('source: response.bytes\nstatus_codes: [2xx]', 'XXXXXXRW...XXX'),
  'response, headers phase': row('source: response\nvalue: "1"\nstatus_codes: [2xx]\naccumulator: sum', 'R.XXXXRR...XXX'),
  'response, one document': row('source: response\nrequires_body: true\nvalue: "1"\nstatus_codes: [2xx]\naccumulator: sum\nframing: single_document\nformat: application/json\nencoding: identity', 'R.RRRXRR...WWW'),
  'response, stream': row('source: response\nrequires_body: true\nvalue: "1"\nstatus_codes: [2xx]\naccumulator: sum\nframing: sse\nformat: application/json\nencoding: identity\nterminal_sentinel: "[DONE]"', 'R.RRR.RR....R.'),
};

function row(base: string, letters: string) {
  const says = Object.fromEntries(Object.keys(fields).map((field, index) => [field, letters[index]])) as Record<Field, 'R' | 'X' | 'W' | '.'>;
  return { base: `name: demo\nworkspace: {max: 100}\n${base}\n`, says };
}

const rejectedAs: Readonly<Partial<Record<Field, ProblemSlug>>> = { value: 'value_not_allowed', requires_body: 'requires_body_not_allowed', sse_event: 'sse_event_not_allowed' };
const requiredAs: Readonly<Partial<Record<Field, ProblemSlug>>> = { value: 'value_required', terminal_sentinel: 'terminator_required' };

const without = (base: string, field: string) => base.split('\n').filter((line) => !line.startsWith(`${field}:`)).join('\n');

for (const [name, { base, says }] of Object.entries(table)) {
  t.test(name, async (t) => {
    checkMarked(t, 'as it should be', countersWith(base));
    for (const [field, [value, empty]] of Object.entries(fields) as [Field, readonly [string, string]][]) {
      const letter = says[field];
      const rest = without(base, field);
      // requires_body chooses between rows of the table, and a second terminator is a problem of its own.
      if (field === 'requires_body' && letter === '.') continue;
      if (letter === 'R') {
        const slug = requiredAs[field] ?? 'field_required_for_source';
        checkMarked(t, `${field} missing`, countersWith(`‹${slug}|${field}›${rest}`));
        // A terminator may be any of three, so its absence is told of the counter.
        if (slug !== 'terminator_required') checkMarked(t, `${field} empty`, countersWith(`${rest}${field}: ‹${slug}›${empty}`));
        continue;
      }
      checkMarked(t, `${field} empty`, countersWith(`${rest}${field}: ${empty}`));
      const terminates = field.startsWith('terminal_') && base.includes('terminal_');
      const mark = terminates ? '‹too_many_terminators›' : letter === 'X' ? `‹${rejectedAs[field] ?? 'field_not_allowed_for_source'}|${field}›` : letter === 'W' ? `‹!field_has_no_effect|${field}›` : '';
      checkMarked(t, `${field} given`, countersWith(`${rest}${mark}${field}: ${value}`));
    }
  });
}

t.test('all that is wrong at once', async (t) => {
  checkMarked(t, 'rejected, each at its key', countersWith('name: calls\n‹field_not_allowed_for_source›framing: sse\nsource: request.count\n‹value_not_allowed›value: "1"\n‹sse_event_not_allowed›sse_event: x\n‹field_not_allowed_for_source›failure_charge: 5'));
  checkMarked(t, 'missing, at the counter', countersWith('‹value_required›‹field_required_for_source›‹missing_field›source: response\naccumulator: ‹invalid_enum|did you mean sum?›summ'));
  checkMarked(t, 'everything of a body counter', countersWith('‹value_required›‹field_required_for_source|status_codes›‹field_required_for_source|accumulator›‹field_required_for_source|framing›‹field_required_for_source|format›‹field_required_for_source|encoding›name: calls\nsource: response\nrequires_body: true'));
});

t.test('terminators', async (t) => {
  const stream = without(table['response, stream']?.base ?? '', 'terminal_sentinel');
  for (const terminator of ['terminal_event_type: done', 'terminal_sentinel: "[DONE]"', 'terminal_cel: event.done == true']) checkMarked(t, terminator, countersWith(stream + terminator));
  checkMarked(t, 'the second one in the text is too many', countersWith(`${stream}terminal_cel: event.done == true\n‹too_many_terminators|terminal_cel and terminal_event_type›terminal_event_type: done`));
  checkMarked(t, 'three', countersWith(`${stream}terminal_sentinel: x\n‹too_many_terminators›terminal_event_type: done\nterminal_cel: event.done == true`));
  checkMarked(t, 'two on a single document', countersWith(`${stream.replace('framing: sse', 'framing: single_document')}‹!field_has_no_effect›terminal_sentinel: x\n‹too_many_terminators›‹!field_has_no_effect›terminal_event_type: done`));
  checkMarked(t, 'one of the wrong type is not a missing one', countersWith(`${stream}terminal_sentinel: ‹wrong_type›5`));
  checkMarked(t, 'an expression over one document', countersWith(`${stream}terminal_cel: ‹undeclared_reference|one event at a time›response.body.done == true`));
  checkMarked(t, 'an expression that is no bool', countersWith(`${stream}terminal_cel: "‹cel_result_type›1"`));
});

t.test('a wrong expression in a field that has to go is one problem', async (t) => {
  checkMarked(t, 'value', countersWith('name: calls\nsource: request.count\n‹value_not_allowed›value: nope.x +'));
  checkMarked(t, 'terminal_cel', countersWith('name: calls\nsource: request.count\n‹field_not_allowed_for_source›terminal_cel: nope.x +'));
  checkMarked(t, 'failure_charge', countersWith('name: calls\nsource: request.count\nworkspace: {max: 5}\n‹field_not_allowed_for_source›failure_charge: 50'));
});

t.test('which counters a document has', async (t) => {
  const { policy } = readPolicyText(countersWith(table['request.count']?.base ?? '', 'name: tokens\nsource: response\nvalue: response.size\nstatus_codes: [2xx]\naccumulator: last\nmax_concurrent: 3'));
  t.match(policy?.document.capabilities[0]?.counters, [
    { capability: 'demo', name: 'demo', source: 'request.count', value: undefined, requiresBody: false, framing: '', format: '', encoding: '', sseEvent: undefined, statusCodes: [], accumulator: undefined, reservePerRequest: 0n, failureCharge: 0n, maxConcurrent: 0, terminator: undefined },
    { name: 'tokens', source: 'response', value: { source: 'response.size', phase: 'counter_headers' }, requiresBody: false, accumulator: 'last', maxConcurrent: 3, workspace: undefined, task: undefined },
  ]);
});
