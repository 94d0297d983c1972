import t from 'tap';
import { authProviderSlugs } from '../../../src/kernel/auth-providers.ts';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { transformsWith } from '../contract/support/documents.ts';
import { checkMarked } from './support/marked.ts';

const remove = 'header: {name: x-a, action: remove}';
const rules = (list: string) => `- name: demo\n  type: http\n  allow: ${list}\n  transforms:\n`;

t.test('applies_to', async (t) => {
  checkMarked(t, 'each unknown name, with a suggestion', transformsWith(`applies_to: [‹applies_to_unknown|did you mean typed?›type, plain, ‹applies_to_unknown›nothing-like-it]\n${remove}`));
  checkMarked(t, 'wrong types, each', transformsWith(`applies_to: [‹wrong_type›1, plain, ‹wrong_type›null]\n${remove}`));
  checkMarked(t, 'a text', transformsWith(`applies_to: ‹wrong_type|must be a list›plain\n${remove}`));
  const many = [...'abcdefghijklmopqrstuvwxyz'].map((letter) => `plai${letter}`);
  const { problems } = readPolicyText(transformsWith(`applies_to: [${many.join(', ')}]\n${remove}`));
  t.equal(problems.length, 25, 'all are reported');
  t.equal(problems.filter(({ hint }) => hint === 'did you mean plain?').length, 20, 'suggestions are bounded: each costs a comparison with every name');
});

t.test('one mistake is one problem', async (t) => {
  const body = `body: {action: merge, value: '{"a": 1}'}`;
  checkMarked(t, 'applies_to that cannot be read does not mean all rules', transformsWith(`applies_to: ‹wrong_type›untyped\n${body}`));
  checkMarked(t, 'nor does one of wrong entries', transformsWith(`applies_to: [‹wrong_type›5]\n${body}`));
  checkMarked(t, 'nor one of unknown names', transformsWith(`applies_to: [‹applies_to_unknown›untipe]\n${body}`));
  checkMarked(t, 'a rule with a problem of its own keeps its name', `${rules('[{name: one, domains: [api.example.com], methods: [‹invalid_enum›GOT]}]')}    - applies_to: [one]\n      ${body}\n`);
  checkMarked(t, 'and what it would make of request.body stays open', `${rules('[{name: one, domains: [‹domain_too_few_labels›example], methods: [POST]}]')}    - requires_body: true\n      header: {name: x-a, action: set, value: request.body.model}\n`);
  checkMarked(t, 'requires_body of another type', transformsWith(`applies_to: [untyped]\nrequires_body: ‹wrong_type›"yes"\nheader: {name: x-a, action: set, value: request.body.model}`));
  checkMarked(t, 'requires_body of another type on auth', transformsWith('requires_body: ‹wrong_type›1\nauth: {credential: a, provider: github}'));
  checkMarked(t, 'a value that has to go', transformsWith('header: {name: x-a, action: remove, ‹value_not_allowed›value: nope +}'));
  checkMarked(t, 'a pattern that has to go', transformsWith(`path: {action: prefix, ‹pattern_not_allowed›pattern: "(", value: '"/v1"'}`));
  checkMarked(t, 'a variant of another type', transformsWith('auth: ‹wrong_type›github'));
  checkMarked(t, 'an unknown action', transformsWith(`header: {name: x-a, action: ‹invalid_enum|did you mean set?›sett, value: '"a"'}`));
});

t.test('all that is wrong at once', async (t) => {
  checkMarked(t, 'in a transform', transformsWith(`name: ‹invalid_identifier›a b\ndirection: ‹transform_direction_response›response\napplies_to: [‹applies_to_unknown›x]\n‹unknown_field|did you mean requires_body?›require_body: true\nheader: {name: ‹header_name_invalid›x a, action: ‹invalid_enum›put, value: ‹undeclared_reference›nope}`));
  checkMarked(t, 'in each of two variants', transformsWith(`‹transform_many_variants|header and auth›header: {name: ‹header_name_invalid›"", action: remove}\nauth: {credential: ‹invalid_identifier›"", provider: ‹unknown_provider|did you mean github?›gitub}`));
  checkMarked(t, 'in a path', transformsWith(`path: {action: replace, pattern: ‹invalid_regex|look-around›"(?=a)", value: "‹undeclared_reference|access logs›secrets['k']"}`));
  checkMarked(t, 'in an empty variant', transformsWith('query: ‹missing_field|action›‹missing_field|key›{}'));
});

t.test('a text without quotes of its own', async (t) => {
  checkMarked(t, 'a word', transformsWith(`header: {name: x-a, action: set, value: ‹undeclared_reference|'"identity"'›identity}`));
  checkMarked(t, 'a name of the phase gets no such advice', transformsWith('header: {name: x-a, action: set, value: "‹undeclared_reference|undeclared reference: request.bdoy›request.bdoy"}'));
});

t.test('request.body is typed by the schema of each rule', async (t) => {
  const two = rules('[{name: text, domains: [a.example.com], methods: [POST], request_format: application/json, request_schema: {type: object, properties: {n: {type: string}}}}, {name: number, domains: [b.example.com], methods: [POST], request_format: application/json, request_schema: {type: object, properties: {n: {type: integer}}}}]');
  const header = (value: string, more = '') => `${two}    - requires_body: true\n      ${more}header: {name: x-a, action: set, value: ${value}}\n`;
  checkMarked(t, 'right for one of them', header('request.body.n', 'applies_to: [text]\n      '));
  checkMarked(t, 'right for both', header('string(request.body.n)'));
  const { problems } = readPolicyText(header('request.body.n'));
  t.equal(problems.length, 1, 'wrong for the other');
  t.match(problems, [{ slug: 'cel_result_type', message: /int/, path: 'capabilities[0].transforms[0].header.value' }]);

  const { policy } = readPolicyText(header('string(request.body.n)'));
  const variant = policy?.document.capabilities[0]?.transforms[0]?.variant;
  const [text, number] = policy?.document.capabilities[0]?.allow ?? [];
  if (variant?.kind !== 'header' || variant.action === 'remove' || text === undefined || number === undefined) throw new Error('no header transform');
  t.not(variant.value(text), variant.value(number), 'a program for each');
  t.equal(variant.value(text).usesRequestBody, true);
});

t.test('an expression that reads no body is one program for all rules', async (t) => {
  const { policy } = readPolicyText(transformsWith(`applies_to: [typed, untyped]\nrequires_body: true\nheader: {name: x-a, action: set, value: request.method}`));
  const [capability] = policy?.document.capabilities ?? [];
  const variant = capability?.transforms[0]?.variant;
  if (variant?.kind !== 'header' || variant.action === 'remove') throw new Error('no header transform');
  const [first, second] = (capability?.allow ?? []).map((rule) => variant.value(rule));
  t.equal(first, second);
  t.equal(first?.usesRequestBody, false);
});

t.test('a rule that the transform does not apply to has no value', async (t) => {
  const { policy } = readPolicyText(transformsWith('applies_to: [typed]\nrequires_body: true\nheader: {name: x-a, action: set, value: request.body.model}'));
  const [capability] = policy?.document.capabilities ?? [];
  const variant = capability?.transforms[0]?.variant;
  const [typed, untyped] = capability?.allow ?? [];
  if (variant?.kind !== 'header' || variant.action === 'remove' || typed === undefined || untyped === undefined) throw new Error('no header transform');
  t.equal(variant.value(typed).usesRequestBody, true);
  t.throws(() => variant.value(untyped), { message: 'the transform does not apply to rule untyped' });
});

t.test('schemas times transforms are bounded', async (t) => {
  const schemas = Array.from({ length: 60 }, (_, index) => `{domains: [a.example.com], methods: [POST], request_format: application/json, request_schema: {type: object, properties: {n${index}: {type: string}}}}`);
  const text = (transforms: number) => `${rules(`[${schemas.join(', ')}]`)}${`    - {requires_body: true, header: {name: x-a, action: set, value: "${'string(request.body.n) + '.repeat(20)}''"}}\n`.repeat(transforms)}`;
  t.strictSame(readPolicyText(text(8)).problems, []);
  const { problems } = readPolicyText(text(12));
  t.strictSame(problems.map(({ slug, path }) => `${slug} ${path}`), [9, 10, 11].map((index) => `cel_too_complex capabilities[0].transforms[${index}].header.value`), 'each that is beyond');
  t.match(problems[0], { message: /too many schemas/, hint: /same schema/ });
});

t.test('headers', async (t) => {
  for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'X-Capability-Token', 'proxy-authorization', 'TE', 'expect']) {
    checkMarked(t, name, transformsWith(`header: {name: ‹!header_managed_by_proxy|${name}›${name}, action: remove}`));
  }
  checkMarked(t, 'a long token', transformsWith(`header: {name: x-${'a'.repeat(500)}, action: remove}`));
  for (const name of ['"x:"', '"x a"', '"x\\n"', '"x(y)"', 'é', '"[x]"', '"{x}"', '"x,y"', '"x/y"', '"x@y"']) checkMarked(t, name, transformsWith(`header: {name: ‹header_name_invalid›${name}, action: remove}`));
});

t.test('auth', async (t) => {
  for (const provider of authProviderSlugs) checkMarked(t, provider, transformsWith(`auth: {credential: main, provider: ${provider}}`));
  checkMarked(t, 'capitals', transformsWith('auth: {credential: main, provider: ‹unknown_provider|did you mean github?›GitHub}'));
  checkMarked(t, 'nothing like it', transformsWith('auth: {credential: main, provider: ‹unknown_provider|known providers: google›internal-sso-service}'));
  for (const name of ['constructor', '__proto__', 'toString']) checkMarked(t, name, transformsWith(`auth: {credential: main, provider: ‹unknown_provider›${name}}`));
  checkMarked(t, 'any printable name', transformsWith('auth: {credential: "Main account (EU) – Büro", provider: github}'));
  for (const name of ['""', '"a\\nb"', '"\\x00"', '"\\u0085"', `"${'a'.repeat(257)}"`]) checkMarked(t, name.slice(0, 20), transformsWith(`auth: {credential: ‹invalid_identifier›${name}, provider: github}`));
});

t.test('transforms as they are read', async (t) => {
  const { policy } = readPolicyText(transformsWith(
    `name: first\nheader: {name: X-A, action: add, value: '"a"'}`,
    'applies_to: [plain, typed]\npath: {action: replace, pattern: "^/v1", value: request.host}',
    `path: {action: prefix, value: '"/p"'}`,
    'query: {action: remove, key: a b}',
    `applies_to: [untyped]\nrequires_body: false\nbody: {action: prefix, key: system, value: '"be kind. "'}`,
    'auth: {credential: main, provider: zendesk}',
  ));
  t.match(policy?.document.capabilities[0]?.transforms, [
    { capability: 'demo', name: 'first', id: 'first', index: 0, appliesTo: [], requiresBody: false, variant: { kind: 'header', name: 'X-A', action: 'add' } },
    { name: undefined, id: 'transform[1]', index: 1, appliesTo: ['plain', 'typed'], variant: { kind: 'path', action: 'replace', pattern: '^/v1' } },
    { id: 'transform[2]', variant: { kind: 'path', action: 'prefix' } },
    { variant: { kind: 'query', action: 'remove', key: 'a b' } },
    { requiresBody: true, variant: { kind: 'body', action: 'prefix', key: 'system' } },
    { requiresBody: false, variant: { kind: 'auth', credential: 'main', provider: 'zendesk' } },
  ]);
});
