import t from 'tap';
import type { CelPhase } from '../../../src/policy/cel/contract.ts';
import { bindings, problemsOf, programOf } from './compiled.ts';

// Contract 2.7, "CEL environments": both tables, cell by cell. Each variable is used by its type, so a wrong type is a rejection.

const columns = {
  request: [
    'request.method == "POST"',
    'request.path == "/v1/messages"',
    'request.host == "api.example.com"',
    'request.scheme == "https"',
    'request.headers["x-team"] == "red"',
    'request.raw_query == "a=1&a=2&b="',
    'request.query["a"][1] == "2"',
  ],
  response: ['response.status == 200', 'response.headers["content-type"] == "application/json"', 'response.size == 42'],
  responseBody: ['response.body.usage.total_tokens == 7'],
  workspace: ['workspace.id == "w1"', 'workspace.org_id == "o1"', 'workspace.role == "writer"', 'workspace.environment == "prod"', 'task.id == "t1"'],
  secrets: ['secrets["api-key"] == "s3cret"'],
  event: ['event.usage.output_tokens == 3'],
  requestBody: ['request.body.model == "m-1"'],
} as const;
type Column = keyof typeof columns;

const rows: Readonly<Record<CelPhase, readonly Column[]>> = {
  match_admission: ['request', 'workspace'],
  match_body: ['request', 'workspace', 'requestBody'],
  header: ['request', 'workspace', 'secrets', 'requestBody'],
  query: ['request', 'workspace', 'secrets', 'requestBody'],
  path: ['request', 'workspace', 'requestBody'],
  body: ['request', 'workspace', 'secrets', 'requestBody'],
  counter_headers: ['response'],
  counter_document: ['response', 'responseBody'],
  counter_sse: ['response', 'event'],
  terminal: ['response', 'event'],
};

for (const [name, available] of Object.entries(rows)) {
  const phase = name as CelPhase;
  t.test(phase, async (t) => {
    for (const [column, expressions] of Object.entries(columns)) {
      for (const expression of expressions) {
        if (available.includes(column as Column)) {
          t.same(programOf(expression, { phase }).evaluate(bindings), { ok: true, value: true }, `${phase} has ${expression}`);
          continue;
        }
        const variable = /^secrets|^event|^\w+\.\w+/.exec(expression)?.[0] ?? '';
        const [problem, ...others] = problemsOf(expression, { phase });
        t.match(problem, { slug: 'undeclared_reference', message: `undeclared reference: ${variable}`, offset: 0 }, `${phase} lacks ${expression}`);
        t.same(others, []);
      }
    }
  });
}

t.test('request.body is there only when the caller says so', async (t) => {
  for (const phase of ['match_body', 'header', 'query', 'path', 'body'] as const) {
    const [problem] = problemsOf('request.body.model == "m-1"', { phase, requestBody: 'absent' });
    t.equal(problem?.message, 'undeclared reference: request.body', phase);
    t.match(problem?.hint, /requires_body: true/);
    t.same(problemsOf('request.body.model == "m-1"', { phase, requestBody: { schema: { type: 'object' } } }), []);
  }
});

t.test('a wrong type of a variable is a problem', async (t) => {
  t.match(problemsOf('response.status == "200"', { phase: 'counter_sse' }), [{ slug: 'cel_type' }]);
  t.match(problemsOf('request.headers[1] == "a"'), [{ slug: 'cel_type', message: "found no matching overload for '_[_]' applied to '(map(string, string), int)'" }]);
  t.match(problemsOf('request.query["a"] == "1"'), [{ slug: 'cel_type' }]);
  t.match(problemsOf('event == 1', { phase: 'terminal' }), [{ slug: 'cel_type' }]);
  t.match(problemsOf('request.method.x == 1'), [{ slug: 'cel_type', message: 'type string does not support field selection' }]);
});

t.test('the roots are no values, so nothing hands out what a phase does not have', async (t) => {
  for (const source of ['request == 1', 'dyn(request).body == 1', '[request][0].body == 1', 'has(request.body.model)', 'request["body"] == 1', 'type(request) == map']) {
    const [problem] = problemsOf(source, { phase: 'match_admission' });
    t.equal(problem?.slug, 'undeclared_reference', source);
    t.match(problem?.message, /^undeclared reference: request(\.body)?$/, source);
  }
  t.equal(problemsOf('workspace.id == task', {})[0]?.message, 'undeclared reference: task');
});

t.test('a loop variable named like a root hides it, it never becomes it', async (t) => {
  t.same(programOf('[{"body": 1}].all(request, request.body == 1)', { phase: 'match_admission' }).evaluate(bindings), { ok: true, value: true });
  t.same(programOf('[{"body": {"model": 1}}].all(request, request.body.model == 1)').evaluate(bindings), { ok: true, value: true });
  t.same(programOf('[{"k": "v"}].all(secrets, secrets["k"] == "v")', { phase: 'path' }).evaluate(bindings), { ok: true, value: true });
  t.same(programOf('[{"k": "v"}].all(secrets, secrets["k"] == "v")', { phase: 'header' }).secretKeys, []);
  t.same(programOf('["x"].all(workspace, .workspace.id == "w1" && workspace == "x")').evaluate(bindings), { ok: true, value: true });
});

t.test('what a program uses is known', async (t) => {
  const used = programOf('request.body.model == secrets["b-key"] + secrets["a"] + secrets["b-key"]', { phase: 'header' });
  t.equal(used.usesRequestBody, true);
  t.same(used.secretKeys, ['b-key', 'a'], 'each once, in order of use');
  t.equal(programOf('has(request.body)').usesRequestBody, true);
  t.equal(programOf('request.path == "request.body"').usesRequestBody, false);
  t.equal(programOf('[{"body": 1}].all(request, request.body == 1)').usesRequestBody, false);
  t.equal(programOf('response.body.a == 1', { phase: 'counter_document' }).usesResponseBody, true);
  t.equal(programOf('response.size == 1', { phase: 'counter_document' }).usesResponseBody, false);
  t.equal(programOf('"identity"', { phase: 'header', result: 'string' }).literal, 'identity');
  t.equal(programOf('"iden" + "tity"', { phase: 'header', result: 'string' }).literal, undefined);
});
