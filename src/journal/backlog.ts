import { readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { uuidv7Millis } from '../kernel/ids.ts';
import type { BatchPointer, BatchSource } from '../queue/batch.ts';
import { systemCode } from './journal-error.ts';
import { pointerFileName } from './sealed-file.ts';
import { syncDirectory } from './segment-file.ts';

/** The sealed batches that are not confirmed yet, in order of their number. */
export type Backlog = {
  readonly source: BatchSource;
  readonly add: (batch: BatchPointer) => void;
  readonly batches: () => number;
  readonly rows: () => number;
  readonly bytes: () => number;
  /** When the oldest batch got its first row, Unix ms. */
  readonly oldestMs: () => number | undefined;
};

/**
 * `durable`: before a confirmed batch is deleted, the directory is synced once, so that the removal of the open segment it was sealed
 * from is on the disk first. Otherwise a power cut could bring the segment back after its batch is gone, and its rows a second time.
 */
export function createBacklog(dir: string, durable: boolean): Backlog {
  const batches = new Map<string, BatchPointer>();
  const unsynced = new Set<string>();
  let rows = 0;
  let bytes = 0;

  async function syncOnce(id: string): Promise<void> {
    if (!unsynced.has(id)) return;
    const covered = [...unsynced];
    await syncDirectory(dir);
    for (const synced of covered) unsynced.delete(synced);
  }

  const source: BatchSource = {
    async pending(limit) {
      const oldest: BatchPointer[] = [];
      for (const batch of batches.values()) {
        if (oldest.length >= limit) break;
        oldest.push(batch);
      }
      return oldest;
    },
    async load(id) {
      const batch = batches.get(id);
      if (batch === undefined) return undefined;
      try {
        return { ...batch, payload: await readFile(join(dir, pointerFileName(batch))) };
      } catch (error) {
        if (systemCode(error) === 'ENOENT' && !batches.has(id)) return undefined;
        throw error;
      }
    },
    async confirm(id) {
      const batch = batches.get(id);
      if (batch === undefined) return;
      await syncOnce(id);
      await unlink(join(dir, pointerFileName(batch))).catch((error: unknown) => {
        if (systemCode(error) !== 'ENOENT') throw error;
      });
      if (!batches.delete(id)) return;
      rows -= batch.rows;
      bytes -= batch.bytes;
    },
  };

  return {
    source,
    add(batch) {
      batches.set(batch.id, batch);
      if (durable) unsynced.add(batch.id);
      rows += batch.rows;
      bytes += batch.bytes;
    },
    batches: () => batches.size,
    rows: () => rows,
    bytes: () => bytes,
    oldestMs() {
      for (const batch of batches.values()) return uuidv7Millis(batch.id);
      return undefined;
    },
  };
}
