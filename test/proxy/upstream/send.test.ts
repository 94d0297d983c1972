import { Readable } from 'node:stream';
import t from 'tap';
import { startUpstream } from '../local-upstream.ts';
import { ask, good, rawUpstream, requestTo, textOf, until, upstreamOf } from './upstream-harness.ts';

const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

t.test('a request goes out as it was decided: Host and framing are ours', async (t) => {
  const server = await rawUpstream(t, (socket) => socket.write(plain));
  const upstream = upstreamOf(t);
  const headers = [
    ['X-First', 'é'], ['Host', 'evil.example'], ['x-first', 'again'], ['Expect', '100-continue'], ['Content-Length', '7'], ['Transfer-Encoding', 'gzip'], ['Connection', 'X-First'],
    ['Proxy-Authorization', 'secret'], ['Upgrade', 'h2c'], ['TE', 'trailers'], ['Keep-Alive', '1'], ['Authorization', 'Bearer t'],
  ] as const;
  t.equal(await textOf(await ask(upstream, requestTo(server.port, { path: '/a%20b', rawQuery: 'q=1&q=2', headers }))), 'ok');
  t.equal(server.received(), `GET /a%20b?q=1&q=2 HTTP/1.1\r\nhost: up.example:${server.port}\r\nconnection: keep-alive\r\nX-First: é\r\nx-first: again\r\nAuthorization: Bearer t\r\n\r\n`);
});

t.test('bodies: a buffer and a stream of known length with their length, another stream chunked', async (t) => {
  const server = await startUpstream(t);
  const upstream = upstreamOf(t);
  const post = requestTo(server.port, { method: 'POST', body: { kind: 'stream' } });
  await textOf(await ask(upstream, post, { body: Buffer.from('buffered'), bodyLength: 8 }));
  await textOf(await ask(upstream, post, { body: Readable.from([Buffer.from('str'), Buffer.from('eam')], { objectMode: false }), bodyLength: 6 }));
  await textOf(await ask(upstream, post, { body: Readable.from([Buffer.from('chun'), Buffer.from('ked')], { objectMode: false }), bodyLength: undefined }));
  await textOf(await ask(upstream, post));
  await textOf(await ask(upstream, { ...post, method: 'GET' }, { body: Readable.from([Buffer.from('get')], { objectMode: false }), bodyLength: 3 }));
  t.same(server.hits.map(({ body }) => body), ['buffered', 'stream', 'chunked', '', 'get']);
  t.same(server.hits.map((_, at) => [server.header(at, 'content-length'), server.header(at, 'transfer-encoding')]), [['8', undefined], ['6', undefined], [undefined, 'chunked'], ['0', undefined], ['3', undefined]]);
});

t.test('an answer is told as it came: order, case, repeated headers, redirects, trailers', async (t) => {
  const server = await rawUpstream(t, (socket) => socket.write('HTTP/1.1 302 Elsewhere\r\nX-B: 1\r\nSet-Cookie: a=1\r\nx-a: \xe9\r\nSet-Cookie: b=2\r\nLocation: http://127.0.0.1/\r\nTransfer-Encoding: chunked\r\n\r\n2;ext=1\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 3\r\nx-sum: 4\r\n\r\n', 'latin1'));
  const answer = good(await ask(upstreamOf(t), requestTo(server.port)));
  t.equal(answer.status, 302);
  t.same(answer.headers, [['X-B', '1'], ['Set-Cookie', 'a=1'], ['x-a', 'é'], ['Set-Cookie', 'b=2'], ['Location', 'http://127.0.0.1/'], ['Transfer-Encoding', 'chunked']]);
  t.equal(await textOf(answer), 'abc');
  t.same(answer.trailers(), [['X-Sum', '3'], ['x-sum', '4']]);
  t.equal(server.connections(), 1);
});

t.test('answers without a body leave the connection in step', async (t) => {
  const server = await rawUpstream(t, (socket, head) => socket.write(head.startsWith('HEAD') ? 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n' : head.includes('/304') ? 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n' : head.includes('/204') ? 'HTTP/1.1 204 No Content\r\n\r\n' : plain));
  const upstream = upstreamOf(t);
  for (const [method, path, text] of [['HEAD', '/', ''], ['GET', '/304', ''], ['GET', '/204', ''], ['GET', '/', 'ok'], ['HEAD', '/', ''], ['GET', '/', 'ok']] as const) t.equal(await textOf(await ask(upstream, requestTo(server.port, { method, path }))), text, `${method} ${path}`);
});

t.test('interim answers are handed on, within a bound', async (t) => {
  const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  const server = await rawUpstream(t, (socket, head) => socket.write((head.includes('/flood') ? early.repeat(40) : `${early}HTTP/1.1 102 Processing\r\n\r\n`) + plain));
  const seen: unknown[] = [];
  const upstream = upstreamOf(t);
  t.equal(await textOf(await ask(upstream, requestTo(server.port), { onInterim: (status, headers) => seen.push([status, headers]) })), 'ok');
  t.same(seen, [[103, [['Link', '</a>']]], [102, []]]);
  t.same(await ask(upstream, requestTo(server.port, { path: '/flood' })), { failure: 'protocol_error', sent: true });
});

t.test('answers that two readers could end at two places, and other broken ones', async (t) => {
  const broken: Readonly<Record<string, string>> = {
    'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
    'different lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!',
    'a list of lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok',
    'a signed length': 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok',
    'an empty length': 'HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok',
    'length and coding': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'coding and length': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'gzip, chunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'chunked, identity': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'identity': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok',
    'two codings': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'xchunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'coding with a tab': 'HTTP/1.1 200 OK\r\nTransfer-Encoding:\x0bchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'a space before the colon': 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok',
    'a folded line': 'HTTP/1.1 200 OK\r\nX-A: 1\r\n Content-Length: 9\r\nContent-Length: 2\r\n\r\nok',
    'a NUL': 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 2\r\n\r\nok',
    'a bare CR': 'HTTP/1.1 200 OK\r\nX-A: a\rX-B: b\r\nContent-Length: 2\r\n\r\nok',
    'no HTTP': 'SSH-2.0-OpenSSH_9.6\r\n',
    'HTTP/2': 'HTTP/2.5 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'a status of two digits': 'HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok',
    'a switch nobody asked for': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
    'a 100 nobody asked for': `HTTP/1.1 100 Continue\r\n\r\n${plain}`,
    'a bare switch': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'endless headers': `HTTP/1.1 200 OK\r\n${'X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(3000)}\r\n`,
  };
  let answer = '';
  const server = await rawUpstream(t, (socket) => socket.write(answer, 'latin1'));
  const upstream = upstreamOf(t, { PROXY_HEADERS_TIMEOUT_MS: '700' });
  for (const [name, text] of Object.entries(broken)) {
    answer = text;
    t.same(await ask(upstream, requestTo(server.port)), { failure: 'protocol_error', sent: true }, name);
  }
  answer = plain;
  t.equal(await textOf(await ask(upstream, requestTo(server.port))), 'ok');
  await until(() => server.sockets.size === 1);
  t.pass('connections with broken answers are ended');
});

t.test('bytes after an answer, or without a request, are nobody\'s answer', async (t) => {
  const server = await rawUpstream(t, (socket, head) => socket.write(head.includes('/extra') ? `${plain}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged` : plain));
  const upstream = upstreamOf(t);
  for (let round = 0; round < 20; round += 1) {
    t.equal(await textOf(await ask(upstream, requestTo(server.port, { path: '/extra' }))), 'ok');
    t.equal(await textOf(await ask(upstream, requestTo(server.port))), 'ok');
  }
});
