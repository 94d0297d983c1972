import { readFile, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchPointer } from '../queue/batch.ts';
import { reserveFileName } from './disk-reserve.ts';
import type { JournalRecord } from './record.ts';
import { decodeRecords, encodeRecord } from './record.ts';
import { parseSealedFileName, sealedPointer, temporarySuffix } from './sealed-file.ts';
import { openSegmentFile, parseSegmentFileName, segmentFileName } from './segment-file.ts';
import type { OpenIntents, Segment } from './segment.ts';
import { createSegment, trackIntent } from './segment.ts';

export type Recovery = {
  /** Sealed and not confirmed, in order of their number. */
  readonly batches: readonly BatchPointer[];
  /** Segments with rows that a dead process left, in order; they are to be sealed. */
  readonly segments: readonly Segment[];
  /** Number of the segment to open for new rows. */
  readonly batchNo: number;
  readonly rows: number;
  /** Rows made from intents that nothing had settled. */
  readonly interrupted: number;
  /** Records and batch files that the disk gave back damaged (possible after a power cut, not after a crash of the process). */
  readonly damaged: number;
};

type Found = { readonly batchNo: number; readonly records: readonly JournalRecord[]; readonly validBytes: number };

async function findBatches(dir: string, producer: string, names: readonly string[]): Promise<{ batches: BatchPointer[]; damaged: number }> {
  const batches: BatchPointer[] = [];
  let damaged = 0;
  for (const name of names) {
    const sealed = parseSealedFileName(name);
    if (sealed === undefined) continue;
    const { size } = await stat(join(dir, name));
    if (size > 0) {
      batches.push(sealedPointer(sealed, producer, size));
      continue;
    }
    // Only with fsync `never`: the name outlived a power cut, its bytes did not. Kept under another name; the ledger shows the hole.
    await rename(join(dir, name), join(dir, `${name}.damaged`));
    damaged += 1;
  }
  return { batches: batches.sort((a, b) => a.batchNo - b.batchNo), damaged };
}

/**
 * Rows for the intents that nothing settled: their process died while it served the request. They are written into the last segment
 * as the rows that settle them, before any segment is sealed, so a crash in here is continued by the next recovery.
 */
async function settleIntents(dir: string, last: Found, intents: OpenIntents): Promise<Found> {
  const settled = [...intents.values()].map((intent): JournalRecord => ({ ...intent, kind: 'row' }));
  if (settled.length === 0) return last;
  const file = await openSegmentFile(dir, last.batchNo, last.validBytes);
  try {
    await file.write(Buffer.from(settled.map(encodeRecord).join('')), { sync: true });
    return { batchNo: last.batchNo, records: [...last.records, ...settled], validBytes: file.bytes() };
  } finally {
    await file.close();
  }
}

async function readSegments(dir: string, names: readonly string[], sealedNos: ReadonlySet<number>): Promise<{ found: Found[]; damaged: number }> {
  const found: Found[] = [];
  let damaged = 0;
  for (const name of [...names].sort()) {
    const batchNo = parseSegmentFileName(name);
    if (batchNo === undefined) continue;
    if (sealedNos.has(batchNo)) {
      // Sealed before the crash; its open intents had been carried to the next segment before that (journal.ts, roll).
      await unlink(join(dir, name));
      continue;
    }
    const content = decodeRecords(await readFile(join(dir, name)));
    found.push({ batchNo, records: content.records, validBytes: content.validBytes });
    damaged += content.damaged;
  }
  return { found, damaged };
}

/** Puts a journal's directory in order after any way of ending. Throws the system's error when the disk cannot be read or written. */
export async function recover(dir: string, producer: string): Promise<Recovery> {
  const names = await readdir(dir);
  // The reserve is given up first: recovery may need its room.
  for (const name of names) if (name.endsWith(temporarySuffix) || name === reserveFileName) await unlink(join(dir, name));
  const { batches, damaged: damagedBatches } = await findBatches(dir, producer, names);
  const { found, damaged } = await readSegments(dir, names, new Set(batches.map((batch) => batch.batchNo)));

  const intents: OpenIntents = new Map();
  for (const { records } of found) for (const record of records) trackIntent(intents, record);
  const last = found.pop();
  const interrupted = intents.size;
  if (last !== undefined) found.push(await settleIntents(dir, last, intents));

  const segments: Segment[] = [];
  for (const { batchNo, records, validBytes } of found) {
    if (records.every((record) => record.kind === 'intent')) {
      if (batchNo !== last?.batchNo) await unlink(join(dir, segmentFileName(batchNo))); // the disk lost its rows: a hole the ledger shows
      continue;
    }
    const segment = createSegment(batchNo, await openSegmentFile(dir, batchNo, validBytes));
    for (const record of records) segment.add(record);
    segments.push(segment);
  }
  const lastHasRows = last !== undefined && segments.at(-1)?.batchNo === last.batchNo;
  const batchNo = last === undefined ? (batches.at(-1)?.batchNo ?? 0) + 1 : last.batchNo + (lastHasRows ? 1 : 0);
  const rows = segments.reduce((sum, segment) => sum + segment.lines.length, 0);
  return { batches, segments, batchNo, rows, interrupted, damaged: damaged + damagedBatches };
}
