import t from 'tap';
import { sizesKey } from '../../src/queue/batch-scripts.ts';
import { startStack } from '../support/stack.ts';
import { consume, createLedger, makeBatch, openQueue, plainRedis, until } from './batch-fixture.ts';

t.test('a batch goes through: queued, handled, done, and nothing of it stays', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const queue = openQueue(t, redisUrl);
  const redis = plainRedis(t, redisUrl);
  const batch = makeBatch();
  const { payload, ...pointer } = batch;
  t.equal(await queue.enqueue(batch), 'queued');
  t.equal(await queue.enqueue(batch), 'queued', 'again: no change');
  t.same(await queue.payload(batch.id), payload);
  t.same(await queue.areQueued([batch.id, 'other']), [true, false]);
  t.same(await queue.areDone([batch.id]), [false]);
  t.same(await queue.depth(), { batches: 1, bytes: payload.length });

  const seen: unknown[] = [];
  const ledger = createLedger(queue);
  consume(t, redisUrl, async (handed, attempt) => {
    seen.push([handed, attempt]);
    await ledger.handle(handed);
  });
  await until('done', async () => (await queue.areDone([batch.id]))[0] === true);
  t.same(seen, [[pointer, 1]], 'handed over once, with its pointer');
  await until('the job is removed', async () => (await redis.exists(`bull:audit-batches:${batch.id}`)) === 0);
  t.same(await queue.areQueued([batch.id]), [false]);
  t.equal(await queue.payload(batch.id), undefined);
  t.same(await queue.depth(), { batches: 0, bytes: 0 });
  t.equal(await queue.enqueue(batch), 'queued', 'a late repetition');
  t.same([await queue.payload(batch.id), seen.length], [undefined, 1], 'is turned away by the done mark');
  t.same((await redis.keys('*batch*')).filter((key) => key.includes(batch.id)), [], 'nothing but the done mark stays');
  t.ok(await redis.pttl(`ch:done:${batch.id}`) > 6 * 86_400_000, 'the mark lives for days, not for ever');
});

t.test('payload without job, and job without payload', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const queue = openQueue(t, redisUrl);
  const redis = plainRedis(t, redisUrl);
  const ledger = createLedger(queue);
  const [noJob, noPayload] = [makeBatch(), makeBatch()];
  await queue.enqueue(noJob);
  await queue.enqueue(noPayload);
  await redis.del(`bull:audit-batches:${noJob.id}`);
  await redis.lrem('bull:audit-batches:wait', 0, noJob.id);
  await redis.del(`ch:batch:${noPayload.id}`);
  t.same(await queue.areQueued([noJob.id, noPayload.id]), [false, false]);
  const { errors } = consume(t, redisUrl, ledger.handle);
  await until('the job without payload ended', async () => (await redis.exists(`bull:audit-batches:${noPayload.id}`)) === 0);
  t.same([ledger.withoutPayload, await queue.areDone([noPayload.id])], [[noPayload.id], [false]]);
  await queue.enqueue(noJob);
  await queue.enqueue(noPayload);
  await until('both done', async () => (await queue.areDone([noJob.id, noPayload.id])).every(Boolean));
  t.same([...ledger.handled.keys()].sort(), [noJob.id, noPayload.id].sort());
  t.same(errors, []);
});

t.test('the byte budget counts all sources, and lets a batch pass that is larger than all of it when it is alone', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const [one, other] = [openQueue(t, redisUrl, 10_000), openQueue(t, redisUrl, 10_000)];
  const redis = plainRedis(t, redisUrl);
  const first = makeBatch(6_000);
  t.equal(await one.enqueue(first), 'queued');
  const second = makeBatch(5_000);
  t.equal(await other.enqueue(second), 'over_budget');
  t.same([await other.payload(second.id), await other.areQueued([second.id])], [undefined, [false]], 'nothing of it was left');
  t.equal(await other.enqueue(makeBatch(4_000)), 'queued', 'a smaller one fits');
  await one.finish(first.id);
  t.equal(await other.enqueue(second), 'queued');
  await redis.flushall();
  t.equal(await one.enqueue(makeBatch(50_000)), 'queued');
  t.equal(await one.enqueue(makeBatch(10)), 'over_budget');
  await redis.hset(sizesKey, 'gone', 9_000);
  for (const id of await redis.hkeys(sizesKey)) await redis.del(`ch:batch:${id}`);
  t.equal(await one.enqueue(makeBatch(5_000)), 'queued', 'sizes of payloads that expired do not count');
  t.same(await one.depth(), { batches: 1, bytes: 5_000 });
});

t.test('a batch whose handling fails is tried again until it works, and the error stays out of Redis', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const queue = openQueue(t, redisUrl);
  const redis = plainRedis(t, redisUrl);
  const batch = makeBatch();
  const attempts: number[] = [];
  const ledger = createLedger(queue);
  let stored = '';
  const { errors } = consume(t, redisUrl, async (pointer, attempt) => {
    attempts.push(attempt);
    if (attempt < 4) throw new Error('row {"secret":"x"} refused');
    stored = JSON.stringify(await redis.hgetall(`bull:audit-batches:${pointer.id}`));
    await ledger.handle(pointer);
  });
  await queue.enqueue(batch);
  await until('done', async () => (await queue.areDone([batch.id]))[0] === true);
  t.same(attempts, [1, 2, 3, 4]);
  t.equal(errors.length, 3, 'each failure was reported');
  t.match(stored, /batch not stored/);
  t.notMatch(stored, /secret/);
});

t.test('payloads alone never bring Redis to its maxmemory, where BullMQ could not hand out a job', async (t) => {
  const { redisUrl } = await startStack(t, { redis: { maxMemoryBytes: 8_388_608 } });
  const queue = openQueue(t, redisUrl);
  const redis = plainRedis(t, redisUrl);
  let queued = 0;
  while (await queue.enqueue(makeBatch(700_000)) === 'queued') queued += 1;
  t.ok(queued >= 3, `${queued} batches fit`);
  const memory = await redis.info('memory');
  t.ok(Number(/used_memory:(\d+)/.exec(memory)?.[1]) < 0.95 * 8_388_608);
  const ledger = createLedger(queue);
  consume(t, redisUrl, ledger.handle);
  await until('all of them handled', () => ledger.handled.size === queued);
});

t.test('out of memory: done is marked, new batches wait, and the newer half of the payloads is given back', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const queue = openQueue(t, redisUrl);
  const redis = plainRedis(t, redisUrl);
  const batches = Array.from({ length: 5 }, () => makeBatch(100_000));
  for (const batch of batches) await queue.enqueue(batch);
  const [stored, ...waiting] = batches.map(({ id }) => id);
  if (stored === undefined) throw new Error('no batch');
  await redis.config('SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '500000');
  await t.rejects(redis.set('probe', 'x'), /OOM/, 'Redis refuses writes');
  await queue.finish(stored);
  t.same(await queue.areDone([stored]), [true]);
  t.equal(await queue.payload(stored), undefined);
  t.equal(await queue.enqueue(makeBatch(100)), 'over_budget');
  t.same(await queue.areQueued(waiting), [true, true, false, false]);
  await redis.config('SET', 'maxmemory', '0');
  t.same(await queue.areQueued(waiting), [true, true, false, false], 'with memory nothing is given back');
  for (const batch of batches) t.equal(await queue.enqueue(batch), 'queued');
  t.same(await queue.areQueued(waiting), [true, true, true, true]);
});
