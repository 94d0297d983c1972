import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { exchange, RawClient, startHarness } from './proxy-harness.ts';
import type { HarnessOptions } from './proxy-harness.ts';
import { startUpstream } from './local-upstream.ts';

type Test = { teardown(fn: () => Promise<void>): unknown };

/** A proxy whose policy admits plain http to a local upstream under the name api.example.com, and a request to it as text. */
export async function governed(t: Test, upstream: { readonly port: number }, rest: string, options: HarnessOptions = {}) {
  const caps = `- name: demo\n  type: http\n  allow:\n    - {name: api, domains: ["api.example.com:${upstream.port}"], methods: [GET, POST, HEAD, OPTIONS], paths: ["/v1/**"], allow_insecure: true}\n${rest}`;
  const harness = await startHarness(t, { caps, ...options });
  const token = await harness.token({ taskId: 'task-1' });
  const head = (line: string, headers: readonly string[] = []): string => {
    const [method, path] = line.split(' ');
    return [`${method} http://api.example.com:${upstream.port}${path} HTTP/1.1`, `Host: api.example.com:${upstream.port}`, `Proxy-Authorization: Bearer ${token}`, 'Connection: close', ...headers, '', ''].join('\r\n');
  };
  return { harness, token, head, ask: (line: string, headers: readonly string[] = [], body = '') => exchange(harness.port, head(line, headers) + body) };
}

t.test('an allowed call: passed on, answered, recorded', async (t) => {
  const upstream = await startUpstream(t, { handler: (_, response) => response.writeHead(201, { 'x-own': 'yes', 'alt-svc': 'h3=":443"', 'content-length': '5' }).end('hello') });
  const { harness, ask } = await governed(t, upstream, '');
  const answer = await ask('GET /v1/items?a=1', ['X-Demo: 1', 'Accept: */*']);
  t.match(answer, /^HTTP\/1\.1 201 Created\r\n/);
  t.match(answer, /\r\nx-own: yes\r\n/);
  t.notMatch(answer, /alt-svc/i);
  t.ok(answer.endsWith('\r\n\r\nhello'));
  t.equal(upstream.hits.length, 1);
  t.equal(upstream.hits[0]?.url, '/v1/items?a=1');
  t.equal(upstream.header(0, 'host'), `api.example.com:${upstream.port}`);
  t.equal(upstream.header(0, 'x-demo'), '1');
  t.equal(upstream.header(0, 'proxy-authorization'), undefined, 'the token goes no further');
  const [row, ...more] = await harness.rows();
  t.strictSame(more, []);
  t.match(row, {
    decision: 'allow', capability_name: 'demo', destination: 'api.example.com', method: 'GET', path: '/v1/items', phase: 'response_headers', policy_type: 'http', user_id: 'user-1',
    agent_role: 'crawler', agent_provider: 'acme', task_id: 'task-1', transforms_applied: 0, validations_applied: 0, detail: { rule: 'api', status: 201 },
  });
  t.equal(row?.reason, undefined);
  t.equal(/x-customhouse-request-id: (\S+)/.exec(answer)?.[1], row?.id);
});

t.test('no rule matches: 403, a row that says which rule failed where, nothing upstream', async (t) => {
  const upstream = await startUpstream(t);
  const { harness, ask } = await governed(t, upstream, '');
  t.match(await ask('GET /v2/x'), /^HTTP\/1\.1 403 /);
  t.match(await ask('DELETE /v1/x'), /"code":"no_match"/);
  t.match((await harness.rows()).map(({ reason, phase, detail }) => ({ reason, phase, detail })), [
    { reason: 'no_match', phase: 'request_headers', detail: { allowrule_eval: [{ capability: 'demo', rule: 'api', failed: 'path' }] } },
    { reason: 'no_match', phase: 'request_headers', detail: { allowrule_eval: [{ capability: 'demo', rule: 'api', failed: 'method' }] } },
  ]);
  t.equal(upstream.hits.length, 0);
});

t.test('transforms: a secret goes out, its reflection does not come back', async (t) => {
  const secret = 'sk-recognisable-1234567890';
  const upstream = await startUpstream(t, {
    handler: (request, response) => response.writeHead(200, { 'x-echo': String(request.headers['x-api-key']) }).end(JSON.stringify({ key: request.headers['x-api-key'], path: request.url })),
  });
  const { harness, ask } = await governed(t, upstream, `  transforms:
    - header: {name: x-api-key, action: set, value: 'secrets["llm"]'}
    - query: {key: tag, action: set, value: task.id}
    - {name: missing, header: {name: x-none, action: set, value: 'secrets["none"]'}}
`, { workspace: { secrets: new Map([['llm', secret]]) } });
  const answer = await ask('GET /v1/x', ['x-api-key: mine', 'accept-encoding: gzip']);
  t.equal(upstream.header(0, 'x-api-key'), secret);
  t.equal(upstream.header(0, 'accept-encoding'), 'identity');
  t.equal(upstream.hits[0]?.url, '/v1/x?tag=task-1');
  t.notMatch(answer, /recognisable/);
  t.match(answer, /\*{26}/);
  const [row] = await harness.rows();
  t.match(row, { decision: 'allow', transforms_applied: 2, transforms_failed: { missing: 'apply_error' } });
  t.notMatch(JSON.stringify(row), /recognisable/);
});

t.test('a body: inspected, changed, and sent as it was judged', async (t) => {
  const upstream = await startUpstream(t);
  const { harness, ask } = await governed(t, upstream, `    - {name: json, domains: ["api.example.com:${upstream.port}"], methods: [PUT], allow_insecure: true, request_format: application/json, request_schema: {type: object, required: [model], properties: {model: {enum: [small]}}}}
  transforms:
    - {applies_to: [json], body: {action: merge, value: '{"user": workspace.id}'}}
`);
  const put = (body: string, type = 'application/json', extra: readonly string[] = []): Promise<string> => ask('PUT /v1/chat', [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`, ...extra], body);
  t.match(await put('{"model": "small", "n": 1.0}'), / 200 /);
  t.match(upstream.hits[0]?.body, /^\{"model":"small","n":1\.0,"user":"0192aaaa-/);
  t.equal(upstream.header(0, 'content-length'), String(upstream.hits[0]?.body.length));
  for (const [body, reason, type, extra] of [
    ['{"model": "large"}', 'schema_violation'], ['{"model": ', 'invalid_json'], ['{"model": "small", "model": "large"}', 'invalid_json'], ['{"model": "small"}', 'format_mismatch', 'text/plain'],
    ['{"model": "small"}', 'format_mismatch', 'application/json', ['Content-Encoding: gzip']],
  ] as [string, string, string?, string[]?][]) t.match(await put(body, type, extra), new RegExp(`"code":"${reason}"`), `${reason}: ${body}`);
  t.equal(upstream.hits.length, 1);
  const rows = await harness.rows();
  t.strictSame(rows.map(({ phase }) => phase), ['response_headers', 'request_body', 'request_body', 'request_body', 'request_body', 'request_body']);
  t.match(rows[0], { validations_applied: 2, transforms_applied: 1 });
});

t.test('over the limit of inspected bodies: denied, whether the length is told or not', async (t) => {
  const upstream = await startUpstream(t);
  const { harness, ask } = await governed(t, upstream, `    - {name: json, domains: ["api.example.com:${upstream.port}"], methods: [PUT], allow_insecure: true, request_format: application/json, match: {expr: 'size(request.body) > 0', requires_body: true}}\n`, { env: { PROXY_BODY_BYTES_MAX: '2000' } });
  const body = JSON.stringify({ a: 'x'.repeat(3000) });
  t.match(await ask('PUT /v1/x', ['Content-Type: application/json', `Content-Length: ${body.length}`], body), / 413 /);
  t.match(await ask('PUT /v1/x', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`), / 413 /);
  t.equal(upstream.hits.length, 0);
  t.strictSame((await harness.rows()).map(({ reason, detail }) => [reason, detail?.['refused']]), [['format_mismatch', 'body_too_large'], ['format_mismatch', 'body_too_large']]);
});

t.test('a streamed body goes through in both framings, with its trailers and answers in chunks', async (t) => {
  const upstream = await startUpstream(t, {
    handler: (_, response) => {
      response.writeHead(200, { trailer: 'x-sum' });
      response.write('one ');
      response.addTrailers({ 'x-sum': '42' });
      response.end('two');
    },
  });
  const { ask } = await governed(t, upstream, '');
  const answer = await ask('POST /v1/up', ['Transfer-Encoding: chunked', 'Expect: 100-continue'], '5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\n\r\n');
  t.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
  t.match(answer, /\r\n\r\n(?:4\r\none \r\n3\r\ntwo|7\r\none two)\r\n0\r\nx-sum: 42\r\n/i);
  t.equal(upstream.hits[0]?.body, 'hello world');
  await ask('POST /v1/up', ['Content-Length: 4'], 'four');
  t.equal(upstream.hits[1]?.body, 'four');
  t.equal(upstream.header(1, 'content-length'), '4');
});

t.test('budgets: used up is 429 with the counter, its scope and when it ends; rows carry debits and state', async (t) => {
  const upstream = await startUpstream(t);
  const { harness, ask } = await governed(t, upstream, '  budgets: {counters: [{name: calls, source: request.count, task: {max: 2, ttl: 1h}}]}\n');
  t.match(await ask('GET /v1/a'), / 200 /);
  t.match(await ask('GET /v1/b'), / 200 /);
  const third = await ask('GET /v1/c');
  t.match(third, /^HTTP\/1\.1 429 /);
  t.match(third, /"code":"budget_exhausted".*"details":\{"counter":"calls","scope":"task"\}/s);
  t.match(third, /\r\nretry-after: \d+\r\n/);
  const rows = await harness.rows();
  t.match(rows[1], { debits: { calls: 1 }, budget_state: { calls: { task: { max: 2, used: 2 } } } });
  t.match(rows[2], { decision: 'deny', reason: 'budget_exhausted', phase: 'request_body', detail: { counter: 'calls', scope: 'task' } });
  t.equal(upstream.hits.length, 2);
});

t.test('an event stream is metered while it flows, not delayed', async (t) => {
  let release: () => void = () => undefined;
  const upstream = await startUpstream(t, {
    handler: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"usage": {"total": 7}}\n\n');
      release = () => response.end('data: {"usage": {"total": 12}}\n\ndata: [DONE]\n\n');
    },
  });
  const { harness, head } = await governed(t, upstream, `  transforms:
    - header: {name: Accept-Encoding, action: set, value: '"identity"'}
  budgets:
    counters:
      - {name: tokens, source: response, requires_body: true, framing: sse, format: application/json, encoding: identity, status_codes: ["2xx"], value: 'event.usage.total', accumulator: last, terminal_sentinel: "[DONE]", workspace: {max: 1000}, reserve_per_request: 50, failure_charge: 10}
`);
  const client = new RawClient(harness.port).send(head('GET /v1/stream'));
  await client.until(/"total": 7/);
  t.strictSame(await harness.rows(), [], 'the row waits for the end');
  release();
  t.match(await client.closed, /\[DONE\]\n\n\r\n0\r\n\r\n$/);
  t.match(await harness.rows(), [{ decision: 'allow', phase: 'response_body', debits: { tokens: 12 }, budget_state: { tokens: { workspace: { used: 12, held: 0 } } }, floored: undefined }]);
});

t.test('an upstream that cuts its answer cuts the agent off, with the row', async (t) => {
  const upstream = await startUpstream(t, {
    handler: (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part');
      setTimeout(() => response.socket?.destroy(), 20);
    },
  });
  const { harness, ask } = await governed(t, upstream, '  transforms: [{header: {name: accept-encoding, action: set, value: \'"identity"\'}}]\n  budgets: {counters: [{name: bytes, source: response.bytes, status_codes: ["2xx"], workspace: {max: 1000}, reserve_per_request: 10, failure_charge: 1}]}\n');
  const answer = await ask('GET /v1/x');
  t.ok(answer.endsWith('part'));
  t.match(await harness.rows(), [{ decision: 'allow', debits: { bytes: 4 }, detail: { ended: 'upstream_cut', status: 200 } }]);
});

t.test('an agent that goes away ends the upstream leg, with the row', async (t) => {
  let closed = false;
  const upstream = await startUpstream(t, {
    handler: (_, response) => {
      response.on('close', () => { closed = true; });
      response.write('endless');
    },
  });
  const { harness, head } = await governed(t, upstream, '');
  const client = new RawClient(harness.port).send(head('GET /v1/x'));
  await client.until(/endless/);
  client.socket.resetAndDestroy();
  while (!closed) await sleep(5);
  let rows = await harness.rows();
  while (rows.length === 0) rows = await harness.rows();
  t.match(rows, [{ decision: 'allow', detail: { ended: 'agent_aborted', status: 200 } }]);
});

t.test('a workspace that is deactivated ends its running requests', async (t) => {
  const gone = new AbortController();
  const upstream = await startUpstream(t, { handler: (_, response) => { response.write('endless'); } });
  const { harness, head, ask } = await governed(t, upstream, '', { workspace: { gone: gone.signal } });
  const client = new RawClient(harness.port).send(head('GET /v1/x'));
  await client.until(/endless/);
  gone.abort();
  await client.closed;
  t.match(await ask('GET /v1/y'), /"code":"workspace_gone"/);
  t.match(await harness.rows(), [{ decision: 'deny', reason: 'workspace_gone', phase: 'response_headers' }, { decision: 'deny', reason: 'workspace_gone', phase: 'request_headers' }]);
});

t.test('report only: what would be denied passes and is recorded', async (t) => {
  const upstream = await startUpstream(t);
  const { harness, ask } = await governed(t, upstream, '  budgets: {counters: [{name: calls, source: request.count, task: {max: 1}}]}\n', { workspace: { enforcement: 'report' } });
  for (const line of ['GET /v2/other', 'GET /v1/a', 'GET /v1/b']) t.match(await ask(line), / 200 /);
  const rows = await harness.rows();
  t.strictSame(rows.map(({ decision }) => decision), ['allow', 'allow', 'allow']);
  t.match(rows.map(({ detail }) => detail?.['would_deny']), [{ reason: 'no_match' }, undefined, { reason: 'budget_exhausted', counter: 'calls', scope: 'task' }]);
});

t.test('an upstream that is not there: 502, allowed in the row, budgets given back', async (t) => {
  const upstream = await startUpstream(t);
  const { harness, ask } = await governed(t, upstream, '  budgets: {counters: [{name: calls, source: request.count, task: {max: 1}}]}\n');
  upstream.server.close();
  t.match(await ask('GET /v1/a'), /^HTTP\/1\.1 502 .*"code":"upstream_failed"/s);
  t.match(await ask('GET /v1/a'), /^HTTP\/1\.1 502 /);
  t.match(await harness.rows(), [{ decision: 'allow', detail: { upstream: 'connect_failed' } }, { decision: 'allow' }]);
});

t.test('HEAD and empty answers have no body, and their rows come before their heads', async (t) => {
  const upstream = await startUpstream(t, { handler: (request, response) => (request.method === 'HEAD' ? response.writeHead(200, { 'content-length': '500' }).end() : response.writeHead(204).end()) });
  const { harness, ask } = await governed(t, upstream, '');
  t.match(await ask('HEAD /v1/x'), /content-length: 500\r\n[^]*\r\n\r\n$/i);
  t.match(await ask('GET /v1/x'), /^HTTP\/1\.1 204 [^]*\r\n\r\n$/);
  t.equal((await harness.rows()).length, 2);
});

t.test('an upstream that answers before it has the whole body: the rest is dropped, and the connection serves the next request', async (t) => {
  const upstream = await startUpstream(t);
  const harness = await startHarness(t, {
    caps: `- name: demo\n  type: http\n  allow: [{name: api, domains: ["api.example.com:${upstream.port}"], methods: [GET, POST], allow_insecure: true}]\n`,
    send: async () => ({ failure: 'connect_failed', sent: false }),
  });
  const auth = `Host: api.example.com:${upstream.port}\r\nProxy-Authorization: Bearer ${await harness.token()}\r\n`;
  const body = 'x'.repeat(400_000);
  const client = new RawClient(harness.port).send(`POST http://api.example.com:${upstream.port}/a HTTP/1.1\r\n${auth}Content-Length: ${body.length}\r\n\r\n${body}GET http://api.example.com:${upstream.port}/b HTTP/1.1\r\n${auth}Connection: close\r\n\r\n`);
  t.equal((await client.closed).match(/HTTP\/1\.1 502 /g)?.length, 2);
  t.strictSame((await harness.rows()).map(({ path }) => path).sort(), ['/a', '/b']);
});
