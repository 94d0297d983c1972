import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { ControlPlane, ControlPlaneOptions } from '../../src/proxy/workspaces/control-plane.ts';
import { createControlPlane } from '../../src/proxy/workspaces/control-plane.ts';
import { createGoneSignals } from '../../src/proxy/workspaces/gone-signals.ts';

const token = 'internal-service-token-of-this-test-0001';
const planted = 'planted-secret-77aa';
const ref = { id: uuidv7(), orgId: uuidv7() };

async function against(t: { teardown: (fn: () => Promise<void>) => unknown }, listener: RequestListener, options: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const plane = createControlPlane({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token, timeoutMs: 5_000, ...options });
  t.teardown(async () => {
    await plane.close();
    server.closeAllConnections();
    server.close();
  });
  return plane;
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(JSON.stringify(body));
}

const answer = {
  id: ref.id, org_id: ref.orgId, created_by: 'u', agent_role_id: 'r', agent_role: 'coder', agent_provider: 'llm', environment: '', enforcement: 'report', retention_days: 30,
  caps: 'text', secrets: { token: planted, toString: 'x' }, event_schemas: { tool_call: true }, version: 'v1', something_new: 1,
};

t.test('asks with the token, over kept connections, and reads the answer', async (t) => {
  const requests: IncomingMessage[] = [];
  const plane = await against(t, (request, response) => {
    requests.push(request);
    json(response, 200, answer);
  });
  const found = await plane.loadWorkspace(ref, undefined);
  t.equal(found.kind, 'found');
  if (found.kind !== 'found') return;
  t.match(found.answer, { ...ref, createdBy: 'u', agentRoleId: 'r', enforcement: 'report', retentionDays: 30, caps: 'text', version: 'v1' });
  t.same([...found.answer.secrets], [['token', planted], ['toString', 'x']]);
  t.same([...found.answer.eventSchemas], [['tool_call', true]]);
  await plane.loadWorkspace(ref, 'v0');
  t.match(requests[0], { method: 'GET', url: `/internal/workspaces/${ref.id}?org_id=${ref.orgId}`, headers: { authorization: `Bearer ${token}`, 'if-none-match': undefined } });
  t.match(requests[1]?.headers, { 'if-none-match': '"v0"' });
  for (let n = 0; n < 8; n += 1) await plane.loadWorkspace(ref, undefined);
  // A second one may be opened while the first is being given back.
  t.ok(new Set(requests.map((request) => request.socket.remotePort)).size <= 2, 'kept alive');
});

t.test('what is no answer to the question rejects, and shows nothing of it', async (t) => {
  const hostile: [string, RequestListener][] = [
    ['another workspace', (_request, response) => json(response, 200, { ...answer, id: uuidv7() })],
    ['another org', (_request, response) => json(response, 200, { ...answer, org_id: uuidv7() })],
    ...Object.keys(answer).filter((name) => name !== 'something_new').map((name): [string, RequestListener] => [`without ${name}`, (_request, response) => json(response, 200, { ...answer, [name]: undefined })]),
    ['a wrong enforcement', (_request, response) => json(response, 200, { ...answer, enforcement: 'off' })],
    ['a secret that is no text', (_request, response) => json(response, 200, { ...answer, secrets: { token: 1, other: planted } })],
    ['secrets in a list', (_request, response) => json(response, 200, { ...answer, secrets: [planted] })],
    ['days that are none', (_request, response) => json(response, 200, { ...answer, retention_days: 0.5 })],
    ['caps that are no text', (_request, response) => json(response, 200, { ...answer, caps: [planted] })],
    ['null', (_request, response) => json(response, 200, null)],
    ['broken JSON', (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(`{"secrets": {"token": "${planted}`)],
    ['a page', (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(answer))],
    ['404 of somebody else', (_request, response) => response.writeHead(404).end('not here')],
    ['404 of another kind', (_request, response) => json(response, 404, { error: { code: 'not_found' } })],
    ['304 to a first question', (_request, response) => response.writeHead(304, { etag: '"v1"' }).end()],
    ['a redirect', (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
    ['401', (_request, response) => json(response, 401, { error: { code: 'unauthenticated', message: token } })],
    ['500', (_request, response) => json(response, 500, { error: { code: 'internal', message: planted } })],
    ['an end without an answer', (request) => request.socket.destroy()],
    ['half an answer', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' });
      response.write(JSON.stringify(answer), () => response.destroy());
    }],
  ];
  for (const [name, listener] of hostile) {
    const plane = await against(t, listener);
    try {
      await plane.loadWorkspace(ref, undefined);
      t.fail(`${name} was taken`);
    } catch (error) {
      t.match((error as Error).name, /^(ControlPlaneError|UnreadableAnswerError)$/, name);
      const shown = inspect(error, { depth: 10 });
      t.notMatch(shown, planted, name);
      t.notMatch(shown, token, name);
    }
  }
});

t.test('404 workspace_not_found is unknown, 304 with the version asked for is unchanged', async (t) => {
  const unknown = await against(t, (_request, response) => json(response, 404, { error: { code: 'workspace_not_found' } }));
  t.same(await unknown.loadWorkspace(ref, undefined), { kind: 'unknown' });
  const unchanged = await against(t, (request, response) => response.writeHead(304, { etag: request.headers['if-none-match'] }).end());
  t.same(await unchanged.loadWorkspace(ref, 'v1'), { kind: 'unchanged' });
  const other = await against(t, (_request, response) => response.writeHead(304, { etag: '"v2"' }).end());
  await t.rejects(other.loadWorkspace(ref, 'v1'), { name: 'ControlPlaneError' });
});

t.test('bounded in time and in bytes', async (t) => {
  const silent = await against(t, () => undefined, { timeoutMs: 100 });
  await t.rejects(silent.loadWorkspace(ref, undefined), { name: 'ControlPlaneError' }, 'no head');
  const slow = await against(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const drip = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(drip));
  }, { timeoutMs: 200 });
  await t.rejects(slow.loadWorkspace(ref, undefined), { name: 'ControlPlaneError' }, 'a body that never ends, though each part comes in time');
  let sent = 0;
  const endless = await against(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const pump = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20))) sent += 65_536;
    };
    response.on('drain', pump).on('error', () => undefined);
    pump();
  }, { answerBytesMax: 1_048_576 });
  await t.rejects(endless.loadWorkspace(ref, undefined), { name: 'ControlPlaneError' });
  t.ok(sent < 64 * 1_048_576, `${sent} bytes`);
  const nobody = createControlPlane({ url: 'http://127.0.0.1:1', token });
  await t.rejects(nobody.loadWorkspace(ref, undefined), { name: 'ControlPlaneError' });
  await nobody.close();
});

t.test('credentials: read, unknown, and nothing else', async (t) => {
  const credential = { id: 'c', org_id: ref.orgId, name: 'a/b ?', provider: 'github', kind: 'api_key', scopes: ['repo'], provider_config: { x: 1 }, status: 'active', material: planted };
  const urls: (string | undefined)[] = [];
  const plane = await against(t, (request, response) => {
    urls.push(request.url);
    json(response, 200, credential);
  });
  const found = await plane.loadCredential(ref.orgId, 'a/b ?');
  t.match(found, { id: 'c', name: 'a/b ?', provider: 'github', kind: 'api_key', scopes: ['repo'], providerConfig: { x: 1 }, status: 'active' });
  t.equal(found?.material?.reveal(), planted);
  t.notMatch(inspect(found, { depth: 10, showHidden: true }) + JSON.stringify(found), planted);
  t.same(urls, [`/internal/credentials/a%2Fb%20%3F?org_id=${ref.orgId}`]);
  await t.rejects(plane.loadCredential(ref.orgId, 'other'), { name: 'UnreadableAnswerError' });
  const none = await against(t, (_request, response) => json(response, 404, { error: { code: 'not_found' } }));
  t.equal(await none.loadCredential(ref.orgId, 'x'), undefined);
  for (const change of [{ scopes: [1] }, { scopes: 'repo' }, { provider_config: null }, { material: 1 }, { material: undefined }, { kind: 1 }]) {
    const wrong = await against(t, (_request, response) => json(response, 200, { ...credential, name: 'x', ...change }));
    await t.rejects(wrong.loadCredential(ref.orgId, 'x'), { name: 'UnreadableAnswerError' }, JSON.stringify(change));
  }
});

t.test('a signal lives as long as somebody holds it, and no longer', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const signals = createGoneSignals();
  const held = signals.signalOf('held');
  for (let n = 0; n < 1_000; n += 1) signals.signalOf(`dropped-${n}`);
  while (signals.size > 1) {
    collect();
    await turn();
  }
  t.equal(signals.signalOf('held'), held);
  signals.abort('held');
  t.equal(held.aborted, true, 'its controller lives as well');
  t.not(signals.signalOf('held'), held);
});
