import { createHash, randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { BatchPointer, BatchSource, SealedBatch } from '../../src/queue/batch.ts';
import type { BatchQueue } from '../../src/queue/batch-queue.ts';
import { createBatchQueue } from '../../src/queue/batch-queue.ts';
import type { BatchConsumerDeps } from '../../src/queue/batch-consumer.ts';
import { createBatchConsumer } from '../../src/queue/batch-consumer.ts';
import { formatTimestamp, nowMicros } from '../../src/kernel/clock.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';

type Teardown = { teardown(fn: () => unknown): unknown };

let batchNo = 0;

export function makeBatch(bytes = 200): SealedBatch {
  const payload = randomBytes(bytes);
  const timestamp = formatTimestamp(nowMicros());
  batchNo += 1;
  return { id: uuidv7(), producer: 'proxy:test', batchNo, rows: 10, bytes, minTimestamp: timestamp, maxTimestamp: timestamp, payload };
}

/** A source in memory that keeps batches until confirmed, and counts the confirmations. */
export function createMemorySource(): { source: BatchSource; add(batch: SealedBatch): void; confirmations: Map<string, number> } {
  const kept = new Map<string, SealedBatch>();
  const confirmations = new Map<string, number>();
  return {
    confirmations,
    add: (batch) => void kept.set(batch.id, batch),
    source: {
      pending: async (limit) => [...kept.values()].slice(0, limit).map(({ payload: _, ...pointer }) => pointer),
      load: async (id) => kept.get(id),
      async confirm(id) {
        if (!kept.delete(id)) throw new Error(`confirmed twice: ${id}`);
        confirmations.set(id, (confirmations.get(id) ?? 0) + 1);
      },
    },
  };
}

/** What a writer does, with a ledger in memory in place of the stores: which batch was stored, how often, with which bytes. */
export function createLedger(queue: BatchQueue): { handle: (pointer: BatchPointer) => Promise<void>; handled: Map<string, Set<string>>; withoutPayload: string[] } {
  const handled = new Map<string, Set<string>>();
  const withoutPayload: string[] = [];
  return {
    handled,
    withoutPayload,
    async handle({ id }) {
      const payload = await queue.payload(id);
      if (payload !== undefined) {
        const hashes = handled.get(id) ?? new Set();
        handled.set(id, hashes.add(createHash('sha256').update(payload).digest('hex')));
      }
      if (handled.has(id)) await queue.finish(id);
      else withoutPayload.push(id);
    },
  };
}

export function openQueue(t: Teardown, redisUrl: string, payloadBytesMax = 100_000_000): BatchQueue {
  const queue = createBatchQueue({ redisUrl, payloadBytesMax, onError: () => undefined });
  t.teardown(() => queue.close());
  return queue;
}

export function consume(t: Teardown, redisUrl: string, handle: BatchConsumerDeps['handle'], options: Partial<BatchConsumerDeps> = {}): { close(): Promise<void>; errors: unknown[] } {
  const errors: unknown[] = [];
  const consumer = createBatchConsumer({ redisUrl, concurrency: 2, retryMsMax: 500, closeMs: 3_000, handle, onError: (error) => errors.push(error), ...options });
  t.teardown(() => consumer.close());
  return { close: consumer.close, errors };
}

/** A plain connection of the test's own. */
export function plainRedis(t: Teardown, redisUrl: string): Redis {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  t.teardown(() => { redis.disconnect(); });
  return redis;
}

export async function until(what: string, reached: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!await reached()) {
    if (performance.now() > endMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
