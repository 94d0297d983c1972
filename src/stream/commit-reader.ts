import type { Commit, CommitLog } from './commit.ts';
import { createLimiter } from './limiter.ts';
import type { CommitRows, StreamRow } from './row.ts';
import { inDeliveryOrder } from './row.ts';
import { createRowCache } from './row-cache.ts';

export type CommitPage = {
  readonly commits: readonly Commit[];
  /** Every commit of the org with a seq up to this one is in the page, or was before it. */
  readonly through: number;
  /** False when the limit cut the page. */
  readonly complete: boolean;
};

/** The commit log as the hub uses it: bounded, shared between clients that ask for the same. */
export type CommitReader = {
  page(orgId: string, afterSeq: number): Promise<CommitPage>;
  /** Rows of the first commits of the list, at least of one, as many as fit into one read; ascending. */
  rows(orgId: string, commits: readonly Commit[]): Promise<readonly CommitRows[]>;
  /** Rows that came with a stream entry, so that clients that fall behind need not read them again. */
  remember(orgId: string, batchId: string, rows: readonly StreamRow[]): void;
  /**
   * Tells that this seq is committed, hence all before it. Only for what the log itself said: Redis may know commits of a ledger that
   * has been set back to a backup.
   */
  sawSeq(seq: number): void;
  locate: CommitLog['locate'];
  seqOf: CommitLog['seqOf'];
  headSeq(): Promise<number>;
  forgetRows(): void;
};

const pageCommits = 200;
/** Rows of one read, but at least one batch: more would be decoded for nothing when the client's buffer fills first. */
const rowsPerRead = 2000;

export function createCommitReader(log: CommitLog, limits: { readonly concurrency: number; readonly cacheBytesMax: number }): CommitReader {
  const limit = createLimiter(limits.concurrency);
  const cache = createRowCache(limits.cacheBytesMax);
  const running = new Map<string, Promise<CommitPage>>();
  let knownSeq = 0;

  function sawSeq(seq: number): void {
    if (seq > knownSeq) knownSeq = seq;
  }

  async function readPage(orgId: string, afterSeq: number): Promise<CommitPage> {
    // Read before the query starts, and shared with its answer: what is known only later may be missing from it.
    const visible = knownSeq;
    const commits = await log.commitsAfter(orgId, afterSeq, undefined, pageCommits);
    const last = commits.at(-1)?.seq ?? afterSeq;
    sawSeq(last);
    const complete = commits.length < pageCommits;
    return { commits, complete, through: complete ? Math.max(last, visible) : last };
  }

  return {
    sawSeq,
    page(orgId, afterSeq) {
      const key = `${orgId} ${afterSeq}`;
      let page = running.get(key);
      if (page === undefined) {
        page = limit(() => readPage(orgId, afterSeq)).finally(() => running.delete(key));
        running.set(key, page);
      }
      return page;
    },
    async rows(orgId, commits) {
      const missing: Commit[] = [];
      const chunk: { seq: number; rows: Promise<readonly StreamRow[]> | undefined; batchId: string }[] = [];
      let expected = 0;
      for (const commit of commits) {
        expected += commit.rows ?? rowsPerRead;
        if (chunk.length > 0 && expected > rowsPerRead) break;
        const rows = cache.get(orgId, commit.batchId);
        if (rows === undefined) missing.push(commit);
        chunk.push({ seq: commit.seq, batchId: commit.batchId, rows });
      }
      if (missing.length > 0) {
        const read = limit(async () => new Map((await log.readBatchRows(orgId, missing)).map(({ commit, events }) => [commit.batchId, events])));
        for (const part of chunk) {
          if (part.rows !== undefined) continue;
          part.rows = read.then((batches) => inDeliveryOrder(orgId, batches.get(part.batchId) ?? []));
          cache.put(orgId, part.batchId, part.rows);
        }
      }
      return Promise.all(chunk.map(async ({ seq, rows }) => ({ seq, rows: (await rows) ?? [] })));
    },
    remember(orgId, batchId, rows) {
      cache.put(orgId, batchId, Promise.resolve(rows));
    },
    locate: (orgId, eventId) => limit(() => log.locate(orgId, eventId)),
    seqOf: (batchId) => limit(() => log.seqOf(batchId)),
    async headSeq() {
      const seq = await log.headSeq();
      sawSeq(seq);
      return seq;
    },
    forgetRows: () => cache.clear(),
  };
}
