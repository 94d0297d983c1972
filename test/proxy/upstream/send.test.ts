import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { startUpstream } from '../local-upstream.ts';
import { ask, cutOf, good, rawUpstream, requestTo, textOf, until, upstreamOf } from './upstream-harness.ts';

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

t.test('a body that is cut errors, and does not end', async (t) => {
  const cut: Readonly<Record<string, string>> = {
    length: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok',
    chunked: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n',
    chunk: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok',
    trailer: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-A: 1\r\n',
    close: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nok',
  };
  for (const end of ['end', 'reset'] as const) {
    for (const [name, text] of Object.entries(cut)) {
      const server = await rawUpstream(t, (socket) => socket.write(text, () => {
        // The head has to be read before a reset, which throws away what is on its way.
        setTimeout(() => (end === 'end' ? socket.end() : socket.resetAndDestroy()), 20);
      }));
      t.equal(await cutOf(await ask(upstreamOf(t), requestTo(server.port))), 'reset', `${name} ${end}`);
    }
  }
  const broken = await rawUpstream(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n'));
  t.equal(await cutOf(await ask(upstreamOf(t), requestTo(broken.port))), 'protocol_error');
  const whole = await rawUpstream(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nto the end'));
  t.equal(await textOf(await ask(upstreamOf(t), requestTo(whole.port))), 'to the end');
});

t.test('timeouts: head, body, and an upstream that does not read', async (t) => {
  const silent = await rawUpstream(t, () => undefined);
  t.same(await ask(upstreamOf(t, { PROXY_HEADERS_TIMEOUT_MS: '50' }), requestTo(silent.port)), { failure: 'headers_timeout', sent: true });
  const slow = await rawUpstream(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok'));
  t.equal(await cutOf(await ask(upstreamOf(t, { PROXY_BODY_IDLE_TIMEOUT_MS: '50' }), requestTo(slow.port))), 'body_timeout');
  const deaf = await rawUpstream(t, () => undefined, (socket) => socket.pause());
  const body = new Readable({ read() { this.push(Buffer.alloc(65_536)); } });
  t.same(await ask(upstreamOf(t, { PROXY_HEADERS_TIMEOUT_MS: '300' }), requestTo(deaf.port, { method: 'POST', body: { kind: 'stream' } }), { body, bodyLength: undefined }), { failure: 'body_timeout', sent: true });
  t.ok(body.destroyed);
  const dripping = await rawUpstream(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n');
    const timer = setInterval(() => socket.write('a'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  t.equal(await textOf(await ask(upstreamOf(t, { PROXY_BODY_IDLE_TIMEOUT_MS: '300' }), requestTo(dripping.port))), 'a'.repeat(20), 'a slow body is no idle one');
});

t.test('a connection that cannot be had: nothing was sent', async (t) => {
  const upstream = upstreamOf(t, { PROXY_CONNECT_TIMEOUT_MS: '150', PROXY_UPSTREAM_CONNECTIONS_MAX: '1' });
  const gone = await rawUpstream(t, () => undefined);
  gone.server.close();
  await once(gone.server, 'close');
  t.same(await ask(upstream, requestTo(gone.port)), { failure: 'connect_failed', sent: false });
  t.same(await ask(upstreamOf(t, {}, async () => [{ address: '127.0.0.1' }, { address: '::1' }, { address: '127.0.0.2' }]), requestTo(gone.port)), { failure: 'connect_failed', sent: false }, 'all addresses tried');
  t.same(await ask(upstream, requestTo(80, { host: '10.0.0.1' })), { failure: 'address_refused', sent: false });
  t.same(await ask(upstreamOf(t, {}, async () => { throw new Error('ENOTFOUND'); }), requestTo(80)), { failure: 'resolve_failed', sent: false });
  const busy = await rawUpstream(t, () => undefined);
  const first = new AbortController();
  const held = ask(upstream, requestTo(busy.port), { signal: first.signal });
  t.same(await ask(upstream, requestTo(busy.port)), { failure: 'connect_timeout', sent: false }, 'no connection came free in time');
  const leaving = new AbortController();
  const left = ask(upstream, requestTo(busy.port), { signal: leaving.signal });
  leaving.abort();
  t.same(await left, { failure: 'aborted', sent: false }, 'a wait is taken back');
  first.abort();
  t.same(await held, { failure: 'aborted', sent: true });
  t.equal(busy.connections(), 1);
  t.match(upstream.stats(), { waiting: 0 });
});

t.test('a method or header that cannot be written is not sent', async (t) => {
  const server = await rawUpstream(t, (socket) => socket.write(plain));
  const upstream = upstreamOf(t);
  const bad = [{ method: 'GE T' }, { path: '/a b' }, { path: '/a\r\nX: 1' }, { rawQuery: 'a\n' }, { headers: [['X-A', 'a\r\nX-B: b']] }, { headers: [['X A', 'b']] }, { headers: [['X-A', 'a\0']] }] as const;
  for (const part of bad) t.same(await ask(upstream, requestTo(server.port, part)), { failure: 'protocol_error', sent: false }, JSON.stringify(part));
  t.equal(server.received(), '');
});

t.test('aborts: before, while resolving, while waiting for the head, within the body; each ends the connection', async (t) => {
  const server = await rawUpstream(t, (socket, head) => head.includes('/body') && socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok'));
  const upstream = upstreamOf(t);
  t.same(await ask(upstream, requestTo(server.port), { signal: AbortSignal.abort() }), { failure: 'aborted', sent: false });
  const slowly = upstreamOf(t, {}, () => wait(200, [{ address: '127.0.0.1' }]));
  t.same(await ask(slowly, requestTo(server.port), { signal: AbortSignal.timeout(20) }), { failure: 'aborted', sent: false });
  t.equal(server.connections(), 0);
  const head = new AbortController();
  const waiting = ask(upstream, requestTo(server.port), { signal: head.signal });
  await until(() => server.received() !== '');
  head.abort();
  t.same(await waiting, { failure: 'aborted', sent: true });
  await until(() => server.sockets.size === 0);
  const late = new AbortController();
  const answer = await ask(upstream, requestTo(server.port, { path: '/body' }), { signal: late.signal });
  late.abort();
  t.equal(await cutOf(answer), 'aborted');
  await until(() => server.sockets.size === 0);
  good(await ask(upstream, requestTo(server.port, { path: '/body' }))).body.destroy();
  await until(() => server.sockets.size === 0);
  await until(() => upstream.stats().connections === 0);
  t.same(upstream.stats(), { origins: 1, connections: 0, waiting: 0 });
});

t.test('a body that the agent cuts, or that is not as long as it said, is not sent as a whole one', async (t) => {
  const server = await rawUpstream(t, (socket, head) => head.includes('/early') && socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'));
  const upstream = upstreamOf(t);
  const post = requestTo(server.port, { method: 'POST', body: { kind: 'stream' } });
  for (const [length, finish] of [[undefined, (body: PassThrough) => body.destroy(new Error('gone'))], [undefined, (body: PassThrough) => body.destroy()], [10, (body: PassThrough) => body.end()], [3, (body: PassThrough) => body.end('more')]] as const) {
    const body = new PassThrough();
    body.write('part');
    const sent = ask(upstream, post, { body, bodyLength: length });
    setTimeout(() => finish(body), 20);
    t.match(await sent, { failure: 'aborted', sent: true });
    await until(() => server.sockets.size === 0);
  }
  t.notMatch(server.received(), /\r\n0\r\n\r\n/);
  const open = new PassThrough();
  open.write('part');
  t.equal(await textOf(await ask(upstream, { ...post, path: '/early' }, { body: open, bodyLength: undefined })), 'no', 'an early answer is passed on');
  await until(() => open.destroyed && server.sockets.size === 0);
  t.pass('and the rest of the body not taken');
});

t.test('back-pressure: a reader that stops stops the upstream, an upstream that stops stops the body', async (t) => {
  let written = 0;
  const total = 64 * 1_048_576;
  const server = await startUpstream(t, {
    handler: (_request, response) => {
      response.writeHead(200, { 'content-length': String(total) });
      const block = Buffer.alloc(65_536);
      const more = (): void => {
        while (written < total && !response.destroyed) {
          written += block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    },
  });
  const { body } = good(await ask(upstreamOf(t), requestTo(server.port)));
  await wait(150);
  const stopped = written;
  t.ok(stopped < total / 2, `${stopped} bytes written while nobody read`);
  await wait(100);
  t.equal(written, stopped);
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length;
  t.equal(bytes, total);
  let made = 0;
  const deaf = await rawUpstream(t, () => undefined, (socket) => socket.pause());
  const source = new Readable({ read() { made += 65_536; this.push(Buffer.alloc(65_536)); } });
  const controller = new AbortController();
  const sending = ask(upstreamOf(t), requestTo(deaf.port, { method: 'POST', body: { kind: 'stream' } }), { body: source, bodyLength: undefined, signal: controller.signal });
  await wait(150);
  const taken = made;
  t.ok(taken < 32 * 1_048_576, `${taken} bytes taken`);
  await wait(100);
  t.equal(made, taken);
  controller.abort();
  t.same(await sending, { failure: 'aborted', sent: true });
});

t.test('a kept connection that ended is replaced before anything is sent; a request that was sent is not sent again', async (t) => {
  let drop = false;
  const server = await rawUpstream(t, (socket) => {
    if (drop) socket.destroy();
    else socket.write(plain);
  });
  const upstream = upstreamOf(t);
  for (let round = 0; round < 5; round += 1) {
    t.equal(await textOf(await ask(upstream, requestTo(server.port, { method: 'POST' }))), 'ok');
    for (const socket of server.sockets) socket.destroy();
    await until(() => upstream.stats().connections === 0);
  }
  t.equal(server.connections(), 5);
  drop = true;
  const before = server.received().length;
  t.same(await ask(upstream, requestTo(server.port)), { failure: 'reset', sent: true });
  t.equal(server.received().slice(before).match(/GET/g)?.length, 1);
});

t.test('thousands of requests, one after the other and at once, leave descriptors as they were', async (t) => {
  const server = await startUpstream(t);
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CONNECTIONS_MAX: '16' });
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  const round = async (): Promise<void> => {
    t.equal(await textOf(await ask(upstream, requestTo(server.port))), 'hello');
  };
  await Promise.all(Array.from({ length: 64 }, round));
  const before = descriptors();
  for (let at = 0; at < 3000; at += 1) if (await textOf(await ask(upstream, requestTo(server.port))) !== 'hello') t.fail('wrong answer');
  await Promise.all(Array.from({ length: 500 }, round));
  t.ok(descriptors() <= before + 4, `${before} before, ${descriptors()} after`);
  t.match(upstream.stats(), { origins: 1, waiting: 0 });
  t.ok(upstream.stats().connections <= 16);
});
