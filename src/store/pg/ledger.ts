import type { Sql } from './connect.ts';
import { acrossOrgs } from './scope.ts';

/** What the commit ledger says of one producer. */
export type ProducerCommits = {
  readonly producer: string;
  readonly batches: number;
  readonly rows: number;
  readonly lastBatchNo: number;
};

export type LedgerBatch = {
  readonly batchId: string;
  readonly batchNo: number;
  readonly rows: number;
  readonly deadRows: number;
  readonly minTimestamp: string;
  readonly maxTimestamp: string;
  /** Committed longer ago than the shortest retention of its orgs: rows may be gone by right. */
  readonly expired: boolean;
};

export type NumberRange = { readonly from: number; readonly to: number };

export type LedgerReader = {
  committed(): Promise<ProducerCommits[]>;
  deadRows(): Promise<Map<string, number>>;
  /** What the producers that live in Postgres have cut: the accepted side, which no crash can make smaller. */
  accepted(): Promise<Map<string, { batches: number; rows: number }>>;
  /** Numbers from 1 to `upTo` that no committed batch of the producer has, ascending, at most `limit` ranges. */
  gaps(producer: string, upTo: number, limit: number): Promise<NumberRange[]>;
  /** Numbers that more than one batch of the producer has. */
  reused(producer: string, limit: number): Promise<{ batchNo: number; batchIds: string[] }[]>;
  /** Committed batches with numbers in the range, ascending. */
  between(producer: string, range: NumberRange, limit: number): Promise<LedgerBatch[]>;
};

/** The Postgres side of the loss ledger (design 5). `retentionDays` is for orgs that set none themselves. */
export function createLedgerReader(sql: Sql, retentionDays: number): LedgerReader {
  return {
    async committed() {
      return [...await sql<ProducerCommits[]>`
        select producer, count(*) as batches, sum(rows)::bigint as rows, max(batch_no) as "lastBatchNo" from audit_batches group by producer order by producer`];
    },
    async deadRows() {
      const rows = await sql<{ producer: string; rows: number }[]>`select producer, count(*) as rows from dead_letters group by producer`;
      return new Map(rows.map((row) => [row.producer, row.rows]));
    },
    async accepted() {
      const rows = await sql<{ producer: string; batches: number; rows: number }[]>`
        select producer, last_batch_no as batches, accepted_rows as rows from batch_counters where last_batch_no > 0`;
      return new Map(rows.map(({ producer, batches, rows: count }) => [producer, { batches, rows: count }]));
    },
    async gaps(producer, upTo, limit) {
      return [...await sql<NumberRange[]>`
        with numbers as (
          select batch_no from audit_batches where producer = ${producer} and batch_no <= ${upTo} union select ${upTo}::bigint + 1
        ), steps as (select batch_no, lag(batch_no, 1, 0::bigint) over (order by batch_no) as before from numbers)
        select before + 1 as from, batch_no - 1 as to from steps where batch_no > before + 1 order by 1 limit ${limit}`];
    },
    async reused(producer, limit) {
      return [...await sql<{ batchNo: number; batchIds: string[] }[]>`
        select batch_no as "batchNo", array_agg(batch_id::text order by commit_seq) as "batchIds" from audit_batches where producer = ${producer}
        group by batch_no having count(*) > 1 order by batch_no limit ${limit}`];
    },
    between: (producer, range, limit) => acrossOrgs(sql, async (tx) => [...await tx<LedgerBatch[]>`
      select b.batch_id as "batchId", b.batch_no as "batchNo", b.rows, b.min_timestamp as "minTimestamp", b.max_timestamp as "maxTimestamp",
        (select count(*) from dead_letters d where d.batch_id = b.batch_id) as "deadRows",
        b.committed_at < now() - make_interval(days => (
          select coalesce(min(coalesce(o.retention_days, ${retentionDays})), ${retentionDays})::integer from orgs o where o.id::text = any(b.org_ids))) as expired
      from audit_batches b where b.producer = ${producer} and b.batch_no between ${range.from} and ${range.to} order by b.batch_no, b.commit_seq limit ${limit}`]),
  };
}
