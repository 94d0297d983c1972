import fc from 'fast-check';
import t from 'tap';
import { denyReasons } from '../../../src/cli/caps/cases/case-model.ts';
import { readCases } from '../../../src/cli/caps/cases/read-cases.ts';
import { judge } from '../../../src/cli/caps/explain/judge.ts';
import { denyReasons as contractReasons } from '../../../src/events/enumerations.ts';
import { readPolicyText } from '../../../src/policy/read-policy.ts';

t.test('everything wrong with a table is told at once, with its place', async (t) => {
  const text = `- name: one
  requst: {}
  request: {method: post, url: /a, headers: {a b: c, x: 5}, body: x, json: 1, workspace: {rol: x}, taks: t}
  expect: {decision: allow, reason: no_match, sent: {header: {}, headers: {x: 1}}, counters: {a: -1}}
- name: one
  request: {method: GET, url: https://a.example.com/#x}
  expect: {decision: deny, reason: nomatch, check: pth, transforms_failed: {}}
- name: three
  request: {method: GET, url: https://a.example.com/}
  expect: {decision: allow, transforms_failed: {a: boom}}
- name: four
`;
  t.same(readCases(text).problems.map(({ slug, path, line, column }) => `${path} ${slug} ${line}:${column}`), [
    'cases[0].requst unknown_field 2:3',
    'cases[0].request.method invalid_enum 3:21',
    'cases[0].request.url domain_syntax 3:32',
    'cases[0].request.headers["a b"] header_name_invalid 3:46',
    'cases[0].request.headers.x wrong_type 3:57',
    'cases[0].request.body unknown_field 3:61',
    'cases[0].request.workspace.rol unknown_field 3:91',
    'cases[0].request.taks unknown_field 3:100',
    'cases[0].expect.reason unknown_field 4:29',
    'cases[0].expect.sent.header unknown_field 4:54',
    'cases[0].expect.sent.headers.x wrong_type 4:79',
    'cases[0].expect.counters.a wrong_type 4:98',
    'cases[1].name duplicate_name 5:9',
    'cases[1].request.url domain_syntax 6:31',
    'cases[1].expect.reason invalid_enum 7:36',
    'cases[1].expect.check invalid_enum 7:52',
    'cases[1].expect.transforms_failed unknown_field 7:57',
    'cases[2].expect.transforms_failed.a invalid_enum 10:52',
    'cases[3] missing_field 11:3',
    'cases[3] missing_field 11:3',
  ]);
});

t.test('texts that are no table', async (t) => {
  for (const [text, slug] of [['', 'document_not_list'], ['[]', 'empty_list'], ['a: b', 'wrong_type'], ['- [', 'yaml_syntax'], ['[]\n---\n[]', 'multiple_documents'], ['- name: a\n  name: b', 'duplicate_key'], [`- ${'['.repeat(200)}`, 'document_too_deep'], [`# ${'x'.repeat(300_000)}`, 'document_too_large']] as const) {
    const { problems } = readCases(text);
    t.ok(problems.some((problem) => problem.slug === slug && problem.path.startsWith('cases')), `${slug}: ${JSON.stringify(problems)}`);
    t.notMatch(JSON.stringify(problems), /capabilit(?!y document has)/, 'in the words of a table');
  }
});

const compiled = readPolicyText(`
- name: notes
  type: http
  allow:
    - {name: read, domains: [a.example.com], methods: [GET], paths: [/**], match: {expr: '!("x" in request.query)'}}
    - {name: write, domains: [a.example.com], methods: [POST], request_format: application/json, request_schema: {type: object}}
  transforms:
    - {header: {name: x-path, action: set, value: request.path}}
    - {path: {action: prefix, value: '"/v1"'}}
    - {query: {action: set, key: q, value: request.raw_query}}
    - {applies_to: [write], body: {action: merge, value: '{"a": 1}'}}
`).policy;
if (compiled === undefined) throw new Error('the policy has problems');

t.test('a random text is read or refused, never an exception', async (t) => {
  const value = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof({ depthSize: 'small' }, fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom('allow', 'deny', 'GET', 'https://a.example.com/'), fc.array(tie('node')), fc.dictionary(fc.constantFrom('name', 'request', 'expect', 'method', 'url', 'headers', 'json', 'decision', 'sent', 'counters', '__proto__', 'constructor'), tie('node'))),
  })).node;
  await fc.assert(fc.asyncProperty(fc.array(value), async (list) => {
    const { cases, problems } = readCases(JSON.stringify(list));
    if (problems.length === 0) for (const { request } of cases) await judge(compiled, request);
  }), { numRuns: 500 });
  t.pass('500 documents');
});

t.test('a case with any path, query, header or body is decided, never an exception', async (t) => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.webPath(), fc.webQueryParameters(), fc.constantFrom('%', '%zz', '%c0%af', '..', '/../', '//', 'é', 'x=1&x', '?x'));
  const seen = new Set<string>();
  await fc.assert(fc.asyncProperty(fc.constantFrom('GET', 'POST'), text, text, text, text, async (method, path, query, header, body) => {
    const { cases, problems } = readCases(JSON.stringify([{ name: 'a', request: { method, url: `https://a.example.com/${path}?${query}`, headers: { 'x-a': header, 'content-type': 'application/json' }, ...(method === 'GET' ? {} : { body }) }, expect: { decision: 'allow' } }]));
    for (const { request } of cases) if (problems.length === 0) seen.add((await judge(compiled, request)).decision);
  }), { numRuns: 1000 });
  t.same([...seen].sort(), ['allow', 'deny', 'refused'], 'all three ends are reached');
});

t.test('the reasons that can be expected are those that a policy can give', async (t) => {
  const notOfPolicies = ['no_scheme', 'no_token', 'invalid_token', 'workspace_not_activated', 'workspace_gone', 'no_policy', 'budget_exhausted', 'concurrency_exhausted', 'internal_error'];
  t.same(contractReasons.filter((reason) => !notOfPolicies.includes(reason)).sort(), [...denyReasons].sort());
});

