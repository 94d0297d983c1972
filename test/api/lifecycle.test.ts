import { connect } from 'node:net';
import { Writable } from 'node:stream';
import t from 'tap';
import { createLogger } from '../../src/api/request-log.ts';
import { startApi } from '../../src/api/start.ts';
import { ask } from './ask.ts';
import { openEventStream } from './event-stream.ts';
import { startLiveApi } from './live-api.ts';
import { ids, sorted, tenantRows } from './rows.ts';

t.test('stop: streams end with a reason and resume elsewhere, the listener closes, stop can be called twice', async (t) => {
  const live = await startLiveApi(t);
  const { a, settings } = live;
  const lines: string[] = [];
  const api = await startApi({ ...settings, shutdownMs: 3000 }, createLogger('info', new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  })));
  const rows = sorted(tenantRows(a, 10), 'asc');
  const client = await openEventStream(api.url, '/v1/audit/stream', { credential: a.keys.full });
  await live.commitRows(rows.slice(0, 5));
  await client.received(5);
  t.equal((await ask(api.url, '/readyz', undefined)).status, 200);
  await Promise.all([api.stop(), api.stop()]);
  await client.commented('closing: shutdown');
  await client.ended;
  await t.rejects(fetch(`${api.url}/healthz`), 'nobody listens any more');
  await live.commitRows(rows.slice(5));
  const resumed = await openEventStream(live.url, '/v1/audit/stream', { credential: a.keys.full, lastEventId: client.events.at(-1)?.id ?? '' });
  t.same((await resumed.received(5)).map((event) => event.id), ids(rows.slice(5)), 'another process goes on where it ended');
  resumed.close();
  t.match(lines.join(''), /"msg":"api stopped"/);
  t.match(lines.join(''), /"reason":"shutdown"/);
});

t.test('stop does not wait longer than it may for a client that does not finish its request', async (t) => {
  const { settings } = await startLiveApi(t);
  const api = await startApi({ ...settings, shutdownMs: 300 }, createLogger('silent'));
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET /v1/audit HTTP/1.1\r\nhost: a\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  await api.stop();
  await closed;
  t.match(answer, /^HTTP\/1\.1 200 /, 'the first request was answered');
  t.notMatch(answer, 'request_timeout', 'the half one was cut off, its time was not waited for');
});

t.test('stop does not wait for a connection that never said anything', async (t) => {
  const { settings } = await startLiveApi(t);
  const api = await startApi({ ...settings, shutdownMs: 600_000 }, createLogger('silent'));
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve) => socket.once('connect', resolve));
  t.equal((await ask(api.url, '/healthz', undefined)).status, 200, 'so the server has accepted the one before');
  await api.stop();
  await closed;
});

t.test('a client that goes away cancels its query, and that is no error', async (t) => {
  let began = (): void => undefined;
  const asked = new Promise<void>((resolve) => (began = resolve));
  let cancelled = (): void => undefined;
  const aborted = new Promise<void>((resolve) => (cancelled = resolve));
  const live = await startLiveApi(t, {}, (deps) => ({
    ...deps,
    reader: {
      ...deps.reader,
      stats: (_orgId, _request, signal) => new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          cancelled();
          reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
        });
        began();
      }),
    },
  }));
  const abort = new AbortController();
  const answer = fetch(`${live.url}/v1/audit/stats`, { signal: abort.signal, headers: { authorization: `Bearer ${live.a.keys.full}` } });
  answer.catch(() => undefined);
  await asked;
  abort.abort();
  await aborted;
  t.equal((await ask(live.url, '/v1/audit', live.a.keys.full)).status, 200);
  t.match(await (await fetch(`${live.url}/metrics`)).text(), 'customhouse_api_reads{kind="queries",state="running"} 0');
  t.match(live.log(), 'request aborted by the client');
  t.notMatch(live.log(), /"level":(50|60)/);
});

t.test('each store may be away: the answer says so, and service resumes', async (t) => {
  const live = await startLiveApi(t);
  const { url, a, stack } = live;
  const rows = tenantRows(a, 20);
  await live.commitRows(rows);
  const owner = await a.token('carol', 'owner');

  await stack.redis.kill();
  t.match((await ask(url, '/readyz', undefined)).body.error.details, { dependencies: { redis: 'down', postgres: 'ok', clickhouse: 'ok' } });
  t.equal((await ask(url, '/v1/audit', owner)).body.events.length, 20, 'pages need no Redis');
  const client = await openEventStream(url, '/v1/audit/stream', { credential: owner, lastEventId: sorted(rows, 'asc')[9]?.id ?? '' });
  t.equal((await client.received(10)).length, 10, 'a stream resumes from the stores alone');
  client.close();
  await stack.redis.restart();

  await stack.postgres.kill();
  for (const credential of [owner, a.keys.full]) {
    const refused = await ask(url, '/v1/audit', credential);
    t.equal(refused.status, 503);
    t.match(refused.body.error, { code: 'dependency_unavailable', details: { dependency: 'postgres' } });
    t.notMatch(JSON.stringify(refused.body), /127\.0\.0\.1|ECONN|select/i);
  }
  t.equal((await ask(url, '/healthz', undefined)).status, 200);
  t.match((await ask(url, '/readyz', undefined)).body.error.message, 'postgres');
  await stack.postgres.restart();
  t.equal((await ask(url, '/v1/audit', owner)).body.events.length, 20);
  t.equal((await ask(url, '/readyz', undefined)).status, 200);
  for (const secret of [a.keys.full, owner, stack.postgresUrl, stack.redisUrl]) t.notOk(live.log().includes(secret), 'no secret in the log, also when stores fail');
});
