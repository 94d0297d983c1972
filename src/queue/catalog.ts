import type { BatchPointer } from './batch.ts';

/** What a job of each queue carries. Only pointers and counts: job data lives in Redis until the job is done. */
export type QueueJobs = {
  'audit-batches': BatchPointer;
};

export type QueueName = keyof QueueJobs;

export type QueueOptions = {
  readonly doc: string;
  /** Tries before a job is given up. */
  readonly attempts: number;
  /** Pause after the first failed try; it doubles up to the bound that the consumer sets. */
  readonly retryMsMin: number;
  /** Events BullMQ keeps in its stream for this queue. */
  readonly eventsMax: number;
  /** A job whose worker shows no sign of life for this long is given to another one. A worker that was only slow then meets its own job done: handlers must be idempotent. */
  readonly lockMs: number;
  readonly stalledCheckMs: number;
};

/** Beyond any outage: BullMQ has no word for "for ever". */
const forEver = 1_000_000_000;

/** Every BullMQ queue: one row each. */
export const queueCatalog = {
  'audit-batches': {
    doc: 'Sealed batches of audit rows on their way to ClickHouse; job id = batch id',
    attempts: forEver,
    retryMsMin: 250,
    eventsMax: 1_000,
    lockMs: 20_000,
    stalledCheckMs: 5_000,
  },
} as const satisfies Record<QueueName, QueueOptions>;

/** Options of one job: it leaves nothing behind, and its errors stay out of Redis, because their texts can hold row values. */
export function jobOptions(name: QueueName, jobId: string) {
  const { attempts } = queueCatalog[name];
  return { jobId, attempts, backoff: { type: 'capped' }, removeOnComplete: true, removeOnFail: true, stackTraceLimit: 1, keepLogs: 0 };
}

/** Pause in ms before try `attemptsMade + 1`: doubles from `retryMsMin` to `retryMsMax`, less up to a quarter at random. */
export function retryDelayMs(attemptsMade: number, retryMsMin: number, retryMsMax: number, random: () => number = Math.random): number {
  const fullMs = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(attemptsMade - 1, 30));
  return Math.round(fullMs * (1 - random() / 4));
}
