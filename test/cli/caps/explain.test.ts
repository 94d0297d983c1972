import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { ExplainOptions } from '../../../src/cli/caps/explain/explain.ts';
import { runExplain } from '../../../src/cli/caps/explain/explain.ts';
import { UsageError } from '../../../src/cli/caps/usage.ts';
import { runCli } from '../../support/up.ts';

const screen = { write: () => true };
const examples = join(import.meta.dirname, '../../../examples/caps');
const dir = await mkdtemp(join(tmpdir(), 'customhouse-explain-'));
t.teardown(() => rm(dir, { recursive: true, force: true }));

const example = (name: string): string => join(examples, `${name}.yaml`);

async function policyFile(name: string, text: string): Promise<string> {
  const file = join(dir, name);
  await writeFile(file, text);
  return file;
}

const explain = (file: string, options: Partial<ExplainOptions> & { readonly url: string }) => runExplain(file, { method: 'GET', format: 'json', ...options }, { screen });

type Explained = {
  decision: string; reason?: string; check?: string; refused?: string; capability?: string; rule?: string;
  evaluation: { capability: string; rule: string; passed: boolean; check?: string; message?: string; line: number }[];
  transforms: { name: string; result: string; before: string[]; after: string[] | null; target: object }[];
  counters: { name: string; at_admission: { effect: string; amount: number }; on_response: object | null; workspace: object | null; later?: string }[];
};

async function explained(file: string, options: Partial<ExplainOptions> & { readonly url: string }): Promise<Explained> {
  const { code, output } = await explain(file, options);
  if (code !== 0) throw new Error(output);
  return JSON.parse(output) as Explained;
}

const payment = '{"reference":"PO-000123","amount":{"value":4200,"currency":"EUR"},"beneficiary":{"account":"DE89370400440532013000"}}';
const json = ['content-type: application/json'];

t.test('an allowed request: every rule in try order, each transform with before and after, what is charged', async (t) => {
  const found = await explained(example('payments'), { method: 'POST', url: 'https://payments.example.com/v1/payments', header: [...json, 'Authorization: Bearer mine'], body: payment, workspace: ['id=w-1'], task: 't-1' });
  t.match(found, { decision: 'allow', capability: 'payments', rule: 'create', reason: undefined });
  t.same(found.evaluation.map(({ rule, passed, check }) => [rule, passed, check]), [['cancel', false, 'path'], ['create', true, undefined], ['read', false, 'method']]);
  t.ok(found.evaluation.every(({ line }) => line > 0));
  t.same(found.transforms.map(({ name, result, before, after }) => [name, result, before, after]), [
    ['key', 'applied', ['Bearer mine'], ['Bearer «secret:payments-key»']],
    ['once', 'applied', [], ['PO-000123']],
    ['trace', 'applied', [payment], [`${payment.slice(0, -1)},"memo":"workspace w-1, task t-1"}`]],
  ]);
  t.same(found.counters, [{ capability: 'payments', name: 'payments', source: 'request.count', at_admission: { effect: 'charged', amount: 1 }, on_response: null, max_concurrent: 0, workspace: { max: 200, ttl_ms: 86_400_000 }, task: { max: 5, ttl_ms: null } }]);
});

t.test('a denied request: the reason, the check of the rule that got furthest, no values of the body', async (t) => {
  const found = await explained(example('payments'), { method: 'POST', url: 'https://payments.example.com/v1/payments', header: json, body: payment.replace('4200', '-77123') });
  t.match(found, { decision: 'deny', reason: 'schema_violation', check: 'request_schema', transforms: [], counters: [] });
  t.match(found.evaluation.find(({ rule }) => rule === 'create'), { passed: false, violations: [{ path: '/amount/value', keyword: 'exclusiveMinimum' }] });
  t.notMatch(JSON.stringify(found), '77123');
  t.match(await explained(example('payments'), { url: 'https://payments.example.com/other' }), { decision: 'deny', reason: 'no_match', check: 'path' });
  t.match(await explained(example('payments'), { url: 'https://elsewhere.example.com/' }), { reason: 'no_match', check: 'domain' });
});

t.test('every check is said in words', async (t) => {
  const file = await policyFile('checks.yaml', `
- name: a
  type: http
  allow:
    - {name: host, domains: [x.example.com], methods: [GET]}
    - {name: ported, domains: ["api.example.com:8443"], methods: [GET]}
    - {name: method, domains: [api.example.com], methods: [PUT, DELETE]}
    - {name: path, domains: [api.example.com], methods: [POST], paths: [/b, /c/**]}
    - {name: match, domains: [api.example.com], methods: [POST], match: {expr: 'workspace.role == "lead"'}}
    - {name: error, domains: [api.example.com], methods: [POST], match: {expr: 'request.headers["x-none"] == "1"'}}
    - {name: format, domains: [api.example.com], methods: [POST], request_format: application/json, request_schema: {type: object}}
`);
  const messages = async (options: Partial<ExplainOptions> & { readonly url: string }) => new Map((await explained(file, { method: 'POST', ...options })).evaluation.map(({ rule, check, message }) => [rule, `${check}: ${message}`]));
  const posted = await messages({ url: 'https://api.example.com/a', body: 'x', header: ['content-type: text/plain'] });
  t.equal(posted.get('host'), 'domain: api.example.com is not x.example.com');
  t.match(posted.get('ported'), /^port: port 443 is not that of api\.example\.com:8443/);
  t.equal(posted.get('method'), 'method: POST is not one of PUT, DELETE');
  t.equal(posted.get('path'), 'path: /a does not match any of /b, /c/**');
  t.equal(posted.get('match'), 'match: match is false: workspace.role == "lead"');
  t.match(posted.get('error'), /^match_error: match cannot be evaluated/);
  t.equal(posted.get('format'), 'request_format: content-type is text/plain, the rule wants application/json in UTF-8');
  t.match((await messages({ url: 'https://api.example.com/a', body: '{', header: json })).get('format'), /^request_json: /);
  t.match((await messages({ url: 'https://api.example.com/a', body: '{}', header: [...json, 'content-encoding: gzip'] })).get('format'), /content-encoding gzip/);
  t.match((await messages({ url: 'https://api.example.com/a', body: '[]', header: json })).get('format'), /^request_schema: .*must be object/);
  t.match((await messages({ url: 'http://api.example.com/a' })).get('match'), /^scheme: plain http/);
});

t.test('the address reaches the policy as it is written', async (t) => {
  const url = 'https://API.github.com./repos/acme/x%2Fy?q=%41+b';
  const found = await explained(example('code-host'), { url });
  t.match(found, { decision: 'allow', rule: 'repositories' });
  for (const [path, refused] of [['/repos/acme/../x', 'path_dot_segment'], ['/repos/acme/%2e%2E/x', 'path_dot_segment'], ['/repos//acme', 'path_empty_segment'], ['/repos/acme/%00', 'path_nul'], ['/repos\\acme', 'target_backslash'], ['/a b', 'target_bytes']] as const) {
    t.match(await explained(example('code-host'), { url: `https://api.github.com${path}` }), { decision: 'deny', reason: 'no_match', refused, evaluation: [] }, path);
  }
  t.match(await explained(example('code-host'), { url: 'https://api.github.com/repos/acme/x', header: ['host: other.example.com'] }), { decision: 'deny', refused: 'host_mismatch' });
  t.match(await explained(example('code-host'), { url: 'https://api.github.com/repos/acme/x', body: 'x' }), { decision: 'deny', refused: 'body_on_bodyless_method' });
});

t.test('counters: what is charged, what is reserved, what the response decides', async (t) => {
  const { counters } = await explained(example('llm-cumulative'), { method: 'POST', url: 'https://api.anthropic.com/v1/messages', header: json, body: '{"model":"claude-haiku-4-5","max_tokens":10,"stream":true,"messages":[{}]}' });
  t.same(counters.map(({ name, at_admission: { effect, amount }, on_response }) => [name, effect, amount, on_response !== null]), [['requests', 'charged', 1, false], ['output-tokens', 'reserved', 8192, true], ['input-tokens', 'reserved', 0, true]]);
  t.match(counters[1], { on_response: { status_codes: ['200'], accumulator: 'max', failure_charge: 500 }, later: /at least 500/ });
  const push = { method: 'POST', url: 'https://github.com/acme/gears.git/git-upload-pack', body: 'é2' };
  t.match((await explained(example('code-host'), push)).counters[1], { name: 'pushed', at_admission: { effect: 'charged', amount: 3 } }, 'bytes, not characters');
  t.match((await explained(example('code-host'), { ...push, header: ['transfer-encoding: chunked'] })).counters[1], { at_admission: { amount: 0 }, later: /once they are sent/ });
});

t.test('amounts beyond 2^53 keep all digits', async (t) => {
  const file = await policyFile('large.yaml', '- name: a\n  type: http\n  allow: [{domains: [a.example.com], methods: [GET]}]\n  budgets: {counters: [{name: n, source: request.count, task: {max: 9223372036854775807}}]}\n');
  t.match((await explain(file, { url: 'https://a.example.com/' })).output, /"max": 9223372036854775807/);
});

t.test('transforms that fail: the value of contract 6.4, and what still changed', async (t) => {
  const file = await policyFile('failing.yaml', `
- name: a
  type: http
  allow: [{name: r, domains: [a.example.com], methods: [POST, OPTIONS], allow_insecure: true, request_format: application/json}]
  transforms:
    - {name: evaluated, header: {name: x-a, action: set, value: 'request.headers["x-none"]'}}
    - {name: managed, header: {name: Host, action: set, value: '"b"'}}
    - {name: dots, path: {action: prefix, value: '"/.."'}}
    - {name: absent, body: {action: merge, value: '{"a": 1}'}}
    - {name: token, auth: {credential: c, provider: github}}
`);
  const found = await explained(file, { method: 'POST', url: 'http://a.example.com/x', header: ['Authorization: mine'] });
  t.same(found.transforms.map(({ name, result }) => [name, result]), [['evaluated', 'eval_error'], ['managed', 'apply_error'], ['dots', 'apply_error'], ['absent', 'body_absent'], ['token', 'auth_unavailable']]);
  t.match(found.transforms[4], { before: ['mine'], after: [], target: { part: 'header', name: 'authorization' } }, 'the agent keeps no credential of its own');
  t.same(found.transforms[2]?.after, ['/x']);
});

t.test('a policy with problems: exit 1, and what validate would say', async (t) => {
  const file = await policyFile('bad.yaml', '- name: a\n  typ: http\n');
  const human = await explain(file, { url: 'https://a.example.com/', format: 'human' });
  t.equal(human.code, 1);
  t.match(human.output, /bad\.yaml:2:3: .*\[unknown_field\]\n.*\n.*\n +→ did you mean type\?/);
  const asJson = await explain(file, { url: 'https://a.example.com/' });
  const { valid, problems } = JSON.parse(asJson.output) as { valid: boolean; problems: { slug: string; line: number; column: number }[] };
  t.equal(asJson.code, 1);
  t.equal(valid, false);
  t.same(problems.map(({ slug, line, column }) => `${slug}@${line}:${column}`), ['missing_field@1:3', 'missing_field@1:3', 'unknown_field@2:3']);
});

t.test('wrong usage is told before anything is explained, and no secret is repeated', async (t) => {
  const file = example('payments');
  const url = 'https://payments.example.com/';
  for (const [options, message] of [
    [{ url, method: 'post' }, /did you mean POST/],
    [{ url: 'payments.example.com/' }, /must begin with http/],
    [{ url: 'https://user:pw@payments.example.com/' }, /user name or password/],
    [{ url: 'https://日本.example.com/' }, /xn--/],
    [{ url: 'https://0x7f.1/' }, /IPv4/],
    [{ url: `${url}#top` }, /fragment/],
    [{ url, header: ['no colon'] }, /NAME:VALUE/],
    [{ url, header: ['a b: c'] }, /not a header name/],
    [{ url, header: ['a: b\r\nc: d'] }, /no header can carry/],
    [{ url, header: ['Content-Length: 3'] }, /follows from the body/],
    [{ url, workspace: ['team=x'] }, /there is no team/],
    [{ url, workspace: ['__proto__=x'] }, /there is no __proto__/],
    [{ url, secret: ['hunter2'] }, /NAME=VALUE/],
    [{ url, body: `@${join(dir, 'nowhere')}` }, /no such file/],
    [{ url, body: '@-', secret: ['a=@-'] }, /read once only/],
  ] as const) {
    const error = await explain(file, options).then(() => undefined, (caught: unknown) => caught);
    t.ok(error instanceof UsageError, JSON.stringify(options));
    t.match((error as Error).message, message);
    t.notMatch((error as Error).message, 'hunter2');
  }
  t.test('a body beyond what the proxy would look into', async (t) => {
    await writeFile(join(dir, 'large'), Buffer.alloc(10 * 1_048_576 + 1, 97));
    await t.rejects(explain(file, { url, method: 'POST', body: `@${join(dir, 'large')}` }), { message: /more than 10485760 bytes/ });
  });
});

t.test('for people: the verdict, every rule, changes, counters; control characters do not reach the terminal', async (t) => {
  const { output } = await explain(example('code-host'), { url: 'https://api.github.com/search/issues?q=org:acme', format: 'human', header: ['sec-ch-ua-platform: Linux'] });
  t.match(output, /^allow by github-read \/ search/m);
  t.match(output, /✗ git \/ push {2}domain: api\.github\.com is not github\.com/);
  t.match(output, /no-platform .*\n {6}Linux → \(none\)/);
  t.match(output, /calls {2}request\.count {2}\+1 at once {2}\(workspace at most 4000 per 1h\)/);
  t.notMatch((await explain(example('code-host'), { url: 'https://api.github.com/\u001b[2J', format: 'human' })).output, '\u001b');
});

t.test('of a large policy, people see the rules of the host; JSON has all', async (t) => {
  const rules = Array.from({ length: 30 }, (_, index) => `    - {name: r${index}, domains: [h${index < 28 ? index : 'x'}.example.com], methods: [GET]}\n`).join('');
  const file = await policyFile('many.yaml', `- name: a\n  type: http\n  allow:\n${rules}`);
  const { output } = await explain(file, { url: 'https://hx.example.com/', format: 'human' });
  t.match(output, /tried:\n {2}✓ a \/ r28\n {2}· a \/ r29 .*\n {2}✗ 28 rules for other hosts/);
  t.equal((await explained(file, { url: 'https://hx.example.com/' })).evaluation.length, 30);
});

t.test('as a command: exit codes, body and policy from standard input', async (t) => {
  const args = ['--method', 'POST', '--url', 'https://payments.example.com/v1/payments', '--header', json[0] ?? ''];
  const fromStdin = await runCli(['caps', 'explain', example('payments'), ...args, '--body', '@-', '--format', 'json'], {}, payment);
  t.equal(fromStdin.code, 0);
  t.match(JSON.parse(fromStdin.stdout), { decision: 'allow', rule: 'create' });
  const denied = await runCli(['caps', 'explain', '-', ...args], {}, '[]');
  t.match(denied, { code: 0, stdout: /deny policy_empty/ });
  t.match(await runCli(['caps', 'explain', '-', ...args], {}, '{}'), { code: 1 });
  t.match(await runCli(['caps', 'explain', example('payments'), '--method', 'GET']), { code: 2, stderr: /--url/ });
  t.match(await runCli(['caps', 'explain', join(dir, 'nowhere.yaml'), ...args]), { code: 2, stderr: /no such file/ });
});
