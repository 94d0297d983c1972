import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { runCases } from '../../../src/cli/caps/cases/cases.ts';
import { readCases } from '../../../src/cli/caps/cases/read-cases.ts';
import { judge } from '../../../src/cli/caps/explain/judge.ts';
import { UsageError } from '../../../src/cli/caps/usage.ts';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { runCli } from '../../support/up.ts';

const screen = { write: () => true };
const examples = join(import.meta.dirname, '../../../examples/caps');
const dir = await mkdtemp(join(tmpdir(), 'customhouse-cases-'));
t.teardown(() => rm(dir, { recursive: true, force: true }));

const policyText = `
- name: notes
  type: http
  allow:
    - {name: read, domains: [notes.example.com], methods: [GET]}
    - {name: write, domains: [notes.example.com], methods: [POST], paths: [/notes], request_format: application/json, request_schema: {type: object, required: [text]}}
    - {domains: [other.example.com], methods: [GET]}
  transforms:
    - {name: key, auth: {credential: notes-key, provider: github}}
    - {name: quiet, applies_to: [write], body: {action: merge, value: '{"notify": false}'}}
    - {name: mark, header: {name: x-mark, action: add, value: '"b"'}}
    - {name: late, applies_to: [write], body: {action: prefix, key: title, value: '"x"'}}
  budgets: {counters: [{name: calls, source: request.count, task: {max: 5}}, {name: bytes, source: request.bytes, task: {max: 500}}]}
`;
const policy = join(dir, 'notes.yaml');
await writeFile(policy, policyText);

type Report = {
  problems: { file: string; slug: string; line: number; column: number; path: string }[];
  passed: number; failed: number;
  cases: { name: string; passed: boolean; line: number; differences: { what: string; expected: string; got: string }[]; because?: string[] }[];
  coverage: { rules: number; reached: number; unreached: { rule: string; line: number }[] } | null;
};

let tables = 0;
async function table(text: string): Promise<string> {
  tables += 1;
  const file = join(dir, `table-${tables}.yaml`);
  await writeFile(file, text);
  return file;
}

async function run(text: string): Promise<{ code: number; report: Report }> {
  const { code, output } = await runCases(policy, await table(text), { format: 'json' }, { screen });
  return { code, report: JSON.parse(output) as Report };
}

const get = (expect: string, more = ''): string => `- name: one\n  request: {method: GET, url: https://notes.example.com/a?b=c${more}}\n  expect: ${expect}\n`;
const post = (expect: string, more = ''): string => `- name: one\n  request: {method: POST, url: https://notes.example.com/notes, headers: {content-type: application/json}, json: {text: hi}${more}}\n  expect: ${expect}\n`;

t.test('each example passes its table, and every rule is reached', async (t) => {
  for (const file of (await readdir(examples)).filter((name) => name.endsWith('.cases.yaml'))) {
    const { code, output } = await runCases(join(examples, file.replace('.cases', '')), join(examples, file), { format: 'human' }, { screen });
    t.equal(code, 0, file);
    t.match(output, /coverage: every rule is reached/);
  }
});

t.test('what is expected and comes passes; what is not named is not looked at', async (t) => {
  for (const text of [
    get('{decision: allow}'),
    get('{decision: allow, capability: notes, rule: read}'),
    get('{decision: allow, sent: {path: /a, query: b=c, headers: {Authorization: Bearer «credential:notes-key», X-Mark: [a, b], cookie: null}}}', ', headers: {x-mark: a}'),
    get('{decision: allow, transforms_failed: {}, counters: {calls: 1, bytes: 0}}'),
    get('{decision: allow, sent: {query: ""}}').replace('?b=c', ''),
    post('{decision: allow, sent: {json: {notify: false, text: hi}}, transforms_failed: {late: type_mismatch}, counters: {bytes: 13}}'),
    post('{decision: allow, sent: {body: \'{"text":"hi","notify":false}\'}}'),
    post('{decision: deny, reason: schema_violation, check: request_schema}').replace('text: hi', 'txt: hi'),
    '- name: one\n  request: {method: GET, url: https://notes.example.com/a/../b}\n  expect: {decision: deny, reason: no_match, refused: path_dot_segment}\n',
    '- name: one\n  request: {method: GET, url: https://other.example.com}\n  expect: {decision: allow, rule: "allow[2]"}\n',
  ]) {
    const { code, report } = await run(text);
    t.same({ code, differences: report.cases[0]?.differences }, { code: 0, differences: [] }, text);
  }
});

t.test('what is otherwise fails, with both sides', async (t) => {
  for (const [text, what, expected, got] of [
    [get('{decision: deny, reason: no_match}'), 'decision', 'deny no_match', 'allow notes / read'],
    [post('{decision: allow, rule: write}').replace('text: hi', 'txt: hi'), 'decision', 'allow write', 'deny schema_violation'],
    [post('{decision: deny, reason: no_match}').replace('text: hi', 'txt: hi'), 'reason', 'no_match', 'schema_violation'],
    [post('{decision: deny, check: method}').replace('text: hi', 'txt: hi'), 'check', 'method', 'request_schema'],
    [post('{decision: deny, refused: path_nul}').replace('text: hi', 'txt: hi'), 'refused', 'path_nul', '(none)'],
    [get('{decision: allow, capability: other}'), 'capability', 'other', 'notes'],
    [get('{decision: allow, rule: write}'), 'rule', 'write', 'read'],
    [get('{decision: allow, sent: {path: /b}}'), 'sent.path', '/b', '/a'],
    [get('{decision: allow, sent: {query: ""}}'), 'sent.query', '', 'b=c'],
    [get('{decision: allow, sent: {headers: {authorization: null}}}'), 'sent.headers.authorization', '(none)', 'Bearer «credential:notes-key»'],
    [get('{decision: allow, sent: {headers: {x-mark: [b, b]}}}'), 'sent.headers.x-mark', '["b","b"]', 'b'],
    [get('{decision: allow, sent: {body: x}}'), 'sent.body', 'x', '(none)'],
    [post('{decision: allow, sent: {json: {text: hi}}}'), 'sent.json', '{"text":"hi"}', '{"text":"hi","notify":false}'],
    [post('{decision: allow, transforms_failed: {}}'), 'transforms_failed.late', '(none)', 'type_mismatch'],
    [get('{decision: allow, transforms_failed: {key: auth_unavailable}}'), 'transforms_failed.key', 'auth_unavailable', '(none)'],
    [get('{decision: allow, counters: {calls: 2}}'), 'counters.calls', '2', '1'],
    [get('{decision: allow, counters: {others: 1}}'), 'counters.others', '1', '(none)'],
  ] as const) {
    const { code, report } = await run(text);
    t.same({ code, differences: report.cases[0]?.differences }, { code: 1, differences: [{ what, expected, got }] }, text);
  }
});

t.test('a failed case says why the rule that was meant did not admit it', async (t) => {
  const meant = await run(post('{decision: allow, rule: write}').replace('/notes,', '/other,'));
  t.same(meant.report.cases[0]?.because, ['notes / write: path: /other does not match /notes']);
  const foreign = await run(get('{decision: allow}').replace('notes.example.com', 'no.example.com'));
  t.same(foreign.report.cases[0]?.because, ['no rule is for the host no.example.com']);
});

t.test('workspace, task and body reach the policy', async (t) => {
  const file = join(dir, 'who.yaml');
  await writeFile(file, `
- name: a
  type: http
  allow:
    - {name: r, domains: [a.example.com], methods: [GET], match: {expr: 'workspace.id == "w" && workspace.org_id == "o" && workspace.role == "r" && workspace.environment == "e" && task.id == "t"'}}
    - {name: b, domains: [b.example.com], methods: [POST], request_format: application/json, match: {requires_body: true, expr: 'string(request.body.n) == "9007199254740991"'}}
`);
  const text = `
- name: who
  request: {method: GET, url: https://a.example.com/, workspace: {id: w, org_id: o, role: r, environment: e}, task: t}
  expect: {decision: allow, rule: r}
- name: nobody
  request: {method: GET, url: https://a.example.com/}
  expect: {decision: deny, check: match}
- name: digits
  request: {method: POST, url: https://b.example.com/, headers: {content-type: application/json}, json: {n: 9007199254740991}}
  expect: {decision: allow, rule: b, sent: {headers: {content-type: application/json}}}
`;
  const { code, output } = await runCases(file, await table(text), { format: 'json' }, { screen });
  t.equal(code, 0, output);
  const { cases } = readCases('- {name: a, request: {method: PUT, url: https://a.b/, json: {n: 12345678901234567890, m: 1.50}}, expect: {decision: deny}}');
  t.equal(Buffer.from(cases[0]?.request.body ?? []).toString(), '{"n":12345678901234567890,"m":1.5}', 'integers keep all digits');
});

t.test('what is decided is what every rule by itself says', async (t) => {
  for (const file of (await readdir(examples)).filter((name) => name.endsWith('.cases.yaml'))) {
    const { policy: compiled } = readPolicyText(await readFile(join(examples, file.replace('.cases', '')), 'utf8'));
    if (compiled === undefined) throw new Error(file);
    for (const { name, request } of readCases(await readFile(join(examples, file), 'utf8')).cases) {
      const judgement = await judge(compiled, request);
      if (judgement.decision === 'refused') continue;
      t.equal(judgement.evaluation.length, compiled.rules.length);
      t.equal(judgement.evaluation.find(({ failed }) => failed === undefined)?.rule, judgement.decision === 'allow' ? judgement.rule : undefined, `${file}: ${name}`);
    }
  }
});

t.test('with problems in the table nothing is run', async (t) => {
  const text = get('{decision: allow}').replace('request:', 'requst:');
  const { code, report } = await run(text);
  t.equal(code, 1);
  t.match(report, { problems: [{ slug: 'missing_field' }, { slug: 'unknown_field', line: 2, column: 3, path: 'cases[0].requst' }], passed: 0, failed: 0, cases: [], coverage: null });
  const { output } = await runCases(policy, await table(text), { format: 'human' }, { screen });
  t.match(output, /table-\d+\.yaml:2:3: cases\[0\]\.requst: a case has no field "requst" \[unknown_field\]\n {4}2 \| {3}requst: .*\n.*\^\n.*did you mean request\?/);
  t.match(output, /2 problems\nno case was run\n$/);
});

t.test('rules that no case reaches are named; for people with the sum', async (t) => {
  const text = `${get('{decision: allow}')}- name: two\n  request: {method: PUT, url: https://notes.example.com/}\n  expect: {decision: allow}\n`;
  const { report } = await run(text);
  t.match(report, { passed: 1, failed: 1, coverage: { rules: 3, reached: 1 } });
  t.same(report.coverage?.unreached.map(({ rule, line }) => [rule, line]), [['write', 6], ['allow[2]', 7]]);
  const { output, code } = await runCases(policy, await table(text), { format: 'human' }, { screen });
  t.equal(code, 1);
  t.match(output, /^✓ one\n✗ two {2}.*table-\d+\.yaml:4\n {4}decision\n {6}expected {2}allow\n {6}got {7}deny no_match\n/);
  t.match(output, /coverage: 1 of 3 rules reached; no case is admitted by notes \/ write, notes \/ allow\[2\]\n.*: 1 failed, 1 passed\n$/);
});

t.test('problems of the policy, unreadable files, exit codes', async (t) => {
  const good = await table(get('{decision: allow}'));
  const bad = await table('- name: a\n  typ: http\n');
  const { code, output } = await runCases(bad, good, { format: 'human' }, { screen });
  t.equal(code, 1);
  t.match(output, /did you mean type\?[\s\S]*no case was run/);
  await t.rejects(runCases('-', '-', { format: 'human' }, { screen }), UsageError);
  await t.rejects(runCases(policy, join(dir, 'nowhere'), { format: 'human' }, { screen }), UsageError);
  await writeFile(join(dir, 'latin1.yaml'), Buffer.from([0x2d, 0x20, 0xe9]));
  await t.rejects(runCases(policy, join(dir, 'latin1.yaml'), { format: 'human' }, { screen }), { message: /not UTF-8 text \(byte 3\)/ });

  t.match(await runCli(['caps', 'test', policy, good]), { code: 0, stdout: /1 case passed/ });
  t.match(await runCli(['caps', 'test', policy, '-', '--format', 'json'], {}, get('{decision: deny}')), { code: 1, stdout: /"failed": 1/ });
  t.match(await runCli(['caps', 'test', policy]), { code: 2, stderr: /cases/ });
  t.match(await runCli(['caps', 'test', policy, join(dir, 'nowhere')]), { code: 2, stderr: /no such file/ });
});
