import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import t from 'tap';
import { get, rowsOf, say, shake, shown, startRig, token } from './transparent-rig.ts';
import type { Rig } from './transparent-rig.ts';

/** What a client sends first. Its connection ends there. */
async function helloBytes(rig: Rig): Promise<Buffer> {
  const relay = createServer().listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const client = shake(rig, { port: (relay.address() as AddressInfo).port });
  const [socket] = await once(relay, 'connection') as [Socket];
  const [bytes] = await once(socket, 'data') as [Buffer];
  client.destroy();
  socket.destroy();
  relay.close();
  const copy = connect(rig.tlsPort, '127.0.0.1').on('error', () => undefined).resume();
  copy.end(bytes.subarray(0, 5));
  await new Promise((resolve) => copy.once('close', resolve));
  return bytes;
}

t.test('a client nobody is known for: needs a token, and leaves rows of its requests only', async (t) => {
  const rig = await startRig(t, { sources: `10.9.8.7=${token}` });
  t.match(await say(shake(rig), get('/v1/a')), /^HTTP\/1\.1 407 .*"no_token"/s);
  t.match(await say(shake(rig), get('/v1/b', { header: `Proxy-Authorization: Bearer ${token}\r\n` })), /^HTTP\/1\.1 502 /);
  const silent = shake(rig);
  await once(silent, 'secureConnect');
  silent.destroy();
  connect(rig.tlsPort, '127.0.0.1').end('GET / HTTP/1.1\r\n\r\n').resume();
  t.strictSame((await rowsOf(rig)).map(({ path, reason }) => [path, reason]), [['/v1/a', 'no_token'], ['/v1/b', undefined]]);
});

t.test('a connection of a known client without a request leaves one row', async (t) => {
  const rig = await startRig(t, { env: { PROXY_HANDSHAKE_TIMEOUT_MS: '50' } });
  const slow = connect(rig.tlsPort, '127.0.0.1');
  slow.on('error', () => undefined).resume();
  await once(slow, 'close');
  await rowsOf(rig);
  const plain = connect(rig.tlsPort, '127.0.0.1');
  plain.on('error', () => undefined).resume();
  plain.write('GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n');
  await once(plain, 'close');
  await rowsOf(rig);
  const h2 = shake(rig, { ALPNProtocols: ['h2'] });
  await new Promise((resolve) => h2.once('close', resolve));
  await rowsOf(rig);
  const silent = shake(rig);
  await once(silent, 'secureConnect');
  silent.end();
  t.strictSame(shown(await rowsOf(rig)), [
    [undefined, undefined, 'deny', 'no_match', 'tls_timeout'],
    [undefined, undefined, 'deny', 'no_match', 'tls_handshake'],
    ['api.example.com', undefined, 'deny', 'no_match', 'tls_handshake'],
    ['api.example.com', undefined, 'deny', 'no_match', 'connection_unused'],
  ]);
});

t.test('the token of an address that is no good: its connections say so', async (t) => {
  const rig = await startRig(t, { sources: '127.0.0.1=expired' });
  t.match(await say(shake(rig), get('/v1/a')), /^HTTP\/1\.1 403 .*"invalid_token"/s);
  const silent = shake(rig);
  await once(silent, 'secureConnect');
  silent.end();
  t.strictSame((await rowsOf(rig)).map(({ path, reason }) => [path, reason]), [['/v1/a', 'invalid_token'], [undefined, 'invalid_token']]);
});

t.test('connections have a bound, and stopping ends them with their rows', async (t) => {
  const rig = await startRig(t, { settings: { proxyConnectionsMax: 2 } });
  const [shaken, shaking] = [shake(rig), connect(rig.tlsPort, '127.0.0.1')];
  shaking.on('error', () => undefined).resume();
  await Promise.all([once(shaken, 'secureConnect'), once(shaking, 'connect')]);
  const third = connect(rig.tlsPort, '127.0.0.1').on('error', () => undefined).resume();
  await once(third, 'close');
  const closed = Promise.all([once(shaken, 'close'), once(shaking, 'close')]);
  shaken.resume();
  await Promise.all([rig.proxy.stop(1000), closed]);
  t.strictSame(shown(await rig.rows()).map((row) => (row as unknown[])[4]).sort(), ['connection_unused', 'tls_handshake']);
});

t.test('connections cut at every stage: one row for each, or for each of their requests', async (t) => {
  const rig = await startRig(t);
  const hello = await helloBytes(rig);
  const cut = async (after: number): Promise<void> => {
    const socket = connect(rig.tlsPort, '127.0.0.1').on('error', () => undefined).resume();
    for (const byte of hello.subarray(0, after)) socket.write(Buffer.of(byte));
    if (after % 2 === 0) socket.end();
    else await new Promise((resolve) => socket.write('', resolve)).then(() => socket.destroy());
    await new Promise((resolve) => socket.once('close', resolve));
  };
  await Promise.all(Array.from({ length: 40 }, (_, index) => cut(Math.floor((index * hello.length) / 40))));
  const shaken = Array.from({ length: 40 }, async (_, index) => {
    const secure = shake(rig);
    await once(secure, 'secureConnect');
    const text = get(`/v1/${index}`);
    const part = index % 4 === 0 ? 0 : index % 4 === 1 ? 9 : text.length;
    const closed = new Promise((resolve) => secure.once('close', resolve));
    secure.resume().write(text.slice(0, part));
    if (part < text.length) secure.end();
    await closed;
    return part === 0 ? 'unused' : part === 9 ? 'cut' : 'whole';
  });
  const kinds = await Promise.all(shaken);
  const rows = await rowsOf(rig);
  const count = (refused: string | undefined): number => rows.filter(({ detail }) => (detail as { refused?: string } | undefined)?.refused === refused).length;
  t.equal(rows.length, 80 + 1, 'and that of the connection the hello was taken from');
  t.equal(count('tls_handshake'), 41);
  t.equal(count('connection_unused'), kinds.filter((kind) => kind === 'unused').length);
  t.equal(rows.filter(({ decision }) => decision === 'allow').length, kinds.filter((kind) => kind === 'whole').length);
  t.strictSame(rig.logged, []);
});

t.test('a taken port leaves nothing running', async (t) => {
  const rig = await startRig(t);
  await t.rejects(startRig(t, { settings: { proxyTransparentPort: rig.tlsPort } }), { code: 'EADDRINUSE' });
  await t.rejects(startRig(t, { settings: { proxyDnsPort: rig.tlsPort } }), { code: 'EADDRINUSE' });
  await t.rejects(startRig(t, { sources: `127.0.0.1=${token},nowhere` }), { message: 'PROXY_SOURCES: entry 2 is not ADDRESS=CAPABILITY_TOKEN' });
});
