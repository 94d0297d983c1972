import { setTimeout as pause } from 'node:timers/promises';
import type { BatchPointer, BatchSource, SealedBatch } from './batch.ts';
import type { BatchQueue } from './batch-queue.ts';

/** Told what happens to batches, for metrics. */
export type ShipperMetrics = {
  readonly sent?: (batch: BatchPointer) => void;
  /** `shipMs`: from the first sending to the confirmation. */
  readonly confirmed?: (batch: BatchPointer, shipMs: number) => void;
  /** Redis had lost it. */
  readonly lost?: (batch: BatchPointer) => void;
  /** Redis had no room for it. */
  readonly deferred?: (batch: BatchPointer) => void;
};

export type Shipper = {
  /** There may be a new batch: look now. */
  readonly poke: () => void;
  /** Resolves true when the source holds nothing any more, false when that took longer. */
  readonly drained: (timeoutMs: number) => Promise<boolean>;
  /** Ends after the step at hand. What is in flight stays at the source. */
  readonly stop: () => Promise<void>;
};

export type ShipperDeps = {
  readonly source: BatchSource;
  readonly queue: Pick<BatchQueue, 'enqueue' | 'areDone' | 'areQueued'>;
  /** Pause between two looks for done marks while something is in flight. Idle, it looks at the source every ten of them. */
  readonly pollMs: number;
  /** Batches in Redis that this source waits for. */
  readonly inFlightMax: number;
  readonly onError: (error: unknown) => void;
  readonly metrics?: ShipperMetrics;
};

type InFlight = { readonly batch: BatchPointer; readonly sentMs: number; checkedMs: number };

const checkMs = 2_000;
const deferMs = 250;
const retryMsMax = 2_000;

/**
 * Brings the batches of a source into the queue, oldest first, and deletes them at the source when they are stored. It keeps trying for
 * ever, and knows nothing that matters: after a crash it sends everything again that the source still holds, which changes nothing
 * for batches that are queued or done.
 */
export function createShipper(deps: ShipperDeps): Shipper {
  const { source, queue, metrics = {} } = deps;
  const inFlight = new Map<string, InFlight>();
  let stopped = false;
  let poked = true;
  let wake = new AbortController();
  let lookMs = 0;
  let deferredUntilMs = 0;
  let unreadable = 0;

  /** Answers the first failure of a source that could not delete; the others are confirmed all the same. */
  async function confirmDone(): Promise<unknown> {
    let failure: unknown;
    const entries = [...inFlight.values()];
    const done = await queue.areDone(entries.map(({ batch }) => batch.id));
    for (const [index, { batch, sentMs }] of entries.entries()) {
      if (done[index] !== true) continue;
      try {
        await source.confirm(batch.id);
      } catch (error) {
        failure ??= error;
        continue;
      }
      inFlight.delete(batch.id);
      poked = true; // there is room for another one
      metrics.confirmed?.(batch, performance.now() - sentMs);
    }
    return failure;
  }

  /** Forgets what is neither queued nor done, so that it is sent again in its turn. */
  async function findLost(): Promise<void> {
    const nowMs = performance.now();
    const entries = [...inFlight.values()].filter(({ checkedMs }) => nowMs - checkedMs >= checkMs);
    if (entries.length === 0) return;
    const queued = await queue.areQueued(entries.map(({ batch }) => batch.id));
    for (const entry of entries) entry.checkedMs = nowMs;
    const missing = entries.filter((_, index) => queued[index] !== true);
    // Asked after: a batch leaves the queue and is marked done in one step.
    const done = await queue.areDone(missing.map(({ batch }) => batch.id));
    for (const [index, { batch }] of missing.entries()) {
      if (done[index] === true) continue;
      inFlight.delete(batch.id);
      poked = true;
      metrics.lost?.(batch);
    }
  }

  /** A batch that cannot be read (a damaged disk) must not hold up those behind it. */
  async function load(pointer: BatchPointer): Promise<SealedBatch | undefined> {
    try {
      return await source.load(pointer.id);
    } catch (error) {
      deps.onError(error);
      unreadable += 1;
      return undefined;
    }
  }

  async function send(): Promise<void> {
    const nowMs = performance.now();
    if (inFlight.size >= deps.inFlightMax || nowMs < deferredUntilMs || !(poked || nowMs >= lookMs)) return;
    poked = false;
    lookMs = nowMs + 10 * deps.pollMs;
    const pending = await source.pending(deps.inFlightMax + unreadable);
    unreadable = 0;
    for (const pointer of pending) {
      if (stopped || inFlight.size >= deps.inFlightMax) return;
      if (inFlight.has(pointer.id)) continue;
      const batch = await load(pointer);
      if (batch === undefined) continue;
      if (await queue.enqueue(batch) === 'over_budget') {
        metrics.deferred?.(pointer);
        deferredUntilMs = performance.now() + deferMs;
        poked = true;
        return;
      }
      const sentMs = performance.now();
      inFlight.set(pointer.id, { batch: pointer, sentMs, checkedMs: sentMs });
      metrics.sent?.(pointer);
    }
  }

  async function sleep(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: wake.signal }).catch(() => undefined);
    if (wake.signal.aborted) wake = new AbortController();
  }

  async function run(): Promise<void> {
    let retryMs = deps.pollMs;
    while (!stopped) {
      try {
        const failure = await confirmDone();
        await findLost();
        await send();
        if (failure !== undefined) throw new Error('a stored batch could not be deleted at its source', { cause: failure });
        retryMs = deps.pollMs;
        if (!stopped) await sleep(inFlight.size > 0 ? deps.pollMs : Math.max(deps.pollMs, Math.max(lookMs, deferredUntilMs) - performance.now()));
      } catch (error) {
        deps.onError(error);
        poked = true;
        if (!stopped) await sleep(retryMs);
        retryMs = Math.min(retryMs * 2, retryMsMax);
      }
    }
  }

  const running = run();
  return {
    poke() {
      poked = true;
      wake.abort();
    },
    async drained(timeoutMs) {
      const endMs = performance.now() + timeoutMs;
      for (;;) {
        const left = await source.pending(1).catch(deps.onError);
        if (inFlight.size === 0 && left?.length === 0) return true;
        if (stopped || performance.now() >= endMs) return false;
        await pause(Math.min(deps.pollMs, Math.max(1, endMs - performance.now())));
      }
    },
    async stop() {
      stopped = true;
      wake.abort();
      await running;
    },
  };
}
