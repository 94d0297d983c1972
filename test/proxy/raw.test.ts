import t from 'tap';
import { platformOrgId } from '../../src/kernel/ids.ts';
import { RawClient, exchange, startHarness } from './proxy-harness.ts';

const close = 'Connection: close\r\n';

type Case = { name: string; send: string; status: number; row: object };

/** Each is one request, so each must leave exactly one row. */
const cases: Case[] = [
  { name: 'origin form', send: `GET /p?q=1#f HTTP/1.1\r\nHost: Up.Example.:8080\r\n${close}\r\n`, status: 407, row: { reason: 'no_token', method: 'GET', destination: 'up.example', path: '/p' } },
  { name: 'absolute form without a path', send: `GET http://a.example?q HTTP/1.1\r\nHost: a.example\r\n${close}\r\n`, status: 407, row: { destination: 'a.example', path: '/' } },
  { name: 'absolute form, userinfo never kept', send: `GET http://u:secret@a.example:81/x HTTP/1.1\r\nHost: b\r\n${close}\r\n`, status: 407, row: { destination: 'a.example', path: '/x' } },
  { name: 'absolute form with a backslash', send: `GET http://evil.example\\@good.example/ HTTP/1.1\r\nHost: b\r\n${close}\r\n`, status: 400, row: { detail: { refused: 'malformed_request' } } },
  { name: 'IPv6 literal', send: `GET http://[::1]:80/ HTTP/1.1\r\nHost: [::1]\r\n${close}\r\n`, status: 407, row: { destination: '::1' } },
  { name: 'asterisk form', send: `OPTIONS * HTTP/1.1\r\nHost: a\r\n${close}\r\n`, status: 407, row: { method: 'OPTIONS', path: '*' } },
  { name: 'no Host', send: `GET /x HTTP/1.1\r\n${close}\r\n`, status: 407, row: { reason: 'no_token', destination: undefined, path: '/x' } },
  { name: 'two Hosts', send: `GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n${close}\r\n`, status: 407, row: { reason: 'no_token' } },
  { name: 'HTTP/1.0', send: 'GET http://a.example/ HTTP/1.0\r\n\r\n', status: 407, row: { reason: 'no_token' } },
  { name: 'CONNECT', send: 'CONNECT API.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n', status: 407, row: { reason: 'no_token', method: 'CONNECT', destination: 'api.example', path: undefined } },
  { name: 'CONNECT with userinfo', send: 'CONNECT u@a.example:443 HTTP/1.1\r\n\r\n', status: 407, row: { destination: 'a.example' } },
  { name: 'CONNECT and bytes at once', send: 'CONNECT a:443 HTTP/1.1\r\n\r\n\x16\x03\x01GET / HTTP/1.1\r\n\r\n', status: 407, row: { method: 'CONNECT' } },
  { name: 'WebSocket upgrade', send: 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', status: 407, row: { path: '/ws' } },
  { name: 'h2c upgrade', send: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n', status: 407, row: { reason: 'no_token' } },
  { name: 'Expect: 100-continue', send: 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n', status: 407, row: { method: 'POST' } },
  { name: 'an expectation nobody knows', send: 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: tea\r\n\r\n', status: 407, row: { method: 'POST' } },
  { name: 'HTTP/2 preface', send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 400, row: { reason: 'no_match', detail: { refused: 'malformed_request', allowrule_eval: [] } } },
  { name: 'TLS hello', send: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', status: 400, row: { detail: { refused: 'malformed_request' } } },
  { name: 'unknown method', send: 'BREW / HTTP/1.1\r\n\r\n', status: 400, row: { detail: { refused: 'malformed_request', parser_code: 'HPE_INVALID_METHOD' }, method: undefined } },
  { name: 'two lengths', send: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', status: 400, row: { detail: { refused: 'malformed_request' } } },
  { name: 'length and chunked', send: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', status: 400, row: { detail: { refused: 'malformed_request' } } },
  { name: 'space before colon', send: 'GET / HTTP/1.1\r\nHost : a\r\n\r\n', status: 400, row: { detail: { refused: 'malformed_request' } } },
  { name: 'NUL in a header', send: 'GET / HTTP/1.1\r\nX: a\x00b\r\n\r\n', status: 400, row: { detail: { refused: 'malformed_request' } } },
  { name: 'a version nobody speaks', send: 'GET / HTTP/1.9\r\n\r\n', status: 400, row: { detail: { refused: 'malformed_request' } } },
  { name: 'headers over the limit', send: `GET / HTTP/1.1\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`, status: 431, row: { detail: { refused: 'headers_too_large' } } },
  { name: 'request line over the limit', send: `GET /${'a'.repeat(40_000)} HTTP/1.1\r\n\r\n`, status: 431, row: { detail: { refused: 'headers_too_large' } } },
];

for (const { name, send, status, row } of cases) {
  t.test(`one row: ${name}`, async (t) => {
    const harness = await startHarness(t);
    const reply = await exchange(harness.port, send);
    t.match(reply, new RegExp(`^HTTP/1\\.1 ${status} `), 'status');
    t.match(reply, /\r\nx-request-id: [0-9a-f-]{36}\r\n/i);
    t.equal(reply.match(/HTTP\/1\.1 /g)?.length, 1, 'one answer');
    const rows = await harness.rows();
    t.equal(rows.length, 1, 'one row');
    t.match(rows[0], { org_id: platformOrgId, decision: 'deny', ...row });
    t.notMatch(JSON.stringify(rows), /secret/);
    t.same(harness.logged, []);
  });
}

t.test('HTTP/0.9 gets a row, whatever the answer looks like', async (t) => {
  const harness = await startHarness(t);
  const client = new RawClient(harness.port).send('GET /old\r\n\r\n');
  client.socket.end();
  await client.closed;
  t.equal((await harness.rows()).length, 1);
});

t.test('a connection without a byte is no request', async (t) => {
  const harness = await startHarness(t);
  const ended = new RawClient(harness.port);
  ended.socket.end();
  await ended.closed;
  const reset = new RawClient(harness.port);
  await new Promise((resolve) => reset.socket.once('connect', resolve));
  reset.socket.resetAndDestroy();
  const blank = new RawClient(harness.port).send('\r\n\r\n');
  blank.socket.end();
  await blank.closed;
  t.equal((await harness.rows()).length, 0);
});

t.test('half a request, then the end of the connection', async (t) => {
  const harness = await startHarness(t);
  const client = new RawClient(harness.port).send('GET / HTTP/1.1\r\nHost: a');
  client.socket.end();
  t.match(await client.closed, /^HTTP\/1\.1 400 /);
  t.match(await harness.rows(), [{ reason: 'no_match', detail: { refused: 'incomplete_request' } }]);
});

t.test('half a request, then a reset; also behind a complete one in the same packet', async (t) => {
  const harness = await startHarness(t);
  const client = new RawClient(harness.port).send('GET /one HTTP/1.1\r\nHost: a\r\n\r\nGET /tw');
  await client.until(/"request_id"/);
  client.socket.resetAndDestroy();
  const idle = new RawClient(harness.port).send('GET /three HTTP/1.1\r\nHost: a\r\n\r\n');
  await idle.until(/"request_id"/);
  idle.socket.resetAndDestroy();
  while (harness.proxy.metrics.registry.getSingleMetric('customhouse_proxy_connections') !== undefined && await connectionsOf(harness.proxy.adminUrl) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const rows = await harness.rows();
  t.same(rows.map((row) => row.path).sort(), ['/one', '/three', undefined].sort());
  t.same(rows.find((row) => row.path === undefined)?.detail, { refused: 'incomplete_request', allowrule_eval: [] });
});

async function connectionsOf(adminUrl: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^customhouse_proxy_connections (\d+)$/m.exec(text)?.[1]);
}

t.test('a request that does not come to its end in time', async (t) => {
  const harness = await startHarness(t, { env: { PROXY_REQUEST_TIMEOUT_MS: '200' } });
  const silent = new RawClient(harness.port);
  const slow = new RawClient(harness.port).send('GET / HTTP/1.1\r\nHost: a\r\n');
  t.match(await slow.closed, /^HTTP\/1\.1 408 /);
  await silent.closed;
  t.match(await harness.rows(), [{ detail: { refused: 'request_timeout' } }]);
});

t.test('bad bytes in the body of a decided request make no second row', async (t) => {
  const harness = await startHarness(t);
  const at_once = await exchange(harness.port, 'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n');
  t.match(at_once, /^HTTP\/1\.1 407 /, 'the answer still comes');
  const later = new RawClient(harness.port).send('POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await later.until(/"request_id"/);
  later.send('ZZZ\r\n');
  await later.closed;
  const cut = new RawClient(harness.port).send('POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
  await cut.until(/"request_id"/);
  cut.socket.resetAndDestroy();
  const half = new RawClient(harness.port).send('POST /d HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
  half.socket.end();
  await half.closed;
  t.same((await harness.rows()).map((row) => row.path), ['/a', '/b', '/c', '/d']);
});

t.test('nothing after Connection: close is a request', async (t) => {
  const harness = await startHarness(t);
  const reply = await exchange(harness.port, `GET /a HTTP/1.1\r\nHost: a\r\n${close}\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n`);
  t.equal(reply.match(/HTTP\/1\.1 407/g)?.length, 1);
  t.same((await harness.rows()).map((row) => row.path), ['/a']);
});

t.test('answers keep the order of their requests when the last one ends the connection', async (t) => {
  const harness = await startHarness(t, { verify: async (token) => { await new Promise((resolve) => setTimeout(resolve, Number(token))); return undefined; } });
  const get = (path: string, delayMs: number): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Capability-Token: ${delayMs}\r\n\r\n`;
  for (const last of ['CONNECT z:1 HTTP/1.1\r\nX-Capability-Token: 1\r\n\r\n', 'BAD\r\n\r\n']) {
    const reply = await exchange(harness.port, get('/1', 60) + get('/2', 5) + last);
    const bodies = [...reply.matchAll(/\{"error":.*?\}\}?(?=HTTP|$)/g)].map((match) => JSON.parse(match[0]) as { error: { request_id: string } });
    t.equal(bodies.length, 3);
    const rows = await harness.rows();
    const order = bodies.map((body) => rows.find((row) => row.id === body.error.request_id)).map((row) => row?.path ?? row?.method ?? 'malformed');
    t.same(order, ['/1', '/2', last.startsWith('CONNECT') ? 'CONNECT' : 'malformed']);
  }
});

t.test('a large body of a denied request is not read to its end', async (t) => {
  const harness = await startHarness(t);
  const client = new RawClient(harness.port).send(`POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: ${100 * 1_048_576}\r\n\r\n`);
  await client.until(/"request_id"/);
  let sent = 0;
  const chunk = Buffer.alloc(65_536);
  client.socket.on('error', () => undefined);
  while (!client.socket.destroyed && sent < 100 * 1_048_576) {
    sent += chunk.length;
    await new Promise<void>((resolve) => client.socket.write(chunk, () => resolve()));
  }
  t.ok(sent < 50 * 1_048_576, 'the connection was cut long before');
  t.equal((await harness.rows()).length, 1);
});

t.test('a small body is dropped and the connection goes on', async (t) => {
  const harness = await startHarness(t);
  const client = new RawClient(harness.port).send(`POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: a\r\n${close}\r\n`);
  t.equal((await client.closed).match(/HTTP\/1\.1 407/g)?.length, 2);
  t.same((await harness.rows()).map((row) => row.path), ['/a', '/b']);
});
