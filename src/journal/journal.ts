import { mkdir, statfs } from 'node:fs/promises';
import { parseTimestamp } from '../kernel/clock.ts';
import type { BatchPointer, BatchSource } from '../queue/batch.ts';
import { createBacklog } from './backlog.ts';
import { createCommitQueue } from './commit-queue.ts';
import type { DiskReserve } from './disk-reserve.ts';
import { createDiskReserve } from './disk-reserve.ts';
import { JournalClosedError } from './journal-error.ts';
import { lockJournal } from './journal-lock.ts';
import { recover } from './recovery.ts';
import type { Sealer } from './sealer.ts';
import { createSealer } from './sealer.ts';
import { openSequence } from './sequence.ts';
import type { JournalStats } from './journal-stats.ts';
import { createWriter } from './writer.ts';

export type FsyncPolicy = 'always' | 'interval' | 'never';

export type JournalOptions = {
  readonly dir: string;
  /** `proxy:<name>`, `import:<name>`: stays with the directory for ever. */
  readonly producer: string;
  /** A segment is sealed when its first row is this old, or when it holds this much. */
  readonly sealMs: number;
  readonly sealRows: number;
  readonly sealBytes: number;
  /** Bytes of all files of the journal. */
  readonly diskBytesMax: number;
  readonly fsync: FsyncPolicy;
  /** Failures that have no caller: sealing and syncing in the background. They are tried again. */
  readonly onError?: (error: unknown) => void;
};

export type SealListener = (batch: BatchPointer, sealMs: number) => void;

/** Durable local log of rows (design 5). */
export type Journal = {
  /**
   * Accepts one row: `line` as encodeLine makes it, `timestamp` RFC 3339. Resolves after the write (with fsync `always` after the
   * sync); from then on the row survives kill -9. `closes` settles the intent of that id.
   * Rejects with JournalFullError, JournalWriteError or JournalClosedError, and then nothing of the row was kept; RangeError for a
   * line or timestamp that is none.
   */
  readonly append: (line: string, timestamp: string, options?: { closes?: string }) => Promise<void>;
  /** A row that counts only when this process dies before `append` with `closes: id`. Resolves and rejects as `append`. */
  readonly intent: (id: string, line: string, timestamp: string) => Promise<void>;
  /** source_seq for this producer's next row (contract 2.1). */
  readonly nextSeq: () => number;
  /** Seals what was accepted so far; resolves when it can be shipped. */
  readonly seal: () => Promise<void>;
  readonly source: BatchSource;
  /** Called for each batch that can be shipped from now on. */
  readonly onSealed: (listener: SealListener) => void;
  readonly stats: () => JournalStats;
  /** Flushes, seals and releases the directory. When sealing fails the rows stay on disk for the next opening, and it rejects. */
  readonly close: () => Promise<void>;
};

const groupRows = 1_000;
const groupChars = 512 * 1024;
const waitingCharsMin = 16 * 1_048_576;
/** For the open intents that rolling carries, and for directory entries. */
const reserveBytesOver = 64 * 1024;
const sealBytesMin = 64 * 1024;

function microsOf(line: string, timestamp: string): number {
  if (!line.startsWith('{"') || !line.endsWith('}') || line.includes('\n')) throw new RangeError('line: not a JSON object on one line');
  const micros = parseTimestamp(timestamp);
  if (micros === undefined) throw new RangeError('timestamp: not an RFC 3339 date-time');
  return micros;
}

/** A sealed batch must fit the reserve, and the reserve a small disk: there, batches are cut at an eighth of what was free. */
async function sealBytesOn(dir: string, wantedBytes: number): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return Math.min(wantedBytes, Math.max(sealBytesMin, Math.floor(bavail * bsize / 8)));
}

/**
 * Opens the journal in `dir`, in the order that the last process left it in. Throws JournalOpenError when another process or another
 * producer owns the directory, JournalWriteError when it cannot be written.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  await mkdir(options.dir, { recursive: true });
  const lock = lockJournal(options.dir);
  try {
    return await openLocked(options, () => { lock.release(); });
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function openLocked(options: JournalOptions, unlock: () => void): Promise<Journal> {
  const { dir, producer } = options;
  const onError = options.onError ?? (() => undefined);
  const durable = options.fsync !== 'never';
  const listeners = new Set<SealListener>();
  const sequence = openSequence(dir, producer);
  const recovery = await recover(dir, producer);
  const backlog = createBacklog(dir, durable);
  for (const batch of recovery.batches) backlog.add(batch);
  const sealBytes = await sealBytesOn(dir, options.sealBytes);
  const reserve: DiskReserve = createDiskReserve(dir, sealBytes + reserveBytesOver);
  let last: { rows: number; bytes: number; sealMs: number } | undefined;
  const sealer: Sealer = createSealer({
    dir, producer, durable, reserve, onError,
    sealed(batch, sealMs) {
      last = { rows: batch.rows, bytes: batch.bytes, sealMs };
      backlog.add(batch);
      for (const listener of listeners) listener(batch, sealMs);
    },
  });
  const writer = await createWriter({ ...options, sealBytes, onError, durable, reserve, sealer, backlog, batchNo: recovery.batchNo, exclusive: (task) => queue.exclusive(task) });
  const queue = createCommitQueue({ groupRows: Math.min(groupRows, options.sealRows), groupChars: Math.min(groupChars, sealBytes), waitingCharsMax: Math.max(waitingCharsMin, 2 * options.sealBytes), commit: writer.commit });
  for (const segment of recovery.segments) sealer.push(segment);
  await sealer.idle().catch(() => undefined); // onError has it, and the sealer tries again
  let closing: Promise<void> | undefined;

  async function accept(kind: 'row' | 'intent', intentId: string, line: string, timestamp: string): Promise<void> {
    if (closing !== undefined) throw new JournalClosedError();
    return queue.add({ kind, intentId, line, micros: microsOf(line, timestamp) });
  }

  async function seal(): Promise<void> {
    await queue.flush();
    await queue.exclusive(writer.roll);
    await sealer.idle();
  }

  async function close(): Promise<void> {
    const steps = [seal, sealer.stop, () => queue.exclusive(writer.close), async () => { sequence.release(); }, async () => { unlock(); }];
    const failures: unknown[] = [];
    for (const step of steps) await step().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  return {
    append: (line, timestamp, { closes = '' } = {}) => accept('row', closes, line, timestamp),
    async intent(id, line, timestamp) {
      if (id === '' || /[\t\n]/.test(id)) throw new RangeError('id: empty, or with a tab or newline');
      return accept('intent', id, line, timestamp);
    },
    nextSeq: sequence.next,
    seal,
    source: backlog.source,
    onSealed: (listener) => void listeners.add(listener),
    stats() {
      const open = writer.stats();
      const oldestMs = backlog.oldestMs() ?? open.oldestMs;
      return {
        batches: backlog.batches(),
        rows: backlog.rows() + sealer.waitingRows() + open.rows,
        bytes: backlog.bytes(),
        diskBytes: writer.diskBytes(),
        openRows: open.rows,
        openIntents: open.intents,
        oldestMs: oldestMs === undefined ? 0 : Math.max(0, Date.now() - oldestMs),
        lastBatchRows: last?.rows ?? 0,
        lastBatchBytes: last?.bytes ?? 0,
        lastSealMs: last?.sealMs ?? 0,
        reserveHeld: reserve.held(),
        recovered: { rows: recovery.rows, interrupted: recovery.interrupted, damaged: recovery.damaged },
      };
    },
    close: () => (closing ??= close()),
  };
}
