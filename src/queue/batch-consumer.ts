import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'bullmq';
import type { Job } from 'bullmq';
import type { BatchPointer } from './batch.ts';
import { queueCatalog, retryDelayMs } from './catalog.ts';
import { connectForWorker } from './redis-connection.ts';

export type BatchConsumer = {
  /** Takes no further jobs, waits for the running ones up to `closeMs`, and disconnects. What was cut off runs again elsewhere. */
  readonly close: () => Promise<void>;
};

export type BatchConsumerDeps = {
  readonly redisUrl: string;
  /** Batches handled at a time. */
  readonly concurrency: number;
  /** Longest pause between two tries of a batch. */
  readonly retryMsMax: number;
  readonly closeMs?: number;
  /**
   * Stores one batch; `attempt` counts from 1. May run again for a batch that was handled, also at the same time elsewhere, and must
   * then change nothing. A rejection is a failed try: the batch is tried again for ever. Returning ends the job; when the batch was
   * not stored (its payload is gone) no done mark may be set, and its source sends it again.
   */
  readonly handle: (pointer: BatchPointer, attempt: number) => Promise<void>;
  readonly onError: (error: unknown) => void;
};

const queueName = 'audit-batches';
const unlimited = 1_000_000_000;

/** What BullMQ writes into Redis of a failed try: nothing of the error itself, whose text may quote rows. */
class BatchNotStoredError extends Error {
  constructor() {
    super('batch not stored');
    this.stack = this.message;
  }
}

/** Runs `handle` for every batch that is queued, until closed. Survives Redis being down, restarted, full or wiped. */
export function createBatchConsumer(deps: BatchConsumerDeps): BatchConsumer {
  const { lockMs, stalledCheckMs, retryMsMin } = queueCatalog[queueName];
  const redis = connectForWorker(deps.redisUrl, deps.onError);
  const connections = [redis];
  const duplicate = redis.duplicate.bind(redis);
  // The worker's blocking connection is a duplicate that BullMQ cannot close while Redis is away, so we keep hold of it.
  redis.duplicate = (options) => {
    const copy = duplicate(options);
    connections.push(copy);
    return copy;
  };

  async function processJob(job: Job<BatchPointer>): Promise<void> {
    try {
      await deps.handle(job.data, job.attemptsMade + 1);
    } catch (error) {
      deps.onError(error);
      throw new BatchNotStoredError();
    }
  }

  const worker = new Worker<BatchPointer>(queueName, processJob, {
    connection: redis,
    concurrency: deps.concurrency,
    lockDuration: lockMs,
    stalledInterval: stalledCheckMs,
    maxStalledCount: unlimited, // a worker that dies often must not cost a batch
    drainDelay: 2,
    runRetryDelay: 500,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    skipVersionCheck: true, // its INFO would be sent once, and one failure would keep the worker from ever starting
    settings: { backoffStrategy: (attemptsMade) => retryDelayMs(attemptsMade, retryMsMin, deps.retryMsMax) },
  });
  worker.on('error', deps.onError);

  async function close(): Promise<void> {
    const stopTimer = new AbortController();
    const closed = worker.close().then(() => { stopTimer.abort(); }, deps.onError);
    await Promise.race([closed, pause(deps.closeMs ?? 10_000, undefined, { signal: stopTimer.signal }).catch(() => undefined)]);
    for (const connection of connections) connection.disconnect();
  }

  return { close };
}
