import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import type { BudgetStore } from '../../src/budgets/contract.ts';
import { testAuthority } from './clients/test-authority.ts';
import { startUpstream } from './local-upstream.ts';
import { planted } from './secrets/planted.ts';
import { secretRig } from './secrets/rig.ts';

const closedPort = 9;
const authority = await testAuthority(t);
const tls = await authority.certificateFor('api.example.com');

/** The spellings an upstream may answer a secret in. */
function echoes(text: string): string {
  return [text, Buffer.from(text).toString('base64'), encodeURIComponent(text), Buffer.from(text).toString('hex'), JSON.stringify({ text }), Buffer.from(`user:${text}`).toString('base64')].join(' ');
}

t.test('an upstream that answers all it was sent, in its headers, body and trailers', async (t) => {
  const upstream = await startUpstream(t, {
    tls,
    handler: (request, response) => {
      const sent = [String(request.headers['x-key']), String(request.headers['authorization']), request.url ?? ''];
      response.writeHead(200, { 'x-echo': sent.map(encodeURI), 'x-same': String(request.headers['x-key']), 'x-own': planted.answer, trailer: 'x-late', 'set-cookie': `key=${String(request.headers['x-key'])}; ${planted.answer}` });
      const body = `${planted.answer} ${sent.map(echoes).join('\n')}`;
      for (let at = 0; at < body.length; at += 7) response.write(body.slice(at, at + 7));
      response.addTrailers({ 'x-late': sent[0] ?? '' });
      response.end();
    },
  });
  const rig = await secretRig(t, authority, upstream.port);
  t.match(await rig.ask('GET /v1/a'), / 200 OK/);
  t.match(await rig.ask('POST /v1/a', [], JSON.stringify({ key: planted.body })), / 200 OK/);
  t.match(await rig.ask('PUT /merge/a', [], JSON.stringify({ key: 'x', own: planted.body })), / 200 OK/);
  // They did go out, and the agent's own things did come back: there was something to find.
  t.equal(upstream.header(0, 'x-key'), planted.workspace);
  t.equal(upstream.header(0, 'authorization'), `Bearer ${planted.credential}`);
  t.match(new URLSearchParams(upstream.hits[0]?.url.split('?')[1]).get('api_key'), planted.queryKey);
  t.match(upstream.hits[2]?.body, planted.workspace);
  t.match(rig.received[1], planted.answer);
  t.match(rig.received[1], planted.query);
  t.equal((await rig.harness.rows()).length, 3);
  t.strictSame(await rig.leaks(), []);
});

t.test('denied: by rule, schema, format, expression; mints and transforms that fail', async (t) => {
  const upstream = await startUpstream(t, { tls });
  const rig = await secretRig(t, authority, upstream.port);
  const { body } = planted;
  for (const [line, text, status] of [
    ['GET /none', '', 403], ['DELETE /v1/a', '', 403],
    ['PUT /v1/a', JSON.stringify({ model: body }), 403], ['PUT /v1/a', JSON.stringify({ [body]: 1 }), 403], ['PUT /v1/a', JSON.stringify({ note: body }), 403], ['PUT /v1/a', JSON.stringify(body), 403],
    ['PUT /v1/a', `{"model": ${body}`, 403], ['PUT /v1/a', `{"${body}": 1, "${body}": 2}`, 403],
    ['PATCH /v1/a', JSON.stringify({ token: body }), 403], ['PATCH /v1/a', JSON.stringify({ [body]: 1 }), 403],
    ['GET /unminted/a', '', 200], ['GET /failing/a', '', 200],
  ] as const) t.match(await rig.ask(line, [], text), new RegExp(`^HTTP/1\\.1 ${status} `), `${line} ${text}`);
  t.match(await rig.ask('PUT /v1/a', ['Connection: close', `Content-Encoding: ${planted.wire}`], '{}'), / 4\d\d /);
  const rows = await rig.harness.rows();
  t.match(rows.find(({ path }) => path === '/unminted/a'), { auth_failures: { broken: 'auth_unavailable', absent: 'auth_unavailable' } });
  t.match(rows.find(({ path }) => path === '/failing/a'), { transforms_failed: { number: 'eval_error', lines: 'apply_error' } });
  t.equal(upstream.header(0, 'authorization'), undefined, 'a mint that failed: not the own one of the agent either');
  t.strictSame(await rig.leaks(), []);
});

t.test('bytes that are no request, tokens that are none, targets that hold secrets', async (t) => {
  const rig = await secretRig(t, authority, closedPort);
  const { wire } = planted;
  const auth = 'Proxy-Authorization: Bearer <token>\r\n';
  for (const bytes of [
    `${wire} /x HTTP/1.1\r\n\r\n`, `GET /x${wire} ${wire}\r\n\r\n`, `GET /x HTTP/1.1\r\n${wire} : x\r\n\r\n`, `GET /x HTTP/1.1\r\nX-Key: ${wire}\x00\r\n\r\n`, `GET /x HTTP/1.1\r\nAuthorization: ${wire}\r\nBad\r\n\r\n`,
    `POST /x HTTP/1.1\r\nHost: a\r\n${auth}Transfer-Encoding: ${wire}\r\n\r\n`, `POST /x HTTP/1.1\r\nHost: a\r\n${auth}Transfer-Encoding: chunked\r\n\r\n${wire}\r\n`, `GET /x HTTP/1.1\r\nX: ${wire.repeat(2000)}\r\n\r\n`,
    `GET http://user:${wire}@api.example.com:9/v1/a HTTP/1.1\r\nHost: api.example.com:9\r\n${auth}Connection: close\r\n\r\n`, `GET http://api.example.com:9/v1/a#${wire} HTTP/1.1\r\nHost: api.example.com:9\r\n${auth}Connection: close\r\n\r\n`,
    `CONNECT user:${wire}@api.example.com:9 HTTP/1.1\r\n${auth}\r\n`, `CONNECT api.example.com:9 HTTP/1.1\r\nHost: user:${wire}@x\r\n${auth}\r\n`, `CONNECT api.example.com:9 HTTP/1.1\r\n${auth}\r\nnot TLS ${wire}`,
    `GET http://api.example.com:9/v1/a HTTP/1.1\r\nHost: ${wire}\r\n${auth}Connection: close\r\n\r\n`, `GET http://api.example.com:9/v1/a HTTP/1.1\r\nHost: api.example.com:9\r\n${auth}Upgrade: ${wire}\r\nConnection: Upgrade\r\n\r\n`,
    `GET /v1/a HTTP/1.1\r\nHost: api.example.com:9\r\n${auth}Expect: ${wire}\r\nConnection: close\r\n\r\n`, `GET /v1/a HTTP/1.1\r\nHost: api.example.com:9\r\n${auth}Proxy-Authorization: Bearer ${wire}\r\nConnection: close\r\n\r\n`,
    ...[`Basic ${Buffer.from(`agent:${wire}`).toString('base64')}`, `Basic ${wire}`, `Bearer ${wire}`, `Bearer ${wire}.${wire}.${wire}`, `${wire}`, 'Bearer <expired>', `Bearer <token>${wire}`].map((value) => `GET http://api.example.com:9/v1/a HTTP/1.1\r\nHost: api.example.com:9\r\nProxy-Authorization: ${value}\r\nConnection: close\r\n\r\n`),
  ]) {
    t.match(await rig.send(bytes), /HTTP\/1\.1 \d/, JSON.stringify(bytes.slice(0, 60)));
  }
  t.strictSame(await rig.leaks(), []);
});

t.test('an upstream that is not there, cuts, talks nonsense, or compresses', async (t) => {
  const answers: readonly ((head: string) => string | Buffer)[] = [
    (head) => `HTTP/1.1 200 OK\r\n${head}\r\nbroken line ${planted.answer}\r\n\r\n`, (head) => `nonsense ${head} ${planted.answer}\r\n\r\n`, (head) => `HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${head}`,
    (head) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${head.slice(0, 40)}\r\n`, (head) => `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${head.length}\r\n\r\n${head}`, () => '',
    (head) => { const body = gzipSync(head); return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`), body]); },
    (head) => `HTTP/1.1 302 Found\r\nLocation: https://elsewhere/?${encodeURIComponent(head)}\r\nContent-Length: 0\r\n\r\n`,
  ];
  for (const [at, answer] of answers.entries()) {
    const server = createServer(tls, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (chunk: Buffer) => socket.end(answer(chunk.toString('latin1').replaceAll('\r\n', ' '))));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => void server.close());
    const rig = await secretRig(t, authority, (server.address() as AddressInfo).port);
    t.match(await rig.ask('GET /v1/a'), /^HTTP\/1\.1 (?:200|302|502) /, `answer ${at}`);
    server.close();
    t.match(await rig.ask('POST /v1/a', [], planted.body), /^HTTP\/1\.1 502 /, `answer ${at}, then nobody there`);
    t.strictSame(await rig.leaks(), [], `answer ${at}`);
  }
});

t.test('agents that go: within their body, while the upstream answers, within a WebSocket', async (t) => {
  const upstream = await startUpstream(t, {
    tls,
    handler: (request, response) => void response.write(`${String(request.headers['x-key'])} endless.`),
    onUpgrade: (request, socket) => {
      socket.on('error', () => undefined);
      socket.on('end', () => socket.end()).resume();
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Echo: ${String(request.headers['x-key'])}\r\n\r\nopen ${String(request.headers['authorization'])}.`);
    },
  });
  const rig = await secretRig(t, authority, upstream.port);
  const body = await rig.tunnel();
  await body.send(rig.text('POST /v1/a', [], planted.body).slice(0, -4));
  while (upstream.hits.length < 1) await new Promise((resolve) => setTimeout(resolve, 2));
  await body.reset();
const answer = await rig.tunnel();
  await answer.send(rig.text('GET /v1/b'));
  await answer.until(/endless\./);
  await answer.reset();
const socket = await rig.tunnel();
  await socket.send(rig.text('GET /v1/c', ['Connection: Upgrade', 'Upgrade: websocket']));
  await socket.until(/open [^]*\./);
await socket.end(planted.body);
rig.received.push(answer.received, socket.received);
  t.match(socket.received, /open Bearer \*+\./);
  let rows = await rig.harness.rows();
  while (rows.length < 3) rows = await rig.harness.rows();
  t.strictSame(await rig.leaks(), []);
});

t.test('the proxy itself fails: its budgets, its registry, its upstream leg, its disk', async (t) => {
  const failing = (): Promise<never> => Promise.reject(new Error('not now'));
  const budgets: BudgetStore = new Proxy({} as BudgetStore, { get: () => failing });
  for (const [name, options] of Object.entries({ budgets: { budgets }, registry: { activate: failing }, send: { send: failing }, mint: { mint: failing }, disk: { journal: { diskBytesMax: 70_000, sealBytes: 65_536 } } })) {
    const upstream = await startUpstream(t, { tls });
    const rig = await secretRig(t, authority, upstream.port, options);
    const answer = await rig.ask('POST /v1/a', [], JSON.stringify({ key: planted.body }));
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${name === 'disk' ? 503 : 403} `), name);
    t.strictSame(await rig.leaks(), [], name);
  }
});

t.test('the search finds what is there', async (t) => {
  const upstream = await startUpstream(t, { tls, handler: (_, response) => response.end() });
  const rig = await secretRig(t, authority, upstream.port);
  await rig.ask(`GET /v1/${planted.wire}`);
  rig.harness.logged.push({ err: new Error(planted.body, { cause: new Error(planted.answer) }) });
  rig.received.push(Buffer.from(planted.credential).toString('base64'), encodeURIComponent(planted.queryKey));
  const found = (await rig.leaks()).map((leak) => leak.slice(0, leak.indexOf(':'))).sort();
  t.strictSame(found.filter((leak) => !leak.includes('file')), ['answer in logs', 'body in logs', 'credential in answer 2', 'queryKey in answer 3', 'wire in rows']);
  t.ok(found.some((leak) => leak.startsWith('wire in file ')), 'in the files of the journal too');
});
