import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { formatTimestamp, parseTimestamp } from '../kernel/clock.ts';
import type { Micros } from '../kernel/clock.ts';
import type { BatchPointer } from '../queue/batch.ts';
import { batchNoText, syncDirectory } from './segment-file.ts';

/** All that a pointer holds, but for producer and size, is in the name: opening a journal with a long backlog reads no file. */
const namePattern = /^(\d{12})_([0-9a-f-]{36})_(\d+)_(\d+)_(\d+)\.ndjson\.zst$/;
export const temporarySuffix = '.tmp';

export type SealedName = { readonly batchNo: number; readonly id: string; readonly rows: number; readonly minMicros: Micros; readonly maxMicros: Micros };

export function sealedFileName(batch: SealedName): string {
  return `${batchNoText(batch.batchNo)}_${batch.id}_${batch.rows}_${batch.minMicros}_${batch.maxMicros}.ndjson.zst`;
}

export function parseSealedFileName(name: string): SealedName | undefined {
  const match = namePattern.exec(name);
  if (match === null) return undefined;
  const [, batchNo, id = '', rows, minMicros, maxMicros] = match;
  return { batchNo: Number(batchNo), id, rows: Number(rows), minMicros: Number(minMicros), maxMicros: Number(maxMicros) };
}

export function sealedPointer(name: SealedName, producer: string, bytes: number): BatchPointer {
  const { id, batchNo, rows, minMicros, maxMicros } = name;
  return { id, producer, batchNo, rows, bytes, minTimestamp: formatTimestamp(minMicros), maxTimestamp: formatTimestamp(maxMicros) };
}

export function pointerFileName(pointer: BatchPointer): string {
  return sealedFileName({ ...pointer, minMicros: microsOf(pointer.minTimestamp), maxMicros: microsOf(pointer.maxTimestamp) });
}

function microsOf(timestamp: string): Micros {
  const micros = parseTimestamp(timestamp);
  if (micros === undefined) throw new RangeError(`not a timestamp: ${timestamp}`);
  return micros;
}

/** Writes a sealed batch so that it is there whole or not at all. `durable` also carries it over a power cut. */
export async function writeSealedFile(dir: string, name: string, payload: Buffer, durable: boolean): Promise<void> {
  const path = join(dir, name);
  const temporary = `${path}${temporarySuffix}`;
  try {
    const handle = await open(temporary, 'w');
    try {
      await handle.writeFile(payload);
      if (durable) await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined); // a full disk: give back what the half-written copy took; recovery removes it otherwise
    throw error;
  }
  if (durable) await syncDirectory(dir);
}
