import type { LockSession } from './advisory-lock.ts';
import type { Sql } from './connect.ts';
import { transaction } from './transaction.ts';
import { asAppError } from './errors.ts';

/** A batch that ClickHouse has. `orgs` names those with stored rows, without rows that went to the dead letters. */
export type CommittedBatch = {
  readonly id: string;
  readonly producer: string;
  readonly batchNo: number;
  readonly rows: number;
  readonly minTimestamp: string;
  readonly maxTimestamp: string;
  readonly orgs: readonly { readonly orgId: string; readonly rows: number }[];
};

export type Commit = { readonly seq: number; readonly batchId: string; readonly minTimestamp: string; readonly maxTimestamp: string; readonly rows: number };

export type UnpublishedCommit = { readonly seq: number; readonly batchId: string; readonly minTimestamp: string; readonly maxTimestamp: string; readonly orgs: readonly { readonly orgId: string; readonly rows: number }[] };

/** The ledger of committed batches. Reads throw `dependency_unavailable` when Postgres does not answer. */
export type BatchLedger = {
  /** undefined when the batch is not committed. */
  find(batchId: string): Promise<{ seq: number; published: boolean } | undefined>;
  /** Commits with rows of the org and `afterSeq < seq`, ascending; also `seq <= toSeq` when that is given. `rows` counts all orgs. */
  commitsAfter(orgId: string, afterSeq: number, toSeq: number | undefined, limit: number): Promise<Commit[]>;
  seqOf(batchId: string): Promise<number | undefined>;
  /** The greatest committed seq over all orgs, 0 when there is none. */
  headSeq(): Promise<number>;
};

export function createBatchLedger(sql: Sql): BatchLedger {
  async function asked<T>(query: Promise<T>): Promise<T> {
    return query.catch((error: unknown) => { throw asAppError(error); });
  }
  const find: BatchLedger['find'] = async (batchId) => {
    const [row] = await asked(sql<{ seq: number; published: boolean }[]>`select commit_seq as seq, published from audit_batches where batch_id = ${batchId}`);
    return row;
  };
  return {
    find,
    async commitsAfter(orgId, afterSeq, toSeq, limit) {
      return [...await asked(sql<Commit[]>`
        select commit_seq as seq, batch_id as "batchId", min_timestamp as "minTimestamp", max_timestamp as "maxTimestamp", rows from audit_batches
        where commit_seq > ${afterSeq} and (${toSeq ?? null}::bigint is null or commit_seq <= ${toSeq ?? null}) and ${orgId} = any(org_ids)
        order by commit_seq limit ${limit}`)];
    },
    seqOf: async (batchId) => (await find(batchId))?.seq,
    async headSeq() {
      const [row] = await asked(sql<{ seq: number | null }[]>`select max(commit_seq) as seq from audit_batches`);
      return row?.seq ?? 0;
    },
  };
}

/** The oldest commits that no stream has yet, ascending. For the holder of the commit lock. */
export async function unpublishedCommits(sql: Sql, limit: number): Promise<UnpublishedCommit[]> {
  const rows = await sql<(Omit<UnpublishedCommit, 'orgs'> & { org_ids: string[]; org_rows: number[] })[]>`
    select commit_seq as seq, batch_id as "batchId", min_timestamp as "minTimestamp", max_timestamp as "maxTimestamp", org_ids, org_rows
    from audit_batches where not published order by commit_seq limit ${limit}`;
  return rows.map(({ org_ids, org_rows, ...commit }) => ({ ...commit, orgs: org_ids.map((orgId, index) => ({ orgId, rows: org_rows[index] ?? 0 })) }));
}

/** Whether a commit has waited for its publication longer than `ms`: the process that made it was killed in between. */
export async function hasLeftovers(sql: Sql, ms: number): Promise<boolean> {
  const [row] = await sql<{ left: boolean }[]>`
    select exists (select from audit_batches where not published and committed_at < now() - make_interval(secs => ${ms / 1000})) as left`;
  return row?.left ?? false;
}

/**
 * Writes the ledger row of a stored batch and answers its seq; undefined when the ledger has the batch already. The insert runs only
 * on the connection that holds the commit lock (LockLostError otherwise): seqs become visible in their order, or not at all.
 */
export async function insertCommit(session: LockSession, batch: CommittedBatch): Promise<number | undefined> {
  return transaction(session.sql, async (tx) => {
    await session.assertHeld(tx);
    const [row] = await tx<{ seq: number }[]>`
      insert into audit_batches (batch_id, producer, batch_no, rows, min_timestamp, max_timestamp, org_ids, org_rows)
      values (${batch.id}, ${batch.producer}, ${batch.batchNo}, ${batch.rows}, ${batch.minTimestamp}, ${batch.maxTimestamp},
        ${batch.orgs.map((org) => org.orgId)}::text[], ${batch.orgs.map((org) => org.rows)}::integer[])
      on conflict (batch_id) do nothing returning commit_seq as seq`;
    await tx`delete from refused_ranges where batch_id = ${batch.id}`;
    return row?.seq;
  });
}

export async function markPublished(sql: Sql, seq: number): Promise<void> {
  await sql`update audit_batches set published = true where commit_seq = ${seq}`;
}
