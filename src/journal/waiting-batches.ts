import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchPointer } from '../queue/batch.ts';
import { systemCode } from './journal-error.ts';
import { parseSealedFileName, sealedPointer } from './sealed-file.ts';
import { parseSegmentFileName } from './segment-file.ts';

/** What a journal holds, seen from outside while its owner works. `sealedBatches` is the number of its last sealed batch. */
export type WaitingBatches = { readonly producer: string; readonly batches: readonly BatchPointer[]; readonly sealedBatches: number };

/** Reads a journal's directory without opening the journal; undefined when it is none. For the loss ledger. */
export async function readWaitingBatches(dir: string): Promise<WaitingBatches | undefined> {
  let names: string[];
  let producer: unknown;
  try {
    ({ producer } = JSON.parse(await readFile(join(dir, 'journal.json'), 'utf8')) as { producer?: unknown });
    names = await readdir(dir);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return undefined;
    throw error;
  }
  if (typeof producer !== 'string') return undefined;
  const batches: BatchPointer[] = [];
  let open = Number.POSITIVE_INFINITY;
  let sealed = 0;
  for (const name of names.sort()) {
    open = Math.min(open, parseSegmentFileName(name) ?? open);
    const parsed = parseSealedFileName(name);
    if (parsed === undefined) continue;
    sealed = Math.max(sealed, parsed.batchNo);
    try {
      batches.push(sealedPointer(parsed, producer, (await stat(join(dir, name))).size));
    } catch (error) {
      // Confirmed since the directory was read.
      if (systemCode(error) !== 'ENOENT') throw error;
    }
  }
  // Numbers below the oldest open segment were all sealed, confirmed ones included.
  return { producer, batches, sealedBatches: Math.max(sealed, Number.isFinite(open) ? open - 1 : 0) };
}
