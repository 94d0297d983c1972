import { isUuid } from '../../kernel/ids.ts';
import type { Sql } from './connect.ts';
import { transaction } from './transaction.ts';
import type { OutboxPointer, Seal, UnstampedLine } from './outbox-batches.ts';
import { storeBatch } from './outbox-batches.ts';

/** A line that the store refused. `line` is the stamped line as it was sent, `lineNo` counts from 0 within the batch. */
export type RefusedLine = {
  readonly batchId: string;
  readonly producer: string;
  readonly batchNo: number;
  readonly lineNo: number;
  readonly orgId: string | undefined;
  readonly line: Buffer;
  readonly errorCode: string;
  readonly error: string;
};

export type DeadLetter = RefusedLine & { readonly id: number; readonly createdAt: string; readonly replayedAt: string | undefined; readonly replayBatchId: string | undefined };

export type DeadLetterStore = {
  /** Keeps a refused line; a repeated call for the same line of the same batch changes nothing. */
  keep(refused: RefusedLine): Promise<void>;
  /** Line numbers of a batch that are kept here. */
  lineNumbers(batchId: string): Promise<number[]>;
  list(options: { afterId?: number; limit: number; waitingOnly?: boolean }): Promise<DeadLetter[]>;
  countWaiting(): Promise<number>;
  /**
   * Puts waiting lines into one new batch of producer `replay`, which then takes the way of every batch: stored once, numbered, and on the
   * streams. Marking the letters and storing the batch commit together, so a letter is replayed once. `repair` turns the refused bytes into
   * a line without its old stamp, or says in words why it cannot; those letters stay. Undefined batch: nothing could be replayed.
   */
  replay(ids: readonly number[], repair: (line: Buffer) => UnstampedLine | { readonly problem: string }, seal: Seal): Promise<{ batch: OutboxPointer | undefined; replayed: number[]; problems: { id: number; problem: string }[] }>;
  /** Ranges of lines of a batch that were refused as a whole, see sql/002_audit_pipeline.sql. */
  refusedRanges(batchId: string): Promise<{ first: number; last: number }[]>;
  markRefused(batchId: string, first: number, last: number): Promise<void>;
};

type Row = Omit<DeadLetter, 'orgId' | 'replayedAt' | 'replayBatchId'> & { orgId: string | null; replayedAt: string | null; replayBatchId: string | null };

export function createDeadLetterStore(sql: Sql): DeadLetterStore {
  return {
    async keep({ batchId, producer, batchNo, lineNo, orgId, line, errorCode, error }) {
      await sql`
        insert into dead_letters (batch_id, producer, batch_no, line_no, org_id, line, error_code, error)
        values (${batchId}, ${producer}, ${batchNo}, ${lineNo}, ${orgId !== undefined && isUuid(orgId) ? orgId : null}, ${line}, ${errorCode}, ${error.replaceAll('\0', '�').slice(0, 4000)})
        on conflict (batch_id, line_no) do nothing`;
    },
    async lineNumbers(batchId) {
      const rows = await sql<{ line_no: number }[]>`select line_no from dead_letters where batch_id = ${batchId} order by line_no`;
      return rows.map((row) => row.line_no);
    },
    async list({ afterId = 0, limit, waitingOnly = false }) {
      const rows = await sql<Row[]>`
        select id, batch_id as "batchId", producer, batch_no as "batchNo", line_no as "lineNo", org_id as "orgId", line, error_code as "errorCode", error,
          created_at as "createdAt", replayed_at as "replayedAt", replay_batch_id as "replayBatchId"
        from dead_letters where id > ${afterId} and (not ${waitingOnly} or replayed_at is null) order by id limit ${limit}`;
      return rows.map((row) => ({ ...row, orgId: row.orgId ?? undefined, replayedAt: row.replayedAt ?? undefined, replayBatchId: row.replayBatchId ?? undefined }));
    },
    async countWaiting() {
      const [row] = await sql<{ count: number }[]>`select count(*) as count from dead_letters where replayed_at is null`;
      return row?.count ?? 0;
    },
    replay: (ids, repair, seal) => transaction(sql, async (tx) => {
      const letters = await tx<{ id: number; line: Buffer }[]>`select id, line from dead_letters where id = any(${[...ids]}::bigint[]) and replayed_at is null order by id for update`;
      const repaired: { id: number; line: UnstampedLine }[] = [];
      const problems: { id: number; problem: string }[] = [];
      for (const { id, line } of letters) {
        const made = repair(line);
        if ('problem' in made) problems.push({ id, problem: made.problem });
        else repaired.push({ id, line: made });
      }
      if (repaired.length === 0) return { batch: undefined, replayed: [], problems };
      const batch = await storeBatch(tx, 'replay', repaired.map((letter) => letter.line), seal);
      const replayed = repaired.map((letter) => letter.id);
      await tx`update dead_letters set replayed_at = now(), replay_batch_id = ${batch.id} where id = any(${replayed}::bigint[])`;
      return { batch, replayed, problems };
    }),
    async refusedRanges(batchId) {
      return [...await sql<{ first: number; last: number }[]>`select first_line as first, last_line as last from refused_ranges where batch_id = ${batchId}`];
    },
    async markRefused(batchId, first, last) {
      await sql`insert into refused_ranges (batch_id, first_line, last_line) values (${batchId}, ${first}, ${last}) on conflict do nothing`;
    },
  };
}
