import { Queue } from 'bullmq';
import type { SealedBatch } from './batch.ts';
import { createBatchScripts, doneKey, payloadKey, sizesKey } from './batch-scripts.ts';
import { jobOptions, queueCatalog } from './catalog.ts';
import { connectForCalls, isOutOfMemory } from './redis-connection.ts';

export type BatchQueue = {
  /**
   * Hands a batch to the writers; a repeated call changes nothing. `over_budget`: Redis holds as many bytes as it may (or as it can),
   * so the batch stays at its source for now. Rejects with Redis' or the connection's error within a bounded time.
   */
  readonly enqueue: (batch: SealedBatch) => Promise<'queued' | 'over_budget'>;
  /** Per id: stored for good; its source may delete it. */
  readonly areDone: (ids: readonly string[]) => Promise<boolean[]>;
  /** Per id, oldest first: payload and job are both there. When Redis is out of memory, payloads of the newer ids are given up. */
  readonly areQueued: (ids: readonly string[]) => Promise<boolean[]>;
  readonly payload: (id: string) => Promise<Buffer | undefined>;
  /** Sets the done mark and drops the payload. Works also when Redis is out of memory. */
  readonly finish: (id: string) => Promise<void>;
  readonly depth: () => Promise<{ batches: number; bytes: number }>;
  readonly close: () => Promise<void>;
};

const queueName = 'audit-batches';
const weekMs = 7 * 86_400_000;

/**
 * Crash points of a batch's way through Redis. Nothing here is the only copy: its source keeps it until the done mark.
 *  1. after the payload, before the job: areQueued says no, the source sends again; the payload is kept, the job is added.
 *  2. after the job, before the source heard of it: the source sends again; both steps find their work done.
 *  3. a late or repeated enqueue after `finish`: the done mark turns it away. A late job alone finds no payload and ends without a mark.
 *  4. Redis loses the payload, the job or all of its data: as 1, or the job ends without a mark and the source sends again.
 *  5. after `finish`, before BullMQ removed the job: the job runs again, and the ledger of stored batches makes it do nothing.
 */
export function createBatchQueue(deps: { redisUrl: string; payloadBytesMax: number; onError: (error: unknown) => void }): BatchQueue {
  const redis = connectForCalls(deps.redisUrl, deps.onError);
  const scripts = createBatchScripts(redis);
  const queue = new Queue(queueName, {
    connection: redis,
    skipVersionCheck: true, // its INFO would be sent once, and one failure would keep the queue from ever working
    skipWaitingForReady: true,
    streams: { events: { maxLen: queueCatalog[queueName].eventsMax } },
  });
  queue.on('error', deps.onError);

  async function addJob({ payload: _, ...pointer }: SealedBatch): Promise<void> {
    await queue.add(queueName, pointer, jobOptions(queueName, pointer.id));
  }

  async function enqueue(batch: SealedBatch): Promise<'queued' | 'over_budget'> {
    try {
      const answer = await scripts.enqueue(batch.id, batch.payload, deps.payloadBytesMax, weekMs);
      if (answer === 'over_budget') return answer;
      if (answer === 'queued') await addJob(batch);
      return 'queued';
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      await scripts.withdraw(batch.id);
      return 'over_budget';
    }
  }

  return {
    enqueue,
    async areDone(ids) {
      return ids.length === 0 ? [] : (await redis.mget(ids.map(doneKey))).map((mark) => mark !== null);
    },
    async areQueued(ids) {
      return ids.length === 0 ? [] : scripts.queued(ids, (id) => queue.toKey(id));
    },
    payload: async (id) => (await redis.getBuffer(payloadKey(id))) ?? undefined,
    finish: (id) => scripts.finish(id, weekMs),
    async depth() {
      const sizes = await redis.hvals(sizesKey);
      return { batches: sizes.length, bytes: sizes.reduce((sum, size) => sum + Number(size), 0) };
    },
    async close() {
      await queue.close().catch(deps.onError);
      redis.disconnect();
    },
  };
}
