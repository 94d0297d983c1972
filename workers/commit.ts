import type { LockSession } from '../src/store/pg/advisory-lock.ts';
import { insertCommit, markPublished, unpublishedCommits } from '../src/store/pg/batches.ts';
import type { CommittedBatch } from '../src/store/pg/batches.ts';
import type { StreamPublisher } from '../src/stream/publisher.ts';
import type { OrgSlice } from './batch-lines.ts';

/** Leftovers published under one hold of the lock; further ones wait for the next commit or sweep. */
const leftoversMax = 1000;

export type Committer = {
  /** Enters a stored batch into the ledger and publishes it to the streams of its orgs. A batch already entered is only published. */
  commit(batch: Omit<CommittedBatch, 'orgs'>, slices: readonly OrgSlice[]): Promise<void>;
  /** Publishes what an earlier commit left unpublished, as pointers without rows; answers how many batches. */
  publishLeftovers(): Promise<number>;
};

/**
 * The commit step (design 5): after ClickHouse has a batch, before its source may forget it. One session advisory lock makes the order
 * of commits total: who sees a commit sees all before it, and streams get them in this order. Crash points:
 *
 *   before the ledger row      the batch is not committed; its source or the queue brings it again, ClickHouse drops the repeated insert
 *   ledger row, not published  the next commit, the retry of this one, or the sweep publishes it first, as a pointer
 *   published to some orgs     the same; orgs that have the entry refuse the second by its explicit id
 *   published, not marked      the same; all orgs refuse it
 *   marked                     only the done mark is missing; the retry finds the ledger row and sets it
 *
 * When the lock's connection breaks between ledger row and publishing, another process may enter: it publishes this commit as a
 * leftover before its own, and our late entry is refused. The ledger row itself is never written without the lock.
 */
export function createCommitter(deps: { session: LockSession; publisher: Pick<StreamPublisher, 'publish'>; onPublished?: (batches: number) => void }): Committer {
  const { session, publisher } = deps;

  async function leftovers(): Promise<number> {
    const commits = await unpublishedCommits(session.sql, leftoversMax);
    for (const commit of commits) {
      await publisher.publish(commit);
      await markPublished(session.sql, commit.seq);
    }
    if (commits.length > 0) deps.onPublished?.(commits.length);
    return commits.length;
  }

  return {
    commit: (batch, slices) => session.exclusively(async () => {
      // All of them, or a later entry would go out before an earlier one.
      while (await leftovers() === leftoversMax);
      const orgs = slices.map(({ orgId, rows }) => ({ orgId, rows }));
      const seq = await insertCommit(session, { ...batch, orgs });
      if (seq === undefined) return;
      await publisher.publish({ seq, batchId: batch.id, minTimestamp: batch.minTimestamp, maxTimestamp: batch.maxTimestamp, orgs: slices });
      await markPublished(session.sql, seq);
      deps.onPublished?.(1);
    }),
    publishLeftovers: () => session.exclusively(leftovers),
  };
}
