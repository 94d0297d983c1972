import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import t from 'tap';
import { addressesIn, allOf, askTcp, askUdp, framed, named, openTcp, optRecord, rawQuery, read, startHarness, unframed } from './dns-harness.ts';
import type { QueryParts } from './dns-harness.ts';

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `93.184.${index >> 8}.${index & 255}`);

t.test('malformed queries are FORMERR and nothing but a header, on both transports', async (t) => {
  const { door, rows, resolved } = await startHarness(t);
  const long = Array.from({ length: 4 }, () => 'a'.repeat(63));
  const cases: Record<string, Buffer> = {
    'no question': rawQuery({ counts: [0, 0, 0, 0] }).subarray(0, 12),
    'two questions': rawQuery({ counts: [2, 0, 0, 0], after: Buffer.from([0, 0, 1, 0, 1]) }),
    'an answer': rawQuery({ counts: [1, 1, 0, 0] }),
    'an authority': rawQuery({ counts: [1, 0, 1, 0] }),
    'a question cut short': rawQuery().subarray(0, -1),
    'a label beyond the packet': rawQuery().subarray(0, 16),
    'no end of the name': rawQuery().subarray(0, 28),
    'a pointer to itself': Buffer.concat([rawQuery().subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])]),
    'a label of type 01': Buffer.concat([rawQuery().subarray(0, 12), Buffer.from([0x41, 1, 0, 0, 1, 0, 1])]),
    'a name of 257 bytes': rawQuery({ labels: long }),
    'bytes behind the end': rawQuery({ after: Buffer.from([0]) }),
    'two OPT': rawQuery({ counts: [1, 0, 0, 2], edns: { payloadBytes: 1232 }, after: optRecord({ payloadBytes: 1232 }) }),
    'an OPT with a name': rawQuery({ counts: [1, 0, 0, 1], after: Buffer.concat([Buffer.from([1, 0x61]), optRecord({ payloadBytes: 1232 })]) }),
    'an OPT cut short': rawQuery({ counts: [1, 0, 0, 1], after: optRecord({ payloadBytes: 1232 }).subarray(0, -2) }),
    'OPT data beyond the packet': rawQuery({ counts: [1, 0, 0, 1], after: Buffer.from([0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 9, 1]) }),
    'an additional that is not there': rawQuery({ counts: [1, 0, 0, 1] }),
    'more additionals than anyone needs': rawQuery({ counts: [1, 0, 0, 65_535] }),
  };
  for (const [name, packet] of Object.entries(cases)) {
    const answers = [await askUdp(door.port, packet), (await askTcp(door.port, packet))[0]];
    for (const answer of answers) t.same(answer, Buffer.from([0x12, 0x34, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0]), name);
  }
  t.same([rows, resolved], [[], []]);
});

t.test('the longest label and the longest name are names', async (t) => {
  const { door, addresses } = await startHarness(t);
  for (const name of [`${'a'.repeat(63)}.example`, [63, 63, 63, 61].map((length) => 'b'.repeat(length)).join('.')]) {
    t.ok(addresses.owns(String(addressesIn(await askUdp(door.port, named(name, 'A', { edns: { payloadBytes: 1232 } })))[0])), `${name.length} characters`);
  }
});

t.test('answers and packets without a header are not answered; other opcodes are NOTIMP, other classes REFUSED', async (t) => {
  const { door } = await startHarness(t);
  for (const packet of [rawQuery({ bits: 0x8100 }), rawQuery({ bits: 0xffff }), Buffer.alloc(0), Buffer.from([0x12]), rawQuery().subarray(0, 11)]) {
    t.equal(await askUdp(door.port, packet), undefined);
    t.same(await askTcp(door.port, packet), []);
  }
  for (let opcode = 1; opcode < 16; opcode += 1) {
    const answer = await askUdp(door.port, rawQuery({ bits: opcode << 11 }));
    t.same([answer?.length, answer?.readUInt16BE(2)], [12, 0x8084 | (opcode << 11)], `opcode ${opcode}`);
  }
  for (const klass of [0, 3, 4, 254, 255]) t.match(read(await askUdp(door.port, rawQuery({ class: klass }))), { rcode: 5 }, `class ${klass}`);
});

t.test('EDNS: answered with our payload, other versions with BADVERS, none without', async (t) => {
  const { door, resolved } = await startHarness(t);
  const answer = read(await askUdp(door.port, rawQuery({ edns: { payloadBytes: 4096 } })));
  t.match(answer.additionals, [{ name: '.', type: 'OPT', udpPayloadSize: 1232, ednsVersion: 0, flags: 0, options: [] }]);
  t.same(addressesIn(await askUdp(door.port, rawQuery({ edns: { payloadBytes: 0 } }))), ['93.184.216.34'], 'less than 512 counts as 512');
  t.same(read(await askUdp(door.port, rawQuery())).additionals, []);
  resolved.length = 0;
  t.match(read(await askUdp(door.port, rawQuery({ edns: { payloadBytes: 1232, version: 1 } }))), { rcode: 16, answers: [], additionals: [{ ednsVersion: 0 }] });
  t.same(resolved, []);
  const cookie = rawQuery({ counts: [1, 0, 0, 1], after: Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 12, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]) });
  t.match(read(await askUdp(door.port, cookie)), { rcode: 0, answers: [{ type: 'A' }] }, 'options are passed over');
});

t.test('truncation: whole or not at all, by what the client takes and how long its query was', async (t) => {
  const { door } = await startHarness(t, { resolve: (name) => Promise.resolve({ rcode: 'NOERROR', addresses: many(Number(name.split('.')[0])), ttlSeconds: 5 }) });
  const cases: { count: number; edns?: QueryParts['edns']; whole: boolean }[] = [
    { count: 20, whole: false }, { count: 10, whole: true }, { count: 20, edns: { payloadBytes: 1232 }, whole: true },
    { count: 120, edns: { payloadBytes: 65_535 }, whole: false }, { count: 28, edns: { payloadBytes: 512 }, whole: false },
  ];
  for (const { count, edns, whole } of cases) {
    const query = named(`${count}.wild.example`, 'A', edns === undefined ? {} : { edns });
    const answer = await askUdp(door.port, query);
    t.match(read(answer), { rcode: 0, flag_tc: !whole }, `${count} addresses`);
    t.equal(addressesIn(answer).length, whole ? count : 0);
    t.ok((answer?.length ?? 0) <= Math.min(1232, 10 * query.length));
    const [overTcp] = await askTcp(door.port, query);
    t.same([read(overTcp).flag_tc, addressesIn(overTcp)], [false, many(count)], 'all of them over TCP');
  }
});

t.test('the rate of a client: over it datagrams are dropped and connections told', async (t) => {
  let now = 0;
  const { door, rows } = await startHarness(t, { nowMs: () => now, limits: { ratePerSecond: 1, burst: 2 } });
  t.match((await askTcp(door.port, rawQuery(), rawQuery(), rawQuery())).map((answer) => (answer[3] ?? 0) & 15), [5, 0, 0], 'the refusal is ready first');
  t.equal(rows.length, 2);
  now = 1000;
  t.match(read((await askTcp(door.port, rawQuery()))[0]), { rcode: 0 });
  t.match(read((await askTcp(door.port, rawQuery()))[0]), { rcode: 5 });
});

t.test('random bytes and damaged queries: the door lives, answers nothing large, and faults nowhere', async (t) => {
  const { door, faults } = await startHarness(t, { limits: { ratePerSecond: 1e9, burst: 1e9 } });
  const damaged = fc.tuple(fc.array(fc.tuple(fc.nat(60), fc.integer({ min: 0, max: 255 })), { maxLength: 6 }), fc.nat(60)).map(([changes, cut]) => {
    const packet = Buffer.from(rawQuery({ edns: { payloadBytes: 4096 } }));
    for (const [at, value] of changes) if (at < packet.length) packet[at] = value;
    return cut < 12 ? packet : packet.subarray(0, cut);
  });
  const packets = fc.oneof(fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)), damaged);
  await fc.assert(fc.asyncProperty(packets, async (packet) => {
    const answer = await askUdp(door.port, packet);
    const bound = Math.max(12, packet.length * 10);
    return answer === undefined || (answer.length <= Math.min(bound, 1232) && answer.readUInt16BE(0) === packet.readUInt16BE(0) && (answer.readUInt8(2) & 0x80) !== 0);
  }), { numRuns: 400 });
  await fc.assert(fc.asyncProperty(fc.array(packets, { maxLength: 8 }), fc.uint8Array({ maxLength: 20 }), async (list, tail) => {
    const socket = await openTcp(door.port);
    socket.end(Buffer.concat([...list.map(framed), Buffer.from(tail)]));
    return unframed(await allOf(socket)).every((answer) => (answer.readUInt8(2) & 0x80) !== 0);
  }), { numRuns: 150 });
  t.match(read(await askUdp(door.port, rawQuery())), { rcode: 0, answers: [{ type: 'A' }] });
  t.same(faults, []);
  t.equal(door.open(), 0);
});

t.test('dig', async (t) => {
  const { door } = await startHarness(t, { resolve: () => Promise.resolve({ rcode: 'NOERROR', addresses: many(60), ttlSeconds: 5 }) });
  const dig = async (...args: string[]): Promise<string | undefined> => {
    const child = spawn('dig', ['@127.0.0.1', '-p', String(door.port), '+time=5', '+tries=1', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => { text += chunk.toString(); });
    const failed = once(child, 'error').then(() => true, () => false);
    return (await Promise.race([once(child, 'close').then(() => false), failed])) ? undefined : text;
  };
  const short = await dig('+short', 'api.example.com');
  if (short === undefined) return t.pass('asks', { skip: 'dig is not installed' });
  t.equal(short.trim().split('\n').length, 60, 'falls back to TCP by itself');
  t.match(await dig('+noall', '+comments', 'MX', 'api.example.com'), /status: NOERROR.*ANSWER: 0, AUTHORITY: 1/s);
  t.match(await dig('+tcp', '+short', 'denied.example'), /^198\.1[89]\./);
});
