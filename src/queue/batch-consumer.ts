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

  let running = 0;
  let oneEnded = Promise.withResolvers<void>();

  async function processJob(job: Job<BatchPointer>): Promise<void> {
    running += 1;
    try {
      await deps.handle(job.data, job.attemptsMade + 1);
    } catch (error) {
      deps.onError(error);
      throw new BatchNotStoredError();
    } finally {
      running -= 1;
      oneEnded.resolve();
      oneEnded = Promise.withResolvers();
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

  /** Resolves when `promise` does, at the latest at the deadline. */
  async function orDeadline(promise: Promise<unknown>, deadline: AbortSignal): Promise<void> {
    await Promise.race([promise.catch(deps.onError), new Promise((resolve) => { deadline.addEventListener('abort', resolve, { once: true }); })]);
  }

  async function close(): Promise<void> {
    const deadline = AbortSignal.timeout(deps.closeMs ?? 10_000);
    await orDeadline(worker.pause(true), deadline);
    while (running > 0 && !deadline.aborted) await orDeadline(oneEnded.promise, deadline);
    // An orderly close waits for Redis, and for jobs that did not end in time; a forced one only stops the worker's timers.
    await orDeadline(worker.close(running > 0 || redis.status !== 'ready'), deadline.aborted ? AbortSignal.timeout(1_000) : deadline);
    for (const connection of connections) connection.disconnect();
  }

  let closing: Promise<void> | undefined;
  return { close: () => (closing ??= close()) };
}
