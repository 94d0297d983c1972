import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createShipper } from '../../src/queue/shipper.ts';
import type { Shipper } from '../../src/queue/shipper.ts';
import type { BatchQueue } from '../../src/queue/batch-queue.ts';
import type { BatchSource, SealedBatch } from '../../src/queue/batch.ts';
import { startStack } from '../support/stack.ts';
import { consume, createLedger, createMemorySource, makeBatch, openQueue, plainRedis, until } from './batch-fixture.ts';

type Flow = { batches: SealedBatch[]; add(count: number, bytes?: number): void; shipper: Shipper; confirmations: Map<string, number>; ledger: ReturnType<typeof createLedger>; errors: unknown[]; startConsumer(): { errors: unknown[] } };


function startFlow(t: { teardown(fn: () => unknown): unknown }, queue: BatchQueue, redisUrl: string, slowMs: number | 'no consumer' = 0): Flow {
  const { source, add, confirmations } = createMemorySource();
  const ledger = createLedger(queue);
  const errors: unknown[] = [];
  const batches: SealedBatch[] = [];
  const shipper = createShipper({ source, queue, pollMs: 50, inFlightMax: 8, onError: (error) => errors.push(error) });
  t.teardown(() => shipper.stop());
  const startConsumer = () => consume(t, redisUrl, async (pointer) => {
    await new Promise((resolve) => setTimeout(resolve, Number(slowMs) || 0));
    await ledger.handle(pointer);
  });
  if (slowMs !== 'no consumer') startConsumer();
  return {
    batches, shipper, confirmations, ledger, errors, startConsumer,
    add(count, bytes = 2_000) {
      for (let index = 0; index < count; index++) {
        const batch = makeBatch(bytes);
        batches.push(batch);
        add(batch);
      }
      shipper.poke();
    },
  };
}

const none = { unconfirmed: [], mishandled: [], surplus: 0 };

/** What is wrong with a flow that has ended: batches not confirmed exactly once, not handled or with other bytes, handled but never sent. */
function problems({ batches, confirmations, ledger }: Flow): typeof none {
  const sha256 = (payload: Buffer) => createHash('sha256').update(payload).digest('hex');
  const numbers = (wrong: (batch: SealedBatch) => boolean) => batches.filter(wrong).map(({ batchNo }) => batchNo) as never[];
  return {
    unconfirmed: numbers(({ id }) => confirmations.get(id) !== 1),
    mishandled: numbers(({ id, payload }) => [...ledger.handled.get(id) ?? []].join() !== sha256(payload)),
    surplus: ledger.handled.size - batches.length,
  };
}

t.test('batches flow in order and a poke is enough', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const flow = startFlow(t, openQueue(t, redisUrl), redisUrl);
  flow.add(40);
  t.ok(await flow.shipper.drained(30_000));
  t.same(problems(flow), none, 'each batch handled, with its own bytes only, and confirmed once');
  t.same(flow.errors, []);
  flow.add(1);
  t.equal(await flow.shipper.drained(0), false, 'not drained while one is under way');
  t.ok(await flow.shipper.drained(30_000));
});

t.test('Redis killed and started again in mid-flow, several times', async (t) => {
  const stack = await startStack(t, { redis: true });
  const flow = startFlow(t, openQueue(t, stack.redisUrl), stack.redisUrl, 20);
  for (let round = 0; round < 3; round++) {
    flow.add(20);
    await until('some handled', () => flow.ledger.handled.size > round * 20 + 5);
    await stack.redis.kill();
    flow.add(5);
    await new Promise((resolve) => setTimeout(resolve, 300 * round));
    await stack.redis.restart();
  }
  t.ok(await flow.shipper.drained(90_000));
  t.same(problems(flow), none, 'each batch handled, with its own bytes only, and confirmed once');
});

t.test('all of Redis wiped in mid-flow, with jobs waiting, running, delayed and the worker blocked', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const redis = plainRedis(t, redisUrl);
  const flow = startFlow(t, openQueue(t, redisUrl), redisUrl, 30);
  for (let round = 0; round < 4; round++) {
    flow.add(15);
    await until('some handled', () => flow.ledger.handled.size > round * 15 + 2);
    await redis.flushall();
  }
  t.ok(await flow.shipper.drained(60_000));
  await new Promise((resolve) => setTimeout(resolve, 300));
  await redis.flushall(); // the worker waits on a key that is gone now
  await redis.script('FLUSH');
  flow.add(5);
  t.ok(await flow.shipper.drained(60_000), 'a worker blocked on a wiped queue takes new jobs');
  t.same(problems(flow), none, 'each batch handled, with its own bytes only, and confirmed once');
});

t.test('Redis down when everything starts', async (t) => {
  const stack = await startStack(t, { redis: true });
  await stack.redis.kill();
  const flow = startFlow(t, openQueue(t, stack.redisUrl), stack.redisUrl);
  flow.add(5);
  await until('the shipper met the failure', () => flow.errors.length > 0);
  t.equal(await flow.shipper.drained(100), false);
  await stack.redis.restart();
  t.ok(await flow.shipper.drained(60_000));
  t.same(problems(flow), none, 'each batch handled, with its own bytes only, and confirmed once');
});

t.test('maxmemory reached: batches wait at their source, the queue still empties, and all pass when there is room', async (t) => {
  const { redisUrl } = await startStack(t, { redis: { maxMemoryBytes: 8_388_608 } });
  const redis = plainRedis(t, redisUrl);
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  const flow = startFlow(t, openQueue(t, redisUrl), redisUrl, 10);
  flow.add(60, 400_000); // three times what Redis holds
  t.ok(await flow.shipper.drained(60_000), 'more than Redis holds passes through');
  t.same(problems(flow), none, 'each batch handled, with its own bytes only, and confirmed once');

});

t.test('maxmemory exceeded by others: what is queued gets through all the same', async (t) => {
  const { redisUrl } = await startStack(t, { redis: { maxMemoryBytes: 8_388_608 } });
  const redis = plainRedis(t, redisUrl);
  const flow = startFlow(t, openQueue(t, redisUrl), redisUrl, 'no consumer');
  flow.add(12, 200_000);
  await until('as many in Redis as may be in flight', async () => (await redis.hlen('ch:batch:sizes')) === 8);
  let filled = 0;
  for (let bytes = 500_000; bytes > 500; bytes = Math.floor(bytes / 2)) {
    while (await redis.set(`other:${filled}`, Buffer.alloc(bytes)).then(() => true, () => false)) filled += 1;
  }
  const { errors } = flow.startConsumer();
  await until('batches stored while the memory is full', () => flow.confirmations.size >= 2);
  t.ok(errors.some((error) => /OOM/.test(String(error))), 'BullMQ itself was refused before');
  for (let index = 0; index < filled; index++) await redis.del(`other:${index}`);
  t.ok(await flow.shipper.drained(90_000));
  t.same(problems(flow), none, 'each batch handled, with its own bytes only, and confirmed once');
});

t.test('a Redis that refuses writes, as a read-only replica and after a failed snapshot, is waited for', async (t) => {
  const { redisUrl, dir } = await startStack(t, { redis: true });
  const redis = plainRedis(t, redisUrl);
  const flow = startFlow(t, openQueue(t, redisUrl), redisUrl, 10);
  flow.add(10);
  await redis.replicaof('127.0.0.1', 1);
  flow.add(10);
  await until('refused', () => flow.errors.some((error) => /READONLY/.test(String(error))));
  await redis.replicaof('NO', 'ONE');
  t.ok(await flow.shipper.drained(60_000));

  await redis.config('SET', 'save', '3600 1');
  await mkdir(join(dir, 'redis', 'dump.rdb'));
  await redis.bgsave();
  await until('snapshot failed', async () => (await redis.info('persistence')).includes('rdb_last_bgsave_status:err'));
  flow.add(10);
  await until('refused', () => flow.errors.some((error) => /MISCONF/.test(String(error))));
  await rm(join(dir, 'redis', 'dump.rdb'), { recursive: true });
  await redis.bgsave();
  t.ok(await flow.shipper.drained(60_000));
  t.same(problems(flow), none, 'each batch handled, with its own bytes only, and confirmed once');
});

t.test('a batch that cannot be read, and one that cannot be deleted, do not hold up the others', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const queue = openQueue(t, redisUrl);
  const ledger = createLedger(queue);
  const memory = createMemorySource();
  const [unreadable, undeletable, good] = [makeBatch(), makeBatch(), makeBatch()];
  let broken = true;
  const source: BatchSource = {
    pending: memory.source.pending,
    load: async (id) => {
      if (broken && id === unreadable.id) throw new Error('EIO');
      return memory.source.load(id);
    },
    confirm: async (id) => {
      if (broken && id === undeletable.id) throw new Error('EIO');
      return memory.source.confirm(id);
    },
  };
  for (const batch of [unreadable, undeletable, good]) memory.add(batch);
  const errors: unknown[] = [];
  const shipper = createShipper({ source, queue, pollMs: 20, inFlightMax: 2, onError: (error) => errors.push(error) });
  t.teardown(() => shipper.stop());
  consume(t, redisUrl, ledger.handle);
  await until('the good one confirmed', () => memory.confirmations.has(good.id));
  t.ok(errors.length >= 2);
  broken = false;
  t.ok(await shipper.drained(30_000));
  t.same([...memory.confirmations.values()], [1, 1, 1]);
});
