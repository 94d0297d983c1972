import { setTimeout as sleep } from 'node:timers/promises';
import type { Checkpoint } from './checkpoint.ts';
import type { ImportParts } from './open.ts';
import type { Progress } from './progress.ts';

export type Waiting = { readonly parts: Pick<ImportParts, 'journal' | 'shipper' | 'queue'>; readonly progress: Progress; readonly signal: AbortSignal; readonly state: Checkpoint };

/** Silence after which the user is told what may be missing. */
const stuckMs = 15_000;
const pauseMs = 50;

/** Polls until `reached`; false when the signal was aborted before. */
async function until({ parts, progress, signal, state }: Waiting, reached: () => Promise<boolean>): Promise<boolean> {
  let left = parts.journal.stats().rows;
  let movedMs = performance.now();
  while (!await reached()) {
    if (signal.aborted) return false;
    const now = parts.journal.stats().rows;
    if (now !== left) movedMs = performance.now();
    left = now;
    if (performance.now() - movedMs > stuckMs) {
      progress.note(`${now} rows wait to be stored and nothing has moved for ${stuckMs / 1000} s: is a worker running, and are Redis and ClickHouse up? (customhouse doctor)`);
      movedMs = performance.now();
    }
    progress.update({ ...state, bytes: state.offset, unconfirmed: now });
    await sleep(pauseMs);
  }
  return true;
}

/** Until every row in the journal is confirmed as stored. */
export function waitForStore(waiting: Waiting): Promise<boolean> {
  return until(waiting, async () => {
    if (waiting.parts.journal.stats().rows > 0) waiting.parts.shipper.poke();
    return waiting.parts.journal.stats().rows === 0;
  });
}

/** Until every batch of the journal is in the queue or stored. The journal keeps what is not stored; the next run sees to it. */
export function waitForQueue(waiting: Waiting): Promise<boolean> {
  const { journal, queue } = waiting.parts;
  return until(waiting, async () => {
    const ids = (await journal.source.pending(10_000)).map((batch) => batch.id);
    if (ids.length === 0) return true;
    const [queued, done] = await Promise.all([queue.areQueued(ids), queue.areDone(ids)]);
    return ids.every((_, index) => queued[index] === true || done[index] === true);
  });
}
