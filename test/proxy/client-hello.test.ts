import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import fc from 'fast-check';
import t from 'tap';
import { helloBytesMax, readClientHello } from '../../src/proxy/tls/client-hello.ts';

/** The first bytes that Node's client sends. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ...options });
  client.on('error', () => undefined);
  const [socket] = await once(server, 'connection') as [Socket];
  const [bytes] = await once(socket, 'data') as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same hello in records of this size. */
function inRecordsOf(size: number, hello: Buffer): Buffer {
  const body = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

function sni(content: Buffer, times = 1): Buffer {
  const extension = Buffer.concat(Array.from({ length: times }, () => Buffer.concat([Buffer.from([0, 0, content.length >> 8, content.length & 255]), content])));
  const body = Buffer.concat([Buffer.alloc(34, 3), Buffer.from([0, 0, 2, 19, 1, 1, 0, extension.length >> 8, extension.length & 255]), extension]);
  const handshake = Buffer.concat([Buffer.from([1, 0, body.length >> 8, body.length & 255]), body]);
  return Buffer.concat([Buffer.from([22, 3, 1, handshake.length >> 8, handshake.length & 255]), handshake]);
}
const list = (...entries: [type: number, name: string][]): Buffer => {
  const names = Buffer.concat(entries.map(([type, name]) => Buffer.concat([Buffer.from([type, 0, name.length]), Buffer.from(name, 'latin1')])));
  return Buffer.concat([Buffer.from([0, names.length]), names]);
};

t.test('hellos of a real client, whole and in pieces', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const hello = await helloOf({ maxVersion, servername: 'api.example.com', ALPNProtocols: ['h2', 'http/1.1'] });
    const named = { kind: 'hello', name: 'api.example.com' };
    t.strictSame(readClientHello(hello), named, maxVersion);
    t.strictSame(readClientHello(Buffer.concat([hello, Buffer.from('what follows')])), named);
    for (let length = 0; length < hello.length; length += 1) if (readClientHello(hello.subarray(0, length)).kind !== 'more') t.fail(`${length} bytes are not enough`);
    t.strictSame(readClientHello(inRecordsOf(Math.ceil(hello.length / 7), hello)), named, 'several records');
    t.strictSame(readClientHello(inRecordsOf(3, hello)), { kind: 'bad' }, 'more records than anybody sends');
    t.strictSame(readClientHello(await helloOf({ maxVersion, servername: '' })), { kind: 'hello', name: undefined });
  }
});

t.test('the name as it stands, and nothing where it is written in another way', async (t) => {
  t.strictSame(readClientHello(sni(list([0, 'a\0b.example']))), { kind: 'hello', name: 'a\0b.example' });
  t.strictSame(readClientHello(sni(list([0, '\xe4.example']))), { kind: 'hello', name: '\xe4.example' });
  for (const [why, bytes] of [
    ['two names', sni(list([0, 'a.example'], [0, 'b.example']))], ['two lists', sni(list([0, 'a.example']), 2)], ['no name', sni(list([0, '']))], ['an empty list', sni(list())],
    ['another kind of name', sni(list([1, 'a.example']))], ['a list that is too long', sni(Buffer.from([0, 9, 0, 0, 1, 97]))], ['http', Buffer.from('GET / HTTP/1.1\r\n')], ['SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1])],
    ['an alert', Buffer.from([21, 3, 3, 0, 2, 2, 0])], ['an empty record', Buffer.from([22, 3, 1, 0, 0])], ['another handshake message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['one that is too large', Buffer.from([22, 3, 1, 0, 4, 1, 0, helloBytesMax >> 8, 0])],
  ] as const) t.strictSame(readClientHello(bytes), { kind: 'bad' }, why);
});

t.test('any bytes: an answer, and more only while fewer than the bound were read', async () => {
  const start = sni(list([0, 'api.example.com']));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(start.length), (tail, keep) => {
    const read = readClientHello(Buffer.concat([start.subarray(0, keep), tail]));
    return ['hello', 'more', 'bad'].includes(read.kind);
  }));
  // Sixteen records that never complete a hello.
  const endless = Buffer.concat(Array.from({ length: 20 }, () => Buffer.concat([Buffer.from([22, 3, 1, 4, 0]), Buffer.from([1, 0, 63, 0]), Buffer.alloc(1020)])));
  fc.assert(fc.property(fc.integer({ min: helloBytesMax + 200, max: endless.length }), (length) => readClientHello(endless.subarray(0, length)).kind !== 'more'));
});
