import t from 'tap';
import { createShipper } from '../../src/queue/shipper.ts';
import { consume, openQueue, plainRedis, until } from '../queue/batch-fixture.ts';
import { startStack } from '../support/stack.ts';
import { batchRows, files, open, row, tempDir } from './journal-fixture.ts';

t.test('from append to stored through Redis, which is wiped and killed meanwhile: every row once', async (t) => {
  const stack = await startStack(t, { redis: true });
  const dir = await tempDir(t);
  const queue = openQueue(t, stack.redisUrl);
  const redis = plainRedis(t, stack.redisUrl);
  const stored = new Map<string, string[]>();
  consume(t, stack.redisUrl, async (pointer) => {
    const payload = await queue.payload(pointer.id);
    if (payload !== undefined) stored.set(pointer.id, (await batchRows({ ...pointer, payload })).map(({ destination }) => destination));
    if (stored.has(pointer.id)) await queue.finish(pointer.id);
  });
  const names: string[] = [];
  for (let round = 0; round < 3; round++) {
    const journal = await open(dir, { sealMs: 15 });
    const shipper = createShipper({ source: journal.source, queue, pollMs: 30, inFlightMax: 8, onError: () => undefined });
    journal.onSealed(() => { shipper.poke(); });
    for (let count = 0; count < 400; count++) {
      names.push(`${round}-${count}`);
      await journal.append(row(`${round}-${count}`).line, row('').timestamp);
      if (count === 150) await redis.flushall();
      if (count === 300 && round === 1) await stack.redis.kill();
      if (count === 350 && round === 1) await stack.redis.restart();
    }
    await journal.seal();
    if (round === 2) {
      t.ok(await shipper.drained(60_000), 'nothing waits in the journal');
      t.match(journal.stats(), { batches: 0, rows: 0, oldestMs: 0 });
    }
    await shipper.stop();
    await journal.close();
  }
  await until('stored', () => [...stored.values()].flat().length >= names.length);
  t.same([...stored.values()].flat().sort(), [...names].sort());
  t.same(await files(dir, '.zst'), []);
});
