import type { BatchPointer } from '../src/queue/batch.ts';
import { decompressPayload } from '../src/queue/payload.ts';
import type { BatchLedger } from '../src/store/pg/batches.ts';
import { sliceByOrg, splitLines } from './batch-lines.ts';
import type { Committer } from './commit.ts';
import type { StoreDeps } from './dead-letter.ts';
import { storeBatch } from './dead-letter.ts';

export type AuditWriterDeps = StoreDeps & {
  readonly queue: { payload(id: string): Promise<Buffer | undefined>; finish(id: string): Promise<void> };
  readonly ledger: Pick<BatchLedger, 'find'>;
  readonly committer: Committer;
  readonly observe?: (batch: { readonly rows: number; readonly insertMs: number; readonly commitMs: number }) => void;
};

/** Bytes of a batch after decompression: the largest journal segment, its stamps, and one last row of the greatest size. */
const batchBytesMax = 128 * 1_048_576;

/** Lines of an org beyond this cannot shrink to the 32 KiB that a stream entry holds. */
const inlineBytesMax = 512 * 1024;

/** The bytes of a batch are not what its pointer says. They stay where they are; the source has the batch until it is stored. */
export class DamagedBatchError extends Error {
  constructor(pointer: BatchPointer, problem: string, cause?: unknown) {
    super(`batch ${pointer.id} (${pointer.producer} number ${pointer.batchNo}): ${problem}`, { cause });
    this.name = 'DamagedBatchError';
  }
}

export type HandleBatch = (pointer: BatchPointer) => Promise<void>;

/**
 * Takes one batch from the queue to ClickHouse, ledger and streams. Every error is thrown, and the queue calls again; a batch may also
 * come twice, or to two workers at once. Crash points, each followed by a repeat from the start:
 *
 *   before the insert          nothing has happened
 *   during or after the insert ClickHouse drops the repeated insert by its token, which is the batch id
 *   within the commit step     see commit.ts: one ledger row, one entry per stream
 *   before the done mark       the ledger has the batch: what is unpublished is published, then the mark is set
 *   after it                   the source deletes its copy; a copy still queued finds no payload, or the ledger row
 *
 * A pointer without payload (Redis was wiped, or the batch is finished) ends without a done mark, so that its source sends it again.
 */
export function createBatchHandler(deps: AuditWriterDeps): HandleBatch {
  const { queue, ledger, committer } = deps;

  async function finishCommitted(id: string, published: boolean): Promise<void> {
    if (!published) await committer.publishLeftovers();
    await queue.finish(id);
  }

  return async function handle(pointer) {
    const committed = await ledger.find(pointer.id);
    if (committed !== undefined) return finishCommitted(pointer.id, committed.published);
    const payload = await queue.payload(pointer.id);
    if (payload === undefined) return;
    const ndjson = await decompressPayload(payload, batchBytesMax).catch((error: unknown) => { throw new DamagedBatchError(pointer, 'cannot be decompressed', error); });
    const lines = splitLines(ndjson);
    if (lines.count !== pointer.rows) throw new DamagedBatchError(pointer, `has ${lines.count} lines instead of ${pointer.rows}`);
    const started = performance.now();
    const dead = await storeBatch(deps, pointer, lines, payload);
    const inserted = performance.now();
    await committer.commit(pointer, sliceByOrg(lines, dead, inlineBytesMax));
    deps.observe?.({ rows: lines.count, insertMs: inserted - started, commitMs: performance.now() - inserted });
    await queue.finish(pointer.id);
  };
}
