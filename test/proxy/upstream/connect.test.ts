import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import { startUpstream } from '../local-upstream.ts';
import { ask, certificates, good, rawUpstream, requestTo, textOf, until, upstreamOf } from './upstream-harness.ts';

const authority = certificates(t);
const leaf = authority.issue(['DNS:up.example', 'IP:127.0.0.1']);
const https = (port: number, host = 'up.example') => requestTo(port, { scheme: 'https', host });

t.test('TLS is verified against the host of the policy', async (t) => {
  const server = await startUpstream(t, { tls: leaf });
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CA: authority.caFile });
  t.equal(await textOf(await ask(upstream, https(server.port))), 'hello');
  t.equal(server.header(0, 'host'), `up.example:${server.port}`);
  t.equal(await textOf(await ask(upstream, https(server.port, '127.0.0.1'), { literal: true })), 'hello', 'an address by its IP name');
  t.same(await ask(upstream, https(server.port, 'other.example')), { failure: 'tls_failed', sent: false }, 'another name');
  t.same(await ask(upstream, { ...https(server.port, 'other.example'), headers: [['Host', 'up.example']] }), { failure: 'tls_failed', sent: false }, 'a header does not change whom we expect');
  t.same(await ask(upstream, https(server.port, '127.0.0.2'), { literal: true }), { failure: 'connect_failed', sent: false }, 'nobody listens there');
  t.same(await ask(upstreamOf(t), https(server.port)), { failure: 'tls_failed', sent: false }, 'an authority we do not know');
  t.equal(server.hits.length, 2);
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.teardown(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
  t.same(await ask(upstreamOf(t), https(server.port)), { failure: 'tls_failed', sent: false }, 'whatever the environment says');
});

t.test('TLS: resumed sessions, SNI, protocol', async (t) => {
  const seen: { readonly sni: string | false | undefined; readonly resumed: boolean; readonly alpn: string | false | null }[] = [];
  const server = createTlsServer({ ...leaf, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    seen.push({ sni: (socket as unknown as { readonly servername?: string | false }).servername, resumed: socket.isSessionReused(), alpn: socket.alpnProtocol });
    socket.on('error', () => undefined);
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CA: authority.caFile });
  for (let round = 0; round < 3; round += 1) t.equal(await textOf(await ask(upstream, https(port))), 'ok');
  t.same(seen.map(({ sni, alpn }) => [sni, alpn]), Array.from({ length: 3 }, () => ['up.example', 'http/1.1']));
  t.same(seen.map(({ resumed }) => resumed), [false, true, true], 'the next connection resumes the session of the last');
  t.equal(await textOf(await ask(upstream, https(port, '127.0.0.1'), { literal: true })), 'ok');
  t.notOk(seen.at(-1)?.resumed, 'and never that of another name');
  t.notOk(seen.at(-1)?.sni, 'no name is shown for an address');
});

t.test('TLS that does not come about', async (t) => {
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CA: authority.caFile, PROXY_CONNECT_TIMEOUT_MS: '150' });
  const plain = await startUpstream(t);
  t.same(await ask(upstream, https(plain.port)), { failure: 'tls_failed', sent: false }, 'plain HTTP');
  const closing = await rawUpstream(t, () => undefined, (socket) => socket.end());
  t.same(await ask(upstream, https(closing.port)), { failure: 'tls_failed', sent: false }, 'closed within the handshake');
  const silent = await rawUpstream(t, () => undefined);
  t.same(await ask(upstream, https(silent.port)), { failure: 'connect_timeout', sent: false }, 'a handshake without end');
  await until(() => silent.sockets.size === 0);
  t.equal(plain.hits.length, 0);
  const abort = new AbortController();
  const waiting = ask(upstreamOf(t), https(silent.port), { signal: abort.signal });
  await until(() => silent.sockets.size === 1);
  abort.abort();
  t.same(await waiting, { failure: 'aborted', sent: false });
  await until(() => silent.sockets.size === 0);
});

t.test('rebinding: what was vetted is dialled, however the name answers later', async (t) => {
  const here = await startUpstream(t, { handler: (_request, response) => response.writeHead(200, { connection: 'close' }).end('vetted') });
  const trap = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrap'));
  trap.listen(here.port, '127.0.0.2');
  await once(trap, 'listening');
  t.teardown(() => trap.close());
  let lookups = 0;
  const upstream = upstreamOf(t, { PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1/32' }, async () => {
    lookups += 1;
    return [{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2' }];
  });
  for (let round = 0; round < 5; round += 1) t.equal(await textOf(await ask(upstream, requestTo(here.port))), 'vetted');
  t.equal(lookups, 1);
  const mixed = upstreamOf(t, { PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1/32' }, async () => [{ address: '127.0.0.1' }, { address: '127.0.0.2' }]);
  t.same(await ask(mixed, requestTo(here.port)), { failure: 'address_refused', sent: false });
  t.equal(here.hits.length, 5);
});

t.test('the next address is dialled where one does not answer', async (t) => {
  const server = await startUpstream(t);
  const upstream = upstreamOf(t, {}, async () => [{ address: '127.0.0.3' }, { address: '::1' }, { address: '127.0.0.1' }]);
  t.equal(await textOf(await ask(upstream, requestTo(server.port))), 'hello');
});

t.test('connections of one name serve no other, and none outlives its vetted addresses', async (t) => {
  const server = await rawUpstream(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  const upstream = upstreamOf(t);
  for (const host of ['a.example', 'b.example', 'a.example', 'b.example']) t.equal(await textOf(await ask(upstream, requestTo(server.port, { host }))), 'ok');
  t.equal(server.connections(), 2);
  t.same(upstream.stats(), { origins: 2, connections: 2, waiting: 0 });
  upstream.stop();
  await until(() => server.sockets.size === 0);
});

t.test('our own listeners are not dialled', async (t) => {
  const server = await startUpstream(t);
  const upstream = upstreamOf(t, { PROXY_PORT: String(server.port) });
  t.same(await ask(upstream, requestTo(server.port)), { failure: 'address_refused', sent: false });
  t.same(await ask(upstream, requestTo(server.port, { host: '127.0.0.1' }), { literal: true }), { failure: 'address_refused', sent: false });
});

t.test('an upgrade: the connection itself, with what came right after the switch', async (t) => {
  const server = await startUpstream(t, {
    onUpgrade: (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nfirst');
      socket.on('data', (chunk: Buffer) => socket.write(`echo ${chunk.toString()}`));
      socket.on('error', () => undefined);
      socket.on('end', () => socket.end());
    },
  });
  const upstream = upstreamOf(t);
  const abort = new AbortController();
  const answer = good(await ask(upstream, requestTo(server.port, { headers: [['Sec-WebSocket-Key', 'k']] }), { upgrade: 'websocket', signal: abort.signal }));
  t.equal(answer.status, 101);
  t.same(answer.headers.at(-1), ['Sec-WebSocket-Accept', 'x']);
  const { socket } = answer;
  if (socket === undefined) return t.fail('no connection');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await until(() => text === 'first');
  socket.write('more');
  await until(() => text === 'firstecho more');
  t.match(upstream.stats(), { connections: 1 });
  abort.abort();
  await once(socket, 'close');
  await until(() => upstream.stats().connections === 0);
  t.pass('an abort ends it');
});

t.test('an upgrade that is refused is an answer; one to something else is none', async (t) => {
  const server = await rawUpstream(t, (socket, head) => socket.write(
    head.includes('/no') ? 'HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno' : head.includes('/bare') ? 'HTTP/1.1 101 Switching Protocols\r\n\r\n' : 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n',
  ));
  const upstream = upstreamOf(t);
  const refused = good(await ask(upstream, requestTo(server.port, { path: '/no' }), { upgrade: 'websocket' }));
  t.equal(refused.status, 426);
  t.equal(refused.socket, undefined);
  t.equal(await textOf(refused), 'no');
  t.same(await ask(upstream, requestTo(server.port, { path: '/other' }), { upgrade: 'websocket' }), { failure: 'protocol_error', sent: true });
  t.same(await ask(upstream, requestTo(server.port, { path: '/bare' }), { upgrade: 'websocket' }), { failure: 'protocol_error', sent: true });
  t.match(server.received(), /\r\nconnection: upgrade\r\nupgrade: websocket\r\n/);
  await until(() => server.sockets.size === 0);
});

t.test('an upstream that ends an upgraded connection frees its place', async (t) => {
  const server = await rawUpstream(t, (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n', () => setTimeout(() => socket.resetAndDestroy(), 10)));
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CONNECTIONS_MAX: '1' });
  for (let round = 0; round < 3; round += 1) {
    const { socket } = good(await ask(upstream, requestTo(server.port), { upgrade: 'websocket' }));
    if (socket === undefined) return t.fail('no connection');
    socket.resume();
    if (!socket.destroyed) await once(socket, 'close').catch(() => undefined);
  }
  await until(() => upstream.stats().connections === 0);
});
