import fc from 'fast-check';
import t from 'tap';
import { stringify } from 'yaml';
import { readPolicyText, readPolicyValue } from '../../src/policy/read-policy.ts';

const words = [
  'name', 'type', 'allow', 'transforms', 'budgets', 'counters', 'domains', 'methods', 'paths', 'allow_insecure', 'match', 'expr', 'requires_body', 'request_format', 'request_schema', 'direction', 'applies_to',
  'header', 'path', 'query', 'body', 'auth', 'action', 'value', 'key', 'pattern', 'credential', 'provider', 'source', 'framing', 'format', 'encoding', 'sse_event', 'status_codes', 'accumulator',
  'reserve_per_request', 'failure_charge', 'max_concurrent', 'workspace', 'task', 'max', 'ttl', 'terminal_event_type', 'terminal_sentinel', 'terminal_cel', '$ref', '$defs', 'properties', '__proto__', 'constructor',
] as const;
const texts = [
  'http', 'demo', 'GET', 'POST', 'api.example.com', '*.example.com', '[::1]:8443', '10.0.0.1', '/v1/**', 'application/json', 'set', 'add', 'remove', 'replace', 'prefix', 'merge', '"identity"', 'identity', 'Accept-Encoding',
  'request.body.a', 'request.method == "GET"', 'secrets["a"]', 'event.n', 'response.body.n', '{"a": 1}', 'true', '(', 'sse', 'single_document', 'response', 'response.bytes', 'request.count', 'sum', 'max', '2xx', '200-299', '1h', '0s', 'github', '#/$defs/a', '', ' ', '\u0000', '\ud800',
] as const;

const scalar = fc.oneof(fc.constantFrom(...texts), fc.string({ maxLength: 12 }), fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.constantFrom(-1, 0, 2 ** 53, 1e308));
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 6, depthSize: 'medium' }, scalar, fc.array(tie('tree'), { maxLength: 4 }), fc.dictionary(fc.constantFrom(...words), tie('tree'), { maxKeys: 6 })),
}));

/** A document whose outline is right, so that the checks deep inside are reached, with anything at each place. */
const any = { capability: tree, rule: tree, transform: tree, counter: tree };
const field = <T>(right: fc.Arbitrary<T>, wrong: fc.Arbitrary<unknown>) => fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: wrong });
const expression = fc.constantFrom('request.body.a', 'request.method', 'request.method == "GET"', 'secrets["a"]', '"identity"', '{"a": 1}', 'event.n', 'response.body.n', 'response.size', 'has(event.a)', 'request.body.a == 1', '[', '1');
const schema = fc.oneof(fc.constant({ type: 'object', properties: { a: { type: 'string' } } }), fc.constant({ $ref: '#' }), fc.constant('{"type": "object"}'), tree);
const rule = fc.record({
  name: field(fc.constantFrom('one', 'two'), any.rule), domains: field(fc.constant(['api.example.com']), any.rule), methods: field(fc.constantFrom(['GET'], ['POST', 'GET']), any.rule), paths: field(fc.constant(['/a/**']), any.rule),
  match: field(fc.record({ expr: expression, requires_body: fc.boolean() }), any.rule), request_format: field(fc.constantFrom('', 'application/json'), any.rule), request_schema: field(schema, any.rule),
}, { requiredKeys: ['domains', 'methods'] });
const variant = fc.record({ name: fc.constantFrom('x-a', 'accept-encoding'), action: fc.constantFrom('set', 'add', 'remove', 'replace', 'prefix', 'merge'), key: fc.constant('a'), pattern: fc.constantFrom('^/a', '('), value: expression }, { requiredKeys: ['action'] });
const transform = fc.record({
  applies_to: field(fc.subarray(['one', 'two', 'three']), any.transform), requires_body: fc.boolean(), header: field(variant, any.transform), path: field(variant, any.transform), query: field(variant, any.transform), body: field(variant, any.transform), auth: field(fc.constant({ credential: 'a', provider: 'github' }), any.transform),
}, { requiredKeys: [] });
const scope = fc.record({ max: fc.integer({ min: -1, max: 9 }), ttl: fc.constantFrom('', '1h', '2h', 'x') }, { requiredKeys: [] });
const counter = fc.record({
  name: field(fc.constantFrom('a', 'b'), any.counter), source: field(fc.constantFrom('request.count', 'request.bytes', 'response.bytes', 'response'), any.counter), value: field(expression, any.counter), requires_body: fc.boolean(), framing: fc.constantFrom('', 'sse', 'single_document'),
  format: fc.constantFrom('', 'application/json'), encoding: fc.constantFrom('', 'identity'), status_codes: field(fc.constantFrom(['200'], ['2xx', '300-399']), any.counter), accumulator: fc.constantFrom('max', 'sum', 'last'), failure_charge: fc.integer({ min: -1, max: 9 }), workspace: field(scope, any.counter), task: field(scope, any.counter),
  terminal_event_type: fc.constant('done'), terminal_cel: expression, sse_event: fc.constant('a'), max_concurrent: fc.integer({ min: -1, max: 3 }),
}, { requiredKeys: ['name', 'source'] });
const capability = fc.record({
  name: field(fc.constantFrom('a', 'b', 'c'), any.capability), type: field(fc.constant('http'), any.capability), allow: field(fc.array(rule, { maxLength: 3 }), any.capability), transforms: field(fc.array(transform, { maxLength: 3 }), any.capability), budgets: field(fc.record({ counters: fc.array(counter, { maxLength: 3 }) }), any.capability),
}, { requiredKeys: ['name', 'type', 'allow'] });
const document = fc.oneof({ weight: 3, arbitrary: fc.array(capability, { maxLength: 3 }) }, { weight: 1, arbitrary: tree });

t.test('random documents: a policy or problems, never an exception, and the same for text and value', async (t) => {
  let valid = 0;
  fc.assert(fc.property(document, (value) => {
    const fromValue = readPolicyValue(value);
    const { policy, problems } = fromValue;
    if ((policy === undefined) !== (problems.length > 0)) throw new Error('neither a policy nor problems');
    if (policy !== undefined) valid += 1;
    const json: string | undefined = JSON.stringify(value);
    if (json === undefined || /[0-9]{16}|[0-9]e|\.[0-9]|-0|null/.test(json)) return;
    const fromText = readPolicyText(json);
    const slugs = (report: typeof fromValue) => report.problems.map((problem) => `${problem.path} ${problem.slug}`).sort().join('\n');
    if (!/\\u|[\u0000-\u001f\ud800-\udfff]/.test(json) && slugs(fromText) !== slugs(fromValue)) throw new Error(`text and value differ:\n${slugs(fromText)}\n--\n${slugs(fromValue)}`);
  }), { numRuns: 3_000 });
  t.ok(valid > 0, `3,000 documents, ${valid} of them valid`);
});

t.test('random documents as block YAML', async (t) => {
  fc.assert(fc.property(document, (value) => {
    const { policy, problems } = readPolicyText(stringify(value, { aliasDuplicateObjects: false }) ?? '');
    if ((policy === undefined) !== (problems.length > 0)) throw new Error('neither a policy nor problems');
  }), { numRuns: 500 });
  t.pass('500 documents');
});

t.test('random texts', async (t) => {
  const piece = fc.oneof(fc.constantFrom('- ', ': ', '\n', '  ', '{', '}', '[', ']', '"', "'", '|\n', '>-\n', '&a ', '*a', '!!str ', '# ', '---\n', '%YAML 1.1\n', '\t', '\r\n', '\ufeff', ...words, ...texts), fc.string({ maxLength: 5 }));
  fc.assert(fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
    const { policy, problems } = readPolicyText(pieces.join(''));
    if ((policy === undefined) !== (problems.length > 0)) throw new Error('neither a policy nor problems');
    if (problems.some(({ line, column, slug }) => slug !== 'too_many_problems' && (line === undefined || column === undefined))) throw new Error('a problem without a place');
  }), { numRuns: 5_000 });
  t.pass('5,000 texts');
});
