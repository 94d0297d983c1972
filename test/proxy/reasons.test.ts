import t from 'tap';
import type { denyReasons } from '../../src/events/enumerations.ts';
import { startUpstream } from './local-upstream.ts';
import { exchange, RawClient, startHarness } from './proxy-harness.ts';
import type { HarnessOptions } from './proxy-harness.ts';

type Case = { readonly phase: string; readonly status: number; readonly options?: HarnessOptions; readonly caps?: (port: number) => string; readonly target?: string; readonly token?: string; readonly body?: string; readonly type?: string; readonly before?: 'open' };

const rule = (rest: string) => (port: number): string => `- name: demo\n  type: http\n  allow: [{name: api, domains: ["api.example.com:${port}"], methods: [GET, POST], allow_insecure: true${rest}}]\n`;
const gone = AbortSignal.abort();
const schema = ', request_format: application/json, request_schema: {type: object, required: [id]}';

/** Each reason of contract 6.3 in each phase where it can occur. */
const cases: Readonly<Record<(typeof denyReasons)[number], readonly Case[]>> = {
  no_scheme: [{ phase: 'request_headers', status: 403, target: 'https://api.example.com/x', caps: rule('') }],
  no_token: [{ phase: 'request_headers', status: 407, token: '', caps: rule('') }],
  invalid_token: [{ phase: 'request_headers', status: 403, token: 'x', caps: rule('') }],
  workspace_not_activated: [{ phase: 'request_headers', status: 403, options: { activate: async () => undefined } }],
  workspace_gone: [{ phase: 'request_headers', status: 403, caps: rule(''), options: { workspace: { gone } } }],
  no_policy: [{ phase: 'request_headers', status: 403 }],
  policy_error: [
    { phase: 'request_headers', status: 403, options: { workspace: { policy: 'broken' } } },
    { phase: 'request_headers', status: 403, caps: rule(`, match: {expr: 'request.headers["none"] == "x"'}`) },
    { phase: 'request_body', status: 403, body: '{}', caps: rule(`, request_format: application/json, match: {expr: 'request.body.none == 1', requires_body: true}`) },
  ],
  policy_empty: [{ phase: 'request_headers', status: 403, caps: () => '[]' }],
  policy_type_error: [{ phase: 'request_body', status: 403, body: '{"n": "text"}', caps: rule(`, request_format: application/json, match: {expr: 'request.body.n > 1', requires_body: true}`) }],
  no_match: [
    { phase: 'request_headers', status: 403, caps: rule(', paths: [/other]') },
    { phase: 'request_body', status: 403, body: '{"n": 1}', caps: rule(`, request_format: application/json, match: {expr: 'request.body.n > 1', requires_body: true}`) },
  ],
  invalid_json: [{ phase: 'request_body', status: 403, body: '{"id": ', caps: rule(schema) }],
  format_mismatch: [{ phase: 'request_body', status: 403, body: '{"id": 1}', type: 'text/plain', caps: rule(schema) }, { phase: 'request_headers', status: 403, body: 'x', type: 'text/plain', caps: rule(', request_format: application/json') }],
  schema_violation: [{ phase: 'request_body', status: 403, body: '{}', caps: rule(schema) }],
  budget_exhausted: [{ phase: 'request_body', status: 429, body: '0123456789', caps: (port) => `${rule('')(port)}  budgets: {counters: [{name: bytes, source: request.bytes, workspace: {max: 5}}]}\n` }],
  concurrency_exhausted: [{ phase: 'request_body', status: 429, before: 'open', caps: (port) => `${rule('')(port)}  budgets: {counters: [{name: calls, source: request.count, max_concurrent: 1}]}\n` }],
  internal_error: [
    { phase: 'request_headers', status: 403, options: { verify: async () => { throw new Error('keys unreachable'); } } },
    { phase: 'request_headers', status: 403, options: { activate: async () => { throw new Error('control plane unreachable'); } } },
  ],
};

for (const [reason, list] of Object.entries(cases)) {
  for (const [index, { phase, status, options, caps, target, token, body = '', type = 'application/json', before }] of list.entries()) {
    t.test(`${reason} in ${phase} (${index + 1})`, async (t) => {
      const upstream = await startUpstream(t, { handler: (_, response) => { response.write('endless'); } });
      const harness = await startHarness(t, { ...options, ...(caps === undefined ? {} : { caps: caps(upstream.port) }) });
      const show = token ?? await harness.token();
      const method = body === '' ? 'GET' : 'POST';
      const text = `${method} ${target ?? `http://api.example.com:${upstream.port}/x`} HTTP/1.1\r\nHost: api.example.com:${upstream.port}\r\nConnection: close\r\n${show === '' ? '' : `Proxy-Authorization: Bearer ${show}\r\n`}${body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n`}\r\n${body}`;
      const held = before === undefined ? undefined : new RawClient(harness.port).send(text);
      await held?.until(/endless/);
      t.match(await exchange(harness.port, text), new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"${reason}"`));
      const rows = await harness.rows();
      t.match(rows, [{ decision: 'deny', reason, phase, event_type: 'policy_decision' }]);
      t.equal(rows.length, 1);
      t.equal(upstream.hits.length, before === undefined ? 0 : 1);
      held?.socket.destroy();
    });
  }
}
