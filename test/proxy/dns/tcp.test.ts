import t from 'tap';
import { allOf, askTcp, framed, named, openTcp, rawQuery, read, startHarness, unframed } from './dns-harness.ts';

t.test('TCP: frames in pieces and in one, answered each; a half-closed client gets its answers', async (t) => {
  const { door } = await startHarness(t);
  const packets = Array.from({ length: 40 }, (_, id) => named(`n${id}.wild.example`, 'A', { id }));
  const ids = (answers: readonly Buffer[]): number[] => answers.map((answer) => answer.readUInt16BE(0)).sort((a, b) => a - b);
  t.same(ids(await askTcp(door.port, ...packets)), packets.map((_, id) => id), 'more than may be open at once');
  const socket = await openTcp(door.port);
  const all = allOf(socket);
  socket.setNoDelay(true);
  for (const byte of Buffer.concat(packets.slice(0, 3).map(framed))) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  t.same(ids(unframed(await all)), [0, 1, 2]);
});

t.test('TCP: answers come as they get ready, and only so many are looked up at once', async (t) => {
  const waiting = new Map<string, () => void>();
  const { door } = await startHarness(t, {
    limits: { pipelinedMax: 3 },
    resolve: (name) => new Promise((resolve) => waiting.set(name, () => {
      waiting.delete(name);
      resolve({ rcode: 'NOERROR', addresses: ['93.184.216.34'], ttlSeconds: 1 });
    })),
  });
  const socket = await openTcp(door.port);
  const all = allOf(socket);
  socket.end(Buffer.concat([1, 2, 3, 4, 5].map((id) => framed(named(`n${id}.wild.example`, 'A', { id })))));
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  await until(() => waiting.size === 3);
  t.equal(door.open(), 3);
  for (const id of [2, 4, 1, 5, 3]) {
    await until(() => waiting.has(`n${id}.wild.example`));
    t.ok(waiting.size <= 3);
    waiting.get(`n${id}.wild.example`)?.();
  }
  t.same(unframed(await all).map((answer) => answer.readUInt16BE(0)), [2, 4, 1, 5, 3]);
});

t.test('TCP: silence, trickling and oversized frames end the connection; too many connections are cut', async (t) => {
  const { door } = await startHarness(t, { limits: { idleTimeoutMs: 100, connectionsPerClientMax: 2 } });
  const silent = allOf(await openTcp(door.port));
  const trickling = await openTcp(door.port);
  const trickled = allOf(trickling);
  const timer = setInterval(() => trickling.write(Buffer.of(0)), 20);
  const third = await openTcp(door.port);
  t.same(await allOf(third), Buffer.alloc(0), 'the third is cut');
  t.equal((await silent).length, 0);
  t.equal((await trickled).length, 0);
  clearInterval(timer);
  const long = await openTcp(door.port);
  long.write(Buffer.concat([Buffer.from([0xff, 0xff]), Buffer.alloc(5000)]));
  t.equal((await allOf(long)).length, 0);
  t.match(read((await askTcp(door.port, rawQuery()))[0]), { rcode: 0 }, 'and others are served');
});

t.test('stopping lets open queries be answered, cuts idle connections, and frees the port', async (t) => {
  let release = (): void => undefined;
  const asked = Promise.withResolvers<void>();
  const { door } = await startHarness(t, {
    resolve: () => new Promise((resolve) => {
      release = () => resolve({ rcode: 'NOERROR', addresses: ['93.184.216.34'], ttlSeconds: 1 });
      asked.resolve();
    }),
  });
  const idle = allOf(await openTcp(door.port));
  const socket = await openTcp(door.port);
  const all = allOf(socket);
  socket.write(framed(rawQuery()));
  await asked.promise;
  const stopped = door.stop(5000);
  release();
  await stopped;
  t.equal(unframed(await all).length, 1);
  t.equal((await idle).length, 0);
  t.equal(door.stop(0), stopped, 'stopping again is the same');
  await t.rejects(openTcp(door.port), { code: 'ECONNREFUSED' });
  await t.rejects(startHarness(t, { port: 1 << 20 }), 'a port that cannot be');
});
