import type { FileHandle } from 'node:fs/promises';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

const numberDigits = 12;
const openPattern = /^open-(\d{12})\.log$/;

/** `000000000042`, so that names sort as batch numbers do. */
export function batchNoText(batchNo: number): string {
  return String(batchNo).padStart(numberDigits, '0');
}

export function segmentFileName(batchNo: number): string {
  return `open-${batchNoText(batchNo)}.log`;
}

export function parseSegmentFileName(name: string): number | undefined {
  const digits = openPattern.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Makes names that were created, renamed or removed in a directory survive a power cut. */
export async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The file of one open segment. `bytes` is the length of what was acknowledged, or will be by the caller. */
export type SegmentFile = {
  readonly bytes: () => number;
  /** Writes all or nothing, with `sync` also to the disk itself; on an error the file ends where it ended before. */
  readonly write: (data: Buffer, options: { sync: boolean }) => Promise<void>;
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
  readonly remove: () => Promise<void>;
};

/**
 * Opens `open-<batch no>.log`; `keepBytes` cuts what a crash tore, 0 starts empty.
 *
 * A failed write leaves part of a record behind. It is cut off at once, and if even that fails, before the next write: bytes after
 * the acknowledged end could otherwise be read by a recovery as rows whose callers were told that they were refused.
 */
export async function openSegmentFile(dir: string, batchNo: number, keepBytes: number): Promise<SegmentFile> {
  const path = join(dir, segmentFileName(batchNo));
  const handle: FileHandle = await open(path, keepBytes > 0 ? 'r+' : 'w');
  let endBytes = keepBytes;
  let torn = keepBytes > 0;
  let closed = false;

  async function cut(): Promise<void> {
    await handle.truncate(endBytes);
    torn = false;
  }

  async function write(data: Buffer, options: { sync: boolean }): Promise<void> {
    if (torn) await cut();
    try {
      for (let at = 0; at < data.length;) {
        const { bytesWritten } = await handle.write(data, at, data.length - at, endBytes + at);
        if (bytesWritten === 0) throw Object.assign(new Error('the disk took no bytes'), { code: 'EIO' });
        at += bytesWritten;
      }
      if (options.sync) await handle.datasync();
    } catch (error) {
      torn = true;
      await cut().catch(() => undefined); // `torn` stays set: the next write tries again
      throw error;
    }
    endBytes += data.length;
  }

  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    await handle.close();
  }

  if (torn) await cut();
  return {
    bytes: () => endBytes,
    write,
    sync: () => handle.datasync(),
    close,
    async remove() {
      await close();
      await unlink(path);
    },
  };
}
