import fc from 'fast-check';
import t from 'tap';
import type { Problem } from '../../../src/policy/problem.ts';
import { readPolicyText, readPolicyValue } from '../../../src/policy/read-policy.ts';
import { countersWith, headersOnly, single, sse, transformsWith } from '../contract/support/documents.ts';

/** Values of any type, right ones for some field among them. Beyond 2^53 a text and parsed JSON differ, which is as it should be. */
const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>('', 'response', 'request.count', 'response.bytes', 'sse', 'single_document', 'identity', 'application/json', 'sum', 'set', 'merge', 'prefix', 'replace', 'remove', 'x-a', 'github', '"a"', 'response.size', 'event.n', 'event.n == 1', 'request.body.a', '{"a": 1}', 'secrets["k"]', '^/a', '('),
  fc.constantFrom<unknown>(true, false, null, 0, 1, 5, -1, 1.5, [], ['2xx'], ['200', 'x'], [1], ['one'], ['two'], {}, { max: 5 }, { max: 5, ttl: '1h' }, { max: -1, ttl: 'x' }),
  fc.string({ maxLength: 6 }),
);

const mapOf = (keys: readonly string[]) => fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), value), { selector: ([key]) => key, maxLength: keys.length }).map((entries) => Object.fromEntries(entries));

const counter = mapOf(['name', 'source', 'value', 'requires_body', 'framing', 'format', 'encoding', 'sse_event', 'status_codes', 'accumulator', 'reserve_per_request', 'failure_charge', 'max_concurrent', 'workspace', 'task', 'terminal_event_type', 'terminal_sentinel', 'terminal_cel', '__proto__', 'other']);
const variant = fc.oneof(mapOf(['name', 'action', 'value', 'key', 'pattern', 'credential', 'provider', 'constructor']), value);
const transform = fc.tuple(mapOf(['name', 'direction', 'applies_to', 'requires_body']), fc.subarray(['header', 'path', 'query', 'body', 'auth', 'other']), variant).map(([fields, kinds, inner]) => ({ ...fields, ...Object.fromEntries(kinds.map((kind) => [kind, inner])) }));

const rule = { name: 'one', domains: ['api.example.com'], methods: ['POST'], request_format: 'application/json', request_schema: { type: 'object' } };

const namesOf = (problems: readonly Problem[]) => [...new Set(problems.map(({ slug, path }) => `${path} ${slug}`))].sort();

t.test('any counters and transforms: no exception, and a policy exactly when there is no problem', async () => {
  fc.assert(fc.property(fc.array(fc.oneof(counter, value), { maxLength: 3 }), fc.array(fc.oneof(transform, value), { maxLength: 3 }), (counters, transforms) => {
    const document = [{ name: 'demo', type: 'http', allow: [rule], transforms, budgets: { counters } }];
    const { policy, problems } = readPolicyValue(document);
    const [capability] = policy?.document.capabilities ?? [];
    const whole = capability?.counters.length === counters.length && capability.transforms.length === transforms.length;
    // The same as text, each with a place. Without places, one name that is unknown twice in an expression is one problem.
    const asText = readPolicyText(JSON.stringify(document));
    const same = JSON.stringify(namesOf(asText.problems)) === JSON.stringify(namesOf(problems));
    return (problems.length === 0) === (policy !== undefined) && (policy === undefined || whole) && same && asText.problems.every(({ line, column }) => line === 1 && (column ?? 0) > 0);
  }), { numRuns: 1500 });
});

function unfrozen(node: unknown, path: string, seen: Set<unknown>): readonly string[] {
  if (typeof node !== 'object' || node === null || seen.has(node)) return [];
  seen.add(node);
  return [...(Object.isFrozen(node) ? [] : [path]), ...Object.entries(node).flatMap(([key, child]) => unfrozen(child, `${path}.${key}`, seen))];
}

t.test('what is read is deeply frozen', async (t) => {
  const counters = readPolicyText(countersWith(headersOnly, `${single.replace('tokens', 'document')}failure_charge: 5`, `${sse.replace('tokens', 'cel')}terminal_cel: event.done == true`, `${sse.replace('tokens', 'sentinel')}terminal_sentinel: x`)).policy?.document.capabilities[0]?.counters;
  const transforms = readPolicyText(transformsWith(
    'applies_to: [typed]\nrequires_body: true\nheader: {name: x-a, action: set, value: request.body.model}', 'query: {action: remove, key: a}', `path: {action: prefix, value: '"/a"'}`,
    `applies_to: [untyped]\nbody: {action: merge, value: '{"a": 1}'}`, 'auth: {credential: a, provider: github}',
  )).policy?.document.capabilities[0]?.transforms;
  t.equal(counters?.length, 4);
  t.equal(transforms?.length, 5);
  t.strictSame(unfrozen(counters, 'counters', new Set()), []);
  t.strictSame(unfrozen(transforms, 'transforms', new Set()), []);
});
