import { setTimeout as pause } from 'node:timers/promises';
import { batchSuffix, stampLine } from '../events/line.ts';
import type { BatchPointer } from '../queue/batch.ts';
import { compressLines } from '../queue/payload.ts';
import type { DiskReserve } from './disk-reserve.ts';
import { JournalClosedError, asWriteError } from './journal-error.ts';
import { sealedFileName, sealedPointer, writeSealedFile } from './sealed-file.ts';
import type { Segment } from './segment.ts';

/** Segments that wait while one is sealed. More would only hold more memory: the disk is the slower side then, and callers wait for it. */
const waitingMax = 2;
const retryMsMin = 100;
const retryMsMax = 2_000;

export type Sealer = {
  readonly push: (segment: Segment) => void;
  /** Resolves when another segment may be pushed; rejects with JournalWriteError while the disk refuses to seal. */
  readonly room: () => Promise<void>;
  /** Resolves when nothing waits; rejects with JournalWriteError while the disk refuses to seal. */
  readonly idle: () => Promise<void>;
  readonly waitingRows: () => number;
  readonly waitingBytes: () => number;
  /** Gives up what is not sealed; its segments stay on the disk for the next opening. */
  readonly stop: () => Promise<void>;
};

export type SealerDeps = {
  readonly dir: string;
  readonly producer: string;
  readonly durable: boolean;
  readonly reserve: DiskReserve;
  readonly sealed: (batch: BatchPointer, sealMs: number) => void;
  readonly onError: (error: unknown) => void;
};

function* stamped(lines: readonly string[], suffix: string): Generator<string> {
  for (const line of lines) yield stampLine(line, suffix);
}

/**
 * Turns rolled segments into sealed batches, one at a time and in order.
 *
 * Crash points of one segment N, whose successor N+1 already exists (it keeps the number, see journal.ts):
 *  1. before the rename: N is still open; recovery removes the temporary file and seals N again under a new id. Nobody saw the old id,
 *     because a batch is shown to its shipper only after step 3.
 *  2. after the rename, before the segment is removed: recovery finds a sealed batch of number N and removes the segment.
 *  3. after the removal: recovery finds the sealed batch.
 */
export function createSealer(deps: SealerDeps): Sealer {
  const waiting: Segment[] = [];
  let stopped = false;
  let failure: Error | undefined;
  let running: Promise<void> | undefined;
  let wake = new AbortController();
  let changed = Promise.withResolvers<void>();

  function announce(): void {
    changed.resolve();
    changed = Promise.withResolvers();
  }

  async function sealOnce(segment: Segment): Promise<void> {
    const startedMs = performance.now();
    const rows = segment.lines.length;
    const id = segment.id();
    const suffix = batchSuffix({ ingestedAtMs: Date.now(), producer: deps.producer, batchId: id, batchNo: segment.batchNo, batchRows: rows });
    const payload = await compressLines(stamped(segment.lines, suffix));
    const name = { batchNo: segment.batchNo, id, rows, ...segment.range() };
    await writeSealedFile(deps.dir, sealedFileName(name), payload, deps.durable);
    await segment.file.remove();
    deps.sealed(sealedPointer(name, deps.producer, payload.length), performance.now() - startedMs);
  }

  async function run(): Promise<void> {
    let retryMs = retryMsMin;
    for (let segment = waiting[0]; segment !== undefined && !stopped; segment = waiting[0]) {
      try {
        await deps.reserve.spend(() => sealOnce(segment));
        waiting.shift();
        failure = undefined;
        retryMs = retryMsMin;
        announce();
      } catch (error) {
        failure = asWriteError(error);
        deps.onError(failure);
        announce();
        await pause(retryMs, undefined, { signal: wake.signal }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, retryMsMax);
      }
    }
    running = undefined;
  }

  async function until(reached: () => boolean): Promise<void> {
    while (!reached()) {
      if (stopped) throw new JournalClosedError();
      if (failure !== undefined) throw failure;
      await changed.promise;
    }
  }

  /** Ends the pause after a failure, and waits for the try that follows. */
  async function tryNow(): Promise<void> {
    if (failure === undefined || stopped) return;
    const next = changed.promise;
    wake.abort();
    wake = new AbortController();
    await next;
  }

  return {
    push(segment) {
      waiting.push(segment);
      running ??= run();
    },
    room: () => until(() => waiting.length < waitingMax),
    async idle() {
      await tryNow();
      await until(() => waiting.length === 0);
    },
    waitingRows: () => waiting.reduce((rows, segment) => rows + segment.lines.length, 0),
    waitingBytes: () => waiting.reduce((bytes, segment) => bytes + segment.file.bytes(), 0),
    async stop() {
      stopped = true;
      wake.abort();
      announce();
      await running;
      await Promise.all(waiting.map((segment) => segment.file.close()));
    },
  };
}
