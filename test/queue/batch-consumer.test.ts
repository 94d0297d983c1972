import { spawn } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { retryDelayMs } from '../../src/queue/catalog.ts';
import { startStack } from '../support/stack.ts';
import { consume, createLedger, makeBatch, openQueue, until } from './batch-fixture.ts';

t.test('the batches of a consumer that was killed are given to another one', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  const queue = openQueue(t, redisUrl);
  const batches = [makeBatch(), makeBatch(), makeBatch()];
  for (const batch of batches) await queue.enqueue(batch);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'consumer-child.ts'), redisUrl], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text; });
  await until('all taken', () => output.trim().split('\n').length === 3);
  child.kill('SIGKILL');
  const ledger = createLedger(queue);
  consume(t, redisUrl, ledger.handle);
  await until('all done', async () => (await queue.areDone(batches.map(({ id }) => id))).every(Boolean), 90_000);
  t.same([...ledger.handled.keys()].sort(), output.trim().split('\n').sort());
});

t.test('closing waits for a running batch, takes no further one, and ends also when Redis is gone', async (t) => {
  const stack = await startStack(t, { redis: true });
  const queue = openQueue(t, stack.redisUrl);
  const ledger = createLedger(queue);
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const first = consume(t, stack.redisUrl, async (pointer) => {
    started.resolve();
    await release.promise;
    await ledger.handle(pointer);
  }, { concurrency: 1 });
  const batches = [makeBatch(), makeBatch()];
  for (const batch of batches) await queue.enqueue(batch);
  await started.promise;
  const closed = first.close();
  release.resolve();
  await closed;
  t.same(await queue.areDone(batches.map(({ id }) => id)), [true, false]);
  t.same(await queue.areQueued(batches.map(({ id }) => id)), [false, true], 'the other one waits for the next consumer');

  const second = consume(t, stack.redisUrl, () => new Promise(() => undefined), { closeMs: 300 });
  await stack.redis.kill();
  await second.close();
  t.pass('closed without Redis');
  await queue.close();
  t.pass('so is the queue');
});

t.test('Redis down: each call fails instead of waiting for ever', async (t) => {
  const stack = await startStack(t, { redis: true });
  const queue = openQueue(t, stack.redisUrl);
  await queue.depth();
  await stack.redis.kill();
  const batch = makeBatch();
  const calls: (() => Promise<unknown>)[] = [() => queue.enqueue(batch), () => queue.areDone([batch.id]), () => queue.areQueued([batch.id]), () => queue.payload(batch.id), () => queue.finish(batch.id), () => queue.depth()];
  await Promise.all(calls.map((call) => t.rejects(call().then(() => undefined))));
  await stack.redis.restart();
  await until('works again', () => queue.depth().then(() => true, () => false));
  t.equal(await queue.enqueue(batch), 'queued');
});

t.test('pauses between tries double up to their bound', async (t) => {
  t.same([1, 2, 3, 4, 5, 50, 1_000_000].map((made) => retryDelayMs(made, 250, 3_000, () => 0)), [250, 500, 1_000, 2_000, 3_000, 3_000, 3_000]);
  t.equal(retryDelayMs(1, 1_000, 30_000, () => 1), 750);
});
