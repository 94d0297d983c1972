import { request } from 'node:http';
import t from 'tap';
import { platformOrgId } from '../../src/kernel/ids.ts';
import { exchange, orgId, startHarness, workspaceId } from './proxy-harness.ts';

type Reply = { status: number; headers: Record<string, string | string[] | undefined>; body: { error: { code: string; message: string; request_id: string; details?: { refused?: string } } } };

function call(port: number, options: { method?: string; path?: string; headers?: Record<string, string>; body?: string }): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method: options.method ?? 'GET', path: options.path ?? 'http://api.example.com/v1/x?secret=1', headers: { host: 'api.example.com', ...options.headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => { text += chunk; });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: (text === '' ? {} : JSON.parse(text)) as Reply['body'] }));
    });
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}

t.test('no token: 407 that asks for one, and a row of the platform', async (t) => {
  const harness = await startHarness(t);
  const reply = await call(harness.port, {});
  t.equal(reply.status, 407);
  t.equal(reply.headers['proxy-authenticate'], 'Bearer realm="customhouse", Basic realm="customhouse"');
  t.equal(reply.body.error.code, 'no_token');
  t.equal(reply.headers['x-request-id'], reply.body.error.request_id);
  const rows = await harness.rows();
  t.equal(rows.length, 1);
  const [row] = rows;
  t.match(row, {
    id: reply.body.error.request_id, org_id: platformOrgId, user_id: 'system', event_type: 'policy_decision', category: 'audit', actor: 'policy-engine',
    destination: 'api.example.com', method: 'GET', path: '/v1/x', decision: 'deny', reason: 'no_token', policy_type: 'http', phase: 'request_headers',
    transforms_applied: 0, validations_applied: 0,
  });
  t.type(row?.latency_ms, 'number');
  t.notMatch(JSON.stringify(row), /secret/, 'the query is in no column');
});

t.test('a token that does not verify: 403 invalid_token', async (t) => {
  const harness = await startHarness(t);
  const good = await harness.token();
  const expired = await harness.token({}, -3600);
  for (const token of ['x', good.slice(0, -6), `${good}a`, expired, 'a'.repeat(9000)]) {
    const reply = await call(harness.port, { headers: { 'x-capability-token': token } });
    t.equal(reply.status, 403);
    t.equal(reply.body.error.code, 'invalid_token');
  }
  const rows = await harness.rows();
  t.equal(rows.length, 5);
  t.ok(rows.every((row) => row.org_id === platformOrgId && row.user_id === 'system' && row.reason === 'invalid_token' && row.workspace_id === undefined));
  t.notMatch(JSON.stringify(rows), new RegExp(good.slice(0, 40)), 'no token in a row');
});

t.test('a verified token: 403 no_policy, attributed to its workspace', async (t) => {
  const harness = await startHarness(t);
  const token = await harness.token();
  const named = await harness.token({ taskId: 'task-1', userId: 'user-9' });
  const ways: Record<string, string>[] = [
    { 'x-capability-token': token },
    { 'proxy-authorization': `Bearer ${token}` },
    { 'proxy-authorization': `Basic ${Buffer.from(`agent:${token}`).toString('base64')}` },
    { 'proxy-authorization': `bearer ${token}`, 'x-capability-token': token },
  ];
  for (const headers of ways) t.equal((await call(harness.port, { headers })).body.error.code, 'no_policy');
  t.equal((await call(harness.port, { headers: { 'x-capability-token': named } })).body.error.code, 'no_policy');
  const rows = await harness.rows();
  t.equal(rows.length, 5);
  t.ok(rows.every((row) => row.org_id === orgId && row.workspace_id === workspaceId && row.reason === 'no_policy'));
  t.same(rows.map((row) => [row.user_id, row.task_id]), [...Array.from({ length: 4 }, () => ['user-1', undefined]), ['user-1', 'task-1']], 'the creator of the workspace, whatever the token says');
  t.ok(rows.every((row, at) => at === 0 || row.source_seq > (rows[at - 1]?.source_seq ?? Infinity)), 'source_seq ascends');
});

t.test('what is no usable token, and two different ones', async (t) => {
  const harness = await startHarness(t);
  const [one, two] = [await harness.token(), await harness.token({ taskId: 't' })];
  const cases: [Record<string, string>, string][] = [
    [{ 'proxy-authorization': 'Basic' }, 'no_token'],
    [{ 'proxy-authorization': `Basic ${Buffer.from('agent:').toString('base64')}` }, 'no_token'],
    [{ 'proxy-authorization': `Basic ${Buffer.from('no colon').toString('base64')}` }, 'no_token'],
    [{ 'proxy-authorization': 'Digest username=x' }, 'no_token'],
    [{ 'x-capability-token': '' }, 'no_token'],
    [{ authorization: `Bearer ${one}` }, 'no_token'],
    [{ 'proxy-authorization': `Bearer ${one}`, 'x-capability-token': two }, 'invalid_token'],
  ];
  for (const [headers, code] of cases) t.equal((await call(harness.port, { headers })).body.error.code, code, JSON.stringify(Object.keys(headers)));
  const twice = await exchange(harness.port, `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Capability-Token: ${one}\r\nX-Capability-Token: ${two}\r\n\r\n`);
  t.match(twice, /"code":"invalid_token"/, 'the same header twice');
  t.equal((await harness.rows()).length, cases.length + 1);
});

t.test('keys that cannot be read deny as internal_error, never as a bad token', async (t) => {
  const harness = await startHarness(t, { verify: async () => { throw new Error('key set unreachable'); } });
  const reply = await call(harness.port, { headers: { 'x-capability-token': 'anything' } });
  t.equal(reply.status, 403);
  t.equal(reply.body.error.code, 'internal_error');
  t.notMatch(JSON.stringify(reply.body), /key set/);
  t.match(await harness.rows(), [{ reason: 'internal_error', org_id: platformOrgId }]);
  t.match(harness.logged, [{ err: { message: 'key set unreachable' } }]);
});

t.test('claims that no row could hold are a bad token', async (t) => {
  const harness = await startHarness(t, { verify: async (token) => (token === 'org' ? { orgId: 'not-a-uuid', workspaceId } : { orgId, workspaceId: 'w'.repeat(513) }) });
  for (const token of ['org', 'workspace']) t.equal((await call(harness.port, { headers: { 'x-capability-token': token } })).body.error.code, 'invalid_token');
  t.equal((await harness.rows()).length, 2);
});

t.test('/healthz, /readyz and /metrics have their own port', async (t) => {
  const harness = await startHarness(t);
  await call(harness.port, {});
  t.equal((await fetch(`${harness.proxy.adminUrl}/healthz`)).status, 200);
  t.equal((await fetch(`${harness.proxy.adminUrl}/readyz?x=1`)).status, 200);
  const metrics = await (await fetch(`${harness.proxy.adminUrl}/metrics`)).text();
  t.match(metrics, /customhouse_proxy_decisions_total\{reason="no_token"\} 1/);
  t.match(metrics, /customhouse_journal_unconfirmed_rows 1/);
  t.equal((await fetch(`${harness.proxy.adminUrl}/else`)).status, 404);
  t.equal((await fetch(`${harness.proxy.adminUrl}/healthz`, { method: 'POST' })).status, 405);
  t.equal((await harness.rows()).length, 1, 'they are no proxy requests');
});
