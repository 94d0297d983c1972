import { connect } from 'node:net';
import fc from 'fast-check';
import t from 'tap';
import type { Test } from 'tap';
import { startStack } from '../support/stack.ts';
import { errorOf, eventually, quietClient, rowsOf } from './quiet-client.ts';

const password = 'p:ä "\' ss';
const stack = await startStack(t, { clickhouse: { password } });
const client = quietClient(stack.clickhouseUrl);
t.teardown(() => client.close());
const pid = stack.clickhouse.pid;
const origin = `http://127.0.0.1:${stack.clickhouse.port}`;
const authorization = `Basic ${Buffer.from(`default:${password}`).toString('base64')}`;

async function healthy(t: Test): Promise<void> {
  t.same(await rowsOf(client, 'SELECT 1 AS n'), [{ n: 1 }]);
  t.equal(stack.clickhouse.pid, pid);
  t.doesNotThrow(() => process.kill(pid, 0));
}

/** Sends bytes as they are; answers what came back until the server, or we after a while, closed. */
function raw(bytes: Buffer | string, keepOpenMs = 300): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(stack.clickhouse.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
    socket.write(bytes);
    setTimeout(() => socket.destroy(), keepOpenMs);
  });
}

const send = async (body: string | Uint8Array<ArrayBuffer> | undefined, options: { method?: string; query?: string; headers?: Record<string, string>; path?: string } = {}): Promise<{ status: number; text: string; code: string | null }> => {
  const response = await fetch(`${origin}${options.path ?? '/'}${options.query ?? ''}`, { method: options.method ?? 'POST', body: body ?? null, headers: { authorization, ...options.headers } });
  return { status: response.status, text: await response.text(), code: response.headers.get('x-clickhouse-exception-code') };
};

t.test('only with user and password, by any of the ways ClickHouse takes them', async (t) => {
  const ask = async (headers: Record<string, string>, query = ''): Promise<string | null> => {
    const response = await fetch(`${origin}/?query=SELECT%201${query}`, { headers });
    await response.text();
    return response.headers.get('x-clickhouse-exception-code');
  };
  t.equal(await ask({ authorization }), null);
  t.equal(await ask({ 'x-clickhouse-user': 'default', 'x-clickhouse-key': 'wrong' }), '516');
  t.equal(await ask({}, `&user=default&password=${encodeURIComponent(password)}`), null);
  t.equal(await ask({}), '516');
  t.equal(await ask({}, `&user=other&password=${encodeURIComponent(password)}`), '516');
  t.equal(await ask({ authorization: 'Bearer abc' }), '516');
  t.equal(await ask({ authorization: 'Basic' }), '516');
  const wrong = quietClient(origin, { username: 'default', password: 'wrong' });
  t.teardown(() => wrong.close());
  t.match(await errorOf(wrong.query({ query: 'SELECT 1' })), { code: '516', type: 'AUTHENTICATION_FAILED' });
  t.same(await wrong.ping(), { success: true }, 'the ping asks for nothing');
});

t.test('pages in a browser are refused, also under a name of their own', async (t) => {
  t.match(await send('SELECT 1', { headers: { origin: 'http://evil.example' } }), { status: 403, code: '497' });
  t.match(await raw(`GET /?query=SELECT%201 HTTP/1.1\r\nHost: evil.example:8123\r\nAuthorization: ${authorization}\r\n\r\n`), /^HTTP\/1\.1 403 /);
});

t.test('broken HTTP', async (t) => {
  const pieces = [
    '\0\0\0\0', 'garbage\r\n\r\n', 'GET\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: abc\r\n\r\n', 'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    `GET /?query=${'x'.repeat(2_000_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(2_000_000)}\r\n\r\n`, 'GET // HTTP/1.1\r\nHost: localhost\r\n\r\n', 'GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 'DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n', 'CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n', 'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    Buffer.from('16030100c8010000c40303', 'hex'),
  ];
  for (const piece of pieces) t.notMatch(await raw(piece), /^HTTP\/1\.1 5(?!01)/, String(piece).slice(0, 50));
  await healthy(t);
});

t.test('wrong queries and bodies get a code of ClickHouse, none is an internal error', async (t) => {
  const cases: [Parameters<typeof send>, number, string][] = [
    [[new Uint8Array([0x53, 0xff, 0xfe, 0x00])], 400, '36'],
    [['SELECT \'abc'], 400, '62'],
    [['SELECT /* abc'], 400, '62'],
    [['('.repeat(100_000)], 500, '306'],
    [['SELECT 1', { query: '?no%20such=1' }], 404, '115'],
    [['SELECT 1', { query: '?param_=1' }], 404, '115'],
    [['SELECT 1', { query: '?param_a%27b=1' }], 404, '115'],
    [['SELECT 1', { query: '?database=%60%3B%20DROP' }], 404, '81'],
    [['SELECT 1', { query: '?query_id=%00' }], 400, '36'],
    [['SELECT 1', { query: '?session_id=a' }], 501, '48'],
    [['SELECT 1', { query: '?compress=1' }], 501, '48'],
    [['SELECT 1', { query: '?default_format=%27x' }], 404, '73'],
    [['SELECT 1', { headers: { 'content-encoding': 'nonsense' } }], 501, '48'],
    [['SELECT 1', { headers: { 'content-encoding': 'gzip' } }], 500, '354'],
    [['x', { headers: { 'content-type': 'multipart/form-data' } }], 400, '36'],
    [['x', { headers: { 'content-type': 'multipart/form-data; boundary=b' } }], 400, '36'],
    [['--b\r\n\r\n--b--', { headers: { 'content-type': 'multipart/form-data; boundary=b' } }], 400, '36'],
    [[`SELECT ${'1,'.repeat(1_000_000)}1`], 413, '229'],
    [[`SELECT ${'1,'.repeat(200_000)}1`], 400, '62'],
    [['KILL QUERY WHERE 1 SYNC'], 501, '48'],
  ];
  for (const [call, status, code] of cases) {
    const answer = await send(...call);
    t.match(answer, { status, code }, `${String(call[0]).slice(0, 30)} ${JSON.stringify(call[1] ?? {})} ${answer.text.slice(0, 100)}`);
  }
  t.match(await send(undefined, { method: 'GET', path: '/no-such-path' }), { status: 404, code: null });
  t.match(await send(undefined, { method: 'GET' }), { status: 200, text: 'Ok.\n' });
  await healthy(t);
});

t.test('random bytes as query, settings and insert data', async (t) => {
  await client.command({ query: 'CREATE TABLE fuzzed (n UInt32, s String) ENGINE = Memory' });
  const bytes = fc.uint8Array({ maxLength: 200 });
  const fragment = fc.constantFrom('SELECT', 'INSERT INTO', 'fuzzed', 'VALUES', 'FORMAT', 'JSONEachRow', 'TSV', '(', ')', ';', '\'', '`', '"', '--', '/*', '*/', '\n\n', '1', ',', '{p:String}', '\\', '$$', '#!', '\0', 'SETTINGS', 'a=1', 'ü', 'WITH', 'EXPLAIN', 'DESCRIBE', 'SHOW TABLES', '*');
  const query = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(' '));
  let internalErrors = 0;
  await fc.assert(fc.asyncProperty(query, bytes, fc.string({ unit: 'binary', maxLength: 20 }), async (sql, body, value) => {
    const answers = await Promise.all([
      send(sql),
      send(body),
      send(body, { query: `?query=${encodeURIComponent('INSERT INTO fuzzed FORMAT JSONEachRow')}` }),
      send(body, { query: `?query=${encodeURIComponent('INSERT INTO fuzzed FORMAT Native')}` }),
      send('SELECT {p:String}', { query: `?${new URLSearchParams({ param_p: value }).toString()}` }),
      send('SELECT 1', { query: `?${new URLSearchParams({ [value]: value }).toString()}` }),
    ]);
    internalErrors += answers.filter(({ code }) => code === '1002').length;
    t.equal(internalErrors, 0, sql);
  }), { numRuns: 150 });
  t.same(await rowsOf(client, 'EXISTS TABLE fuzzed'), [{ result: 1 }]);
  await healthy(t);
});

t.test('clients that leave at any moment', async (t) => {
  const head = `POST /?query=${encodeURIComponent('INSERT INTO fuzzed FORMAT JSONEachRow')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n`;
  const select = `POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Length: 46\r\n\r\nSELECT number FROM numbers(100000000) -- quick`;
  const before = (await rowsOf(client, 'SELECT count() AS c FROM fuzzed'))[0];
  for (const bytes of [head, `${head}Content-Length: 100000\r\n\r\n{"n":1}\n`, `${head}Content-Length: 100000\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08`, `${head}Transfer-Encoding: chunked\r\n\r\n8\r\n{"n":1}\n\r\n`, select]) {
    await Promise.all([0, 1, 5, 20, 50].map((ms) => raw(Buffer.from(bytes, 'latin1'), ms)));
  }
  await eventually('the engine is idle', async () => (await rowsOf(client, 'SELECT query FROM system.processes')).every(({ query }) => !String(query).includes('quick')));
  t.same((await rowsOf(client, 'SELECT count() AS c FROM fuzzed'))[0], before);
  await healthy(t);
});
