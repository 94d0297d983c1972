import { randomBytes } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { JournalWriteError, asWriteError, isNoRoom, systemCode } from './journal-error.ts';

export const reserveFileName = 'reserve';
const block = randomBytes(64 * 1024); // zeros, or a hole, would reserve nothing on a file system that compresses or skips them
const retryMs = 100;

/**
 * Room on the disk that is kept for sealing. Without it a disk filled by the open segment would hold rows that can neither be sealed
 * nor shipped nor deleted, and stay full for ever. The journal takes no rows while the reserve is missing.
 */
export type DiskReserve = {
  readonly bytes: number;
  readonly held: () => boolean;
  /** Takes the room (back). Rejects with JournalWriteError when the disk has none, or while `spend` needs it. */
  readonly restore: () => Promise<void>;
  /** Runs a step of sealing; when the disk has no room for it, once more with the reserve given up. */
  readonly spend: <T>(step: () => Promise<T>) => Promise<T>;
};

export function createDiskReserve(dir: string, bytes: number): DiskReserve {
  const path = join(dir, reserveFileName);
  let held = false;
  let spending = 0;
  let taking: Promise<void> | undefined;
  let failure: Error | undefined;
  let retryAtMs = 0;

  async function release(): Promise<void> {
    held = false;
    await unlink(path).catch((error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error;
    });
  }

  async function take(): Promise<void> {
    if (held) return;
    if (spending > 0) throw new JournalWriteError('ENOSPC', undefined);
    if (failure !== undefined && performance.now() < retryAtMs) throw failure;
    try {
      const handle = await open(path, 'w');
      try {
        for (let left = bytes; left > 0; left -= block.length) await handle.writeFile(block.subarray(0, Math.min(left, block.length)));
        await handle.datasync(); // some file systems notice only here that there is no room
      } finally {
        await handle.close();
      }
      held = true;
      failure = undefined;
    } catch (error) {
      await release(); // what was taken of it may be what others need
      failure = asWriteError(error);
      retryAtMs = performance.now() + retryMs;
      throw failure;
    }
  }

  async function spend<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (!isNoRoom(error)) throw error;
    }
    spending += 1;
    try {
      await taking?.catch(() => undefined);
      await release();
      return await step();
    } finally {
      spending -= 1;
    }
  }

  return {
    bytes,
    held: () => held,
    restore: () => (taking = take()),
    spend,
  };
}
