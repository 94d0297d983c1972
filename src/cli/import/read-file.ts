import { setTimeout as sleep } from 'node:timers/promises';
import type { Journal } from '../../journal/journal.ts';
import type { StoredIds } from '../../store/ch/stored-ids.ts';
import type { Checkpoint } from './checkpoint.ts';
import { writeCheckpoint } from './checkpoint.ts';
import { appendRows, newRows, parseChunk } from './chunk.ts';
import type { ReadBytes } from './lines.ts';
import { readLineChunks } from './lines.ts';
import type { RetentionOf } from './parse-row.ts';
import { withPatience } from './patience.ts';
import type { Progress } from './progress.ts';
import type { Rejects } from './rejects.ts';

/** Sealed batches that may wait on the disk; over it reading pauses. */
const unconfirmedBatchesMax = 32;

export type ReadFileDeps = {
  readonly stateDir: string;
  readonly from: Checkpoint;
  /** The first chunk may be in already. */
  readonly doubtful: boolean;
  readonly read: ReadBytes;
  readonly journal: Journal;
  readonly storedIds: StoredIds;
  readonly retentionOf: RetentionOf;
  readonly rejects: Rejects;
  readonly progress: Progress;
  readonly signal: AbortSignal;
};

/**
 * Reads the input from the checkpoint to its end, or until `signal` is aborted, and answers the last checkpoint.
 *
 * Crash points of one chunk:
 *  1. before the first row is appended: nothing happened, the next run reads the chunk again.
 *  2. while rows are appended, or sealed but before the checkpoint: some rows of the chunk are in the journal or stored already. The next
 *     run stores what the journal holds, reads the same chunk again (`doubtful`) and leaves out the rows that are stored.
 *  3. after the checkpoint: the next run starts with the next chunk.
 * Rejected lines are written before the checkpoint, which says how long their file is; a longer rest is cut off.
 */
export async function readFile(deps: ReadFileDeps): Promise<Checkpoint> {
  const { stateDir, journal, progress, rejects, signal } = deps;
  const patience = { signal, note: progress.note };
  let at = deps.from;
  let doubtful = deps.doubtful;
  // Stands before any row, so that a run that dies in its first chunk is known to have begun.
  await writeCheckpoint(stateDir, at);
  for await (const { lines, endOffset } of readLineChunks(deps.read, at.offset)) {
    while (journal.stats().batches > unconfirmedBatchesMax && !signal.aborted) {
      progress.update({ ...at, bytes: at.offset, unconfirmed: journal.stats().rows });
      await sleep(20);
    }
    if (signal.aborted) return at;
    const { lines: linesBefore, org } = at;
    const { rows, rejected } = await withPatience(() => parseChunk(lines, linesBefore + 1, { org: org ?? undefined, retentionOf: deps.retentionOf }), patience);
    const wanted = doubtful || at.checking ? await withPatience(() => newRows(rows, deps.storedIds), patience) : rows;
    doubtful = false;
    await appendRows(journal, wanted);
    for (const { line, problems } of rejected) rejects.add(line, problems);
    at = {
      ...at,
      offset: endOffset,
      lines: at.lines + lines.length,
      accepted: at.accepted + rows.length,
      rejected: at.rejected + rejected.length,
      skipped: at.skipped + rows.length - wanted.length,
      rejectedBytes: await rejects.flush(),
    };
    await writeCheckpoint(stateDir, at);
    progress.update({ ...at, bytes: at.offset, unconfirmed: journal.stats().rows });
  }
  return at;
}
