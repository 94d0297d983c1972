import { createSocket } from 'node:dgram';
import type { RemoteInfo, Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { decode, encode } from 'dns-packet';
import type { Answer, DecodedPacket } from 'dns-packet';
import t from 'tap';
import { createForwarder, forwardDefaults } from '../../../src/proxy/dns/forward.ts';
import type { ForwardSettings, Forwarder } from '../../../src/proxy/dns/forward.ts';
import { isTruncated, matchAnswer, readResolution, upstreamQuery } from '../../../src/proxy/dns/upstream-message.ts';
import { framed } from './dns-harness.ts';

type Seen = { readonly transport: 'udp' | 'tcp'; readonly query: DecodedPacket; readonly packet: Buffer; readonly port: number };
/** Packets to send back, in order. */
type Script = (seen: Seen) => readonly Buffer[];
type Teardown = { teardown: (act: () => unknown) => void };

function reply({ query, packet }: Seen, answers: readonly Answer[], { rcode = 0, bits = 0 } = {}): Buffer {
  const bytes = encode({ type: 'response', id: query.id ?? 0, flags: 0x0180 | rcode | bits, questions: query.questions ?? [], answers: [...answers] });
  // The question in the very bytes that came, as servers send it.
  packet.copy(bytes, 12, 12, 12 + (query.questions?.[0]?.name.length ?? 0) + 6);
  return bytes;
}

const a = (name: string, data: string, ttl = 60): Answer => ({ name, type: 'A', ttl, data });
const nameOf = ({ query }: Seen): string => query.questions?.[0]?.name ?? '';

async function upstream(t: Teardown, script: Script): Promise<{ readonly server: { address: string; port: number }; readonly seen: Seen[]; readonly udp: UdpSocket }> {
  const seen: Seen[] = [];
  const take = (transport: 'udp' | 'tcp', packet: Buffer, port: number): readonly Buffer[] => {
    const one = { transport, packet, port, query: decode(packet) };
    seen.push(one);
    return script(one);
  };
  const tcp = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data: Buffer) => take('tcp', data.subarray(2), socket.remotePort ?? 0).forEach((packet) => socket.write(framed(packet))));
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4').bind(port, '127.0.0.1');
  await once(udp, 'listening');
  udp.on('message', (data: Buffer, from: RemoteInfo) => take('udp', data, from.port).forEach((packet) => udp.send(packet, from.port, from.address)));
  t.teardown(() => {
    udp.close();
    tcp.close();
  });
  return { server: { address: '127.0.0.1', port }, seen, udp };
}

function forwarder(t: Teardown, servers: ForwardSettings['servers'], more: Partial<ForwardSettings> = {}): Forwarder {
  const made = createForwarder({ ...forwardDefaults, servers, ...more });
  t.teardown(() => made.stop());
  return made;
}

t.test('asks with random id, port and case; follows aliases; takes the least TTL', async (t) => {
  const { server, seen } = await upstream(t, (one) => [reply(one, [
    { name: nameOf(one), type: 'CNAME', ttl: 7, data: 'Alias.example' }, a('other.example', '10.9.9.9'), a('alias.EXAMPLE', '192.0.2.1'), a('alias.example', '192.0.2.2', 300), a('alias.example', '192.0.2.1'),
  ])]);
  const { resolve, inFlight } = forwarder(t, [server]);
  for (let round = 0; round < 12; round += 1) {
    t.same(await resolve('a-long-name.of.many.letters.example', 'A'), { rcode: 'NOERROR', addresses: ['192.0.2.1', '192.0.2.2'], ttlSeconds: 7 });
  }
  for (const { query } of seen) t.match(query, { flag_rd: true, questions: [{ type: 'A' }], additionals: [{ type: 'OPT', udpPayloadSize: 1232 }] });
  for (const values of [seen.map(({ query }) => String(query.id)), seen.map(({ port }) => String(port)), seen.map(nameOf)]) t.ok(new Set(values).size >= 10, 'not the same twice but by chance');
  t.equal(inFlight(), 0);
});

t.test('AAAA comes in the text form of hosts; NXDOMAIN; no address', async (t) => {
  const { server } = await upstream(t, (one) => {
    if (nameOf(one).toLowerCase() === 'gone.example') return [reply(one, [], { rcode: 3 })];
    if (nameOf(one).toLowerCase() === 'empty.example') return [reply(one, [])];
    return [reply(one, [{ name: nameOf(one), type: 'AAAA', ttl: 5, data: '2001:DB8:0:0:0:0:0:1' }, { name: nameOf(one), type: 'AAAA', ttl: 5, data: '::ffff:10.0.0.1' }])];
  });
  const { resolve } = forwarder(t, [server]);
  t.same(await resolve('six.example', 'AAAA'), { rcode: 'NOERROR', addresses: ['2001:db8::1', '::ffff:a00:1'], ttlSeconds: 5 });
  t.same(await resolve('gone.example', 'A'), { rcode: 'NXDOMAIN', addresses: [], ttlSeconds: 0 });
  t.same(await resolve('empty.example', 'A'), { rcode: 'NOERROR', addresses: [], ttlSeconds: 0 });
});

t.test('forged datagrams are passed over: wrong id, question, opcode, no answer at all', async (t) => {
  const forged = (one: Seen, change: (packet: Buffer) => void): Buffer => {
    const packet = reply(one, [a(nameOf(one), '6.6.6.6')]);
    change(packet);
    return packet;
  };
  const { server, seen } = await upstream(t, (one) => [
    forged(one, (packet) => packet.writeUInt16BE(packet.readUInt16BE(0) ^ 1, 0)),
    forged(one, (packet) => packet.write('x', 13)),
    forged(one, (packet) => packet.writeUInt8(packet.readUInt8(2) & 0x7f, 2)),
    forged(one, (packet) => packet.writeUInt8(packet.readUInt8(2) | 0x08, 2)),
    forged(one, (packet) => packet.writeUInt16BE(0, 4)),
    Buffer.from([1]),
    reply(one, [a(nameOf(one), '192.0.2.1')]),
  ]);
  t.same((await forwarder(t, [server]).resolve('name.example', 'A')).addresses, ['192.0.2.1']);
  t.equal(seen.length, 1);
});

t.test('TCP where the datagram is truncated or lost the case of the letters', async (t) => {
  for (const kind of ['truncated', 'case'] as const) {
    const { server, seen } = await upstream(t, (one) => {
      if (one.transport === 'tcp') return [reply(one, [a(nameOf(one), '192.0.2.7')])];
      const packet = reply(one, [a(nameOf(one), '6.6.6.6')], kind === 'truncated' ? { bits: 0x0200 } : {});
      if (kind === 'case') packet.write(nameOf(one).split('.').map((label) => label.toLowerCase()).join('\x07'), 13, 'latin1');
      return [packet];
    });
    // Long enough that random case is never all lower.
    const name = `${'abcdefg'.repeat(6)}.example`;
    t.same((await forwarder(t, [server]).resolve(name, 'A')).addresses, ['192.0.2.7']);
    t.same(seen.map(({ transport }) => transport), ['udp', 'tcp'], kind);
  }
});

t.test('the next server where one fails; the last failure where all do', async (t) => {
  const dead = createSocket('udp4').bind(0, '127.0.0.1');
  await once(dead, 'listening');
  const closed = { address: '127.0.0.1', port: dead.address().port };
  dead.close();
  const silent = await upstream(t, () => []);
  const failing = await upstream(t, (one) => [reply(one, [], { rcode: 2 })]);
  const garbled = await upstream(t, (one) => [Buffer.concat([one.packet.subarray(0, 2), Buffer.from([0x81, 0x80, 0, 1, 0xff, 0xff, 0, 0, 0, 0]), one.packet.subarray(12)])]);
  const looping = await upstream(t, (one) => [reply(one, [{ name: nameOf(one), type: 'CNAME', ttl: 1, data: nameOf(one) }])]);
  const good = await upstream(t, (one) => [reply(one, [a(nameOf(one), '192.0.2.1')])]);
  const quick = { attemptTimeoutMs: 50, lookupTimeoutMs: 5000 };
  const { resolve } = forwarder(t, [closed, silent.server, failing.server, garbled.server, looping.server, good.server], quick);
  t.same((await resolve('name.example', 'A')).addresses, ['192.0.2.1']);
  t.same(silent.seen.map(({ transport }) => transport), ['udp', 'tcp'], 'a silent one is asked over TCP as well');
  for (const [server, failure] of [[closed, 'unreachable'], [silent.server, 'timeout'], [failing.server, 'servfail'], [garbled.server, 'malformed'], [looping.server, 'malformed']] as const) {
    await t.rejects(forwarder(t, [server], quick).resolve('name.example', 'A'), { name: 'ResolveError', failure });
  }
  await t.rejects(forwarder(t, [silent.server, good.server], { attemptTimeoutMs: 5000, lookupTimeoutMs: 50 }).resolve('name.example', 'A'), { name: 'ResolveError', failure: 'timeout' }, 'the lookup has its own end');
  t.throws(() => createForwarder({ ...forwardDefaults, servers: [] }), /no upstream/);
});

t.test('one lookup for a name at a time, a bound on all, and an end at stop', async (t) => {
  const { server, seen } = await upstream(t, () => []);
  const { resolve, inFlight, stop } = forwarder(t, [server], { attemptTimeoutMs: 60_000, lookupTimeoutMs: 60_000, lookupsMax: 3 });
  const running = [resolve('a.example', 'A'), resolve('a.example', 'A'), resolve('a.example', 'AAAA'), resolve('b.example', 'A')];
  t.equal(inFlight(), 3);
  await t.rejects(resolve('c.example', 'A'), { name: 'ResolveError', failure: 'overloaded' });
  while (seen.length < 3) await new Promise((resume) => setTimeout(resume, 1));
  stop();
  t.match(await Promise.allSettled(running), running.map(() => ({ status: 'rejected', reason: { failure: 'stopped' } })));
  await t.rejects(resolve('d.example', 'A'), { name: 'ResolveError', failure: 'stopped' });
  t.equal(inFlight(), 0);
  t.same(seen.map((one) => nameOf(one).toLowerCase()).sort(), ['a.example', 'a.example', 'b.example']);
});

t.test('answers of any bytes are read or refused, and nothing else', (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), fc.boolean(), (bytes, asAnswer) => {
    const query = upstreamQuery('name.example', 'A');
    const packet = asAnswer ? Buffer.concat([query.packet.subarray(0, 2), Buffer.from([0x81, 0x80, 0, 1, 0, (bytes[0] ?? 0) & 7, 0, 0, 0, 0]), query.question, Buffer.from(bytes)]) : Buffer.from(bytes);
    const match = matchAnswer(query, packet);
    if (match === 'other') return !asAnswer;
    isTruncated(packet);
    try {
      return readResolution(query, packet).addresses.every((address) => typeof address === 'string');
    } catch (error) {
      return error instanceof Error && error.name === 'ResolveError';
    }
  }), { numRuns: 2000 });
  t.end();
});
