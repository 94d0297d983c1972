import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { ask, cutOf, good, rawUpstream, requestTo, textOf, until, upstreamOf } from './upstream-harness.ts';

const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

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
