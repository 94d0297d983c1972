import { uuidv7Millis } from '../kernel/ids.ts';
import type { Backlog } from './backlog.ts';
import type { CommitGroup } from './commit-queue.ts';
import type { DiskReserve } from './disk-reserve.ts';
import { JournalFullError, asWriteError } from './journal-error.ts';
import { encodeRecord } from './record.ts';
import type { Sealer } from './sealer.ts';
import { openSegmentFile, syncDirectory } from './segment-file.ts';
import type { OpenIntents, Segment } from './segment.ts';
import { createSegment, trackIntent } from './segment.ts';

/** The open segment. `commit`, `roll` and `close` must not run at the same time; the commit queue sees to it. */
export type Writer = {
  readonly commit: (group: CommitGroup) => Promise<void>;
  /** Makes the next segment the open one and gives this one to the sealer; does nothing while it has no rows. */
  readonly roll: () => Promise<void>;
  readonly close: () => Promise<void>;
  readonly diskBytes: () => number;
  readonly stats: () => { rows: number; intents: number; oldestMs: number | undefined };
};

export type WriterDeps = {
  readonly dir: string;
  readonly batchNo: number;
  readonly sealMs: number;
  readonly sealRows: number;
  readonly sealBytes: number;
  readonly diskBytesMax: number;
  readonly fsync: 'always' | 'interval' | 'never';
  readonly durable: boolean;
  readonly reserve: DiskReserve;
  readonly sealer: Sealer;
  readonly backlog: Backlog;
  readonly onError: (error: unknown) => void;
  readonly exclusive: <T>(task: () => Promise<T>) => Promise<T>;
};

/** While batches pile up unshipped, waiting rows are sealed later and so in fewer, larger files: nobody sees them sooner anyway. */
const sealMsMax = 10_000;
const batchesPerSlowdown = 16;

export async function createWriter(deps: WriterDeps): Promise<Writer> {
  const { sealer, reserve, backlog } = deps;
  const intents: OpenIntents = new Map();
  let segment: Segment = createSegment(deps.batchNo, await openSegmentFile(deps.dir, deps.batchNo, 0));
  if (deps.durable) await syncDirectory(deps.dir);
  let sealTimer: NodeJS.Timeout | undefined;
  let unsynced = false;
  await reserve.restore().catch(deps.onError); // rows are refused until there is room, but what waits can be shipped

  function diskBytes(): number {
    return backlog.bytes() + sealer.waitingBytes() + segment.file.bytes() + (reserve.held() ? reserve.bytes : 0);
  }

  /**
   * Crash points:
   *  1. the next segment exists, empty or with some of the carried intents: recovery reads both in order, intents are kept by id, so
   *     one that stands in both counts once.
   *  2. the intents are carried and synced, this segment is not sealed yet: the same.
   *  3. this segment is sealed and removed: the next one holds every intent that was open.
   * A segment with the highest number always exists, also when all batches were confirmed and deleted: it keeps the numbers gapless
   * and none is used twice.
   */
  async function roll(): Promise<void> {
    clearTimeout(sealTimer);
    sealTimer = undefined;
    if (segment.lines.length === 0) return;
    try {
      await sealer.room();
      const next = await reserve.spend(openNext);
      sealer.push(segment);
      segment = next;
      unsynced = false;
    } catch (error) {
      sealSoon();
      throw asWriteError(error);
    }
  }

  async function openNext(): Promise<Segment> {
    const next = createSegment(segment.batchNo + 1, await openSegmentFile(deps.dir, segment.batchNo + 1, 0));
    try {
      if (intents.size > 0) await next.file.write(Buffer.from([...intents.values()].map(encodeRecord).join('')), { sync: deps.durable });
      if (deps.durable) await syncDirectory(deps.dir);
      return next;
    } catch (error) {
      await next.file.remove();
      throw error;
    }
  }

  function sealSoon(): void {
    const sealMs = Math.max(deps.sealMs, Math.min(sealMsMax, deps.sealMs * Math.floor(backlog.batches() / batchesPerSlowdown)));
    sealTimer ??= setTimeout(() => {
      sealTimer = undefined;
      deps.exclusive(roll).catch(deps.onError);
    }, sealMs);
  }

  async function commit(group: CommitGroup): Promise<void> {
    const data = Buffer.from(group.texts.join(''));
    const overRows = segment.lines.length + group.records.length > deps.sealRows;
    if (overRows || segment.file.bytes() + data.length > deps.sealBytes) await roll();
    await reserve.restore();
    if (diskBytes() + data.length > deps.diskBytesMax) throw new JournalFullError('disk', deps.diskBytesMax);
    await segment.file.write(data, { sync: deps.fsync === 'always' });
    unsynced = true;
    for (const record of group.records) {
      segment.add(record);
      trackIntent(intents, record);
    }
    if (segment.lines.length > 0) sealSoon();
  }

  async function syncNow(): Promise<void> {
    if (!unsynced) return;
    unsynced = false;
    try {
      await segment.file.sync();
    } catch (error) {
      await roll(); // the system may have dropped the pages it could not write: sealing writes the rows again, from memory
      throw error;
    }
  }

  const syncTimer = deps.fsync === 'interval'
    ? setInterval(() => { deps.exclusive(syncNow).catch((error: unknown) => { deps.onError(asWriteError(error)); }); }, deps.sealMs)
    : undefined;
  syncTimer?.unref();

  return {
    commit,
    roll,
    async close() {
      clearTimeout(sealTimer);
      clearInterval(syncTimer);
      if (deps.durable) await segment.file.sync();
      await segment.file.close();
    },
    diskBytes,
    stats: () => ({ rows: segment.lines.length, intents: intents.size, oldestMs: segment.lines.length > 0 ? uuidv7Millis(segment.id()) : undefined }),
  };
}
