import type { AuditEvent } from '../events/event.ts';

/** One row of the ledger of committed batches, as far as streams need it. */
export type Commit = {
  /** Place in the one total order of commits; ascending, not gapless. */
  readonly seq: number;
  readonly batchId: string;
  /** RFC 3339, microseconds: the time range of the batch, which prunes the read of its rows. */
  readonly minTimestamp: string;
  readonly maxTimestamp: string;
  /** Rows of the batch over all orgs: an upper bound that sizes reads. Without it one batch is read at a time. */
  readonly rows?: number;
};

/** The rows of a batch that belong to one org. */
export type BatchRows = { readonly commit: Pick<Commit, 'batchId'>; readonly events: readonly AuditEvent[] };

/**
 * The durable truth behind a stream: the ledger of commits and the stored rows. Redis only makes it quick.
 *
 * What streams rely on: commits become visible in the order of `seq` (whoever sees one sees all smaller ones), a commit is visible here
 * before it is published to Redis, its rows can be read as soon as it is visible, and every call answers for the given org only.
 */
export type CommitLog = {
  /** Commits with rows of the org and `afterSeq < seq`, ascending, at most `limit`; also `seq <= toSeq` when that is given. */
  commitsAfter(orgId: string, afterSeq: number, toSeq: number | undefined, limit: number): Promise<readonly Commit[]>;
  /** The org's rows of each batch; a batch without rows of the org may be missing. */
  readBatchRows(orgId: string, commits: readonly Commit[]): Promise<readonly BatchRows[]>;
  /** The batch that holds the org's row of this id. */
  locate(orgId: string, eventId: string): Promise<{ readonly batchId: string } | undefined>;
  /** The commit of a batch; undefined as long as the batch is stored but not committed. */
  seqOf(batchId: string): Promise<number | undefined>;
  /** The greatest committed `seq` over all orgs, 0 when there is none. */
  headSeq(): Promise<number>;
};
