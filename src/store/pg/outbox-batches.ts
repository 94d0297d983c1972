import { batchSuffix, stampLine } from '../../events/line.ts';
import { uuidv7 } from '../../kernel/ids.ts';
import type { LockSession } from './advisory-lock.ts';
import type { Sql, Tx } from './connect.ts';
import { acrossOrgs } from './scope.ts';

/** Of the shape of src/queue's BatchPointer. */
export type OutboxPointer = {
  readonly id: string;
  readonly producer: string;
  readonly batchNo: number;
  readonly rows: number;
  readonly bytes: number;
  readonly minTimestamp: string;
  readonly maxTimestamp: string;
};

/** Compresses the lines of a batch; injected, because the format of payloads belongs to src/queue. */
export type Seal = (lines: readonly string[]) => Promise<Buffer>;

/** A line without its stamp, and the timestamp of its row. */
export type UnstampedLine = { readonly line: string; readonly timestamp: string };

const outboxProducer = 'outbox';

/**
 * Takes the next number of a producer and stores a batch with its final bytes, in the caller's transaction: number and batch commit
 * together, so numbers have no gap. The counter's row lock makes a second transaction wait.
 */
export async function storeBatch(tx: Tx, producer: string, rows: readonly UnstampedLine[], seal: Seal): Promise<OutboxPointer> {
  const [counter] = await tx<{ batch_no: number }[]>`
    update batch_counters set last_batch_no = last_batch_no + 1, accepted_rows = accepted_rows + ${rows.length} where producer = ${producer} returning last_batch_no as batch_no`;
  if (counter === undefined) throw new Error(`no batch counter for producer ${producer}`);
  const id = uuidv7();
  const suffix = batchSuffix({ ingestedAtMs: Date.now(), producer, batchId: id, batchNo: counter.batch_no, batchRows: rows.length });
  const payload = await seal(rows.map((row) => stampLine(row.line, suffix)));
  const times = rows.map((row) => row.timestamp).sort();
  const pointer = {
    id, producer, batchNo: counter.batch_no, rows: rows.length, bytes: payload.length, minTimestamp: times[0] ?? '', maxTimestamp: times.at(-1) ?? '',
  };
  await tx`
    insert into outbox_batches (batch_id, producer, batch_no, rows, bytes, min_timestamp, max_timestamp, payload)
    values (${id}, ${producer}, ${pointer.batchNo}, ${pointer.rows}, ${pointer.bytes}, ${pointer.minTimestamp}, ${pointer.maxTimestamp}, ${payload})`;
  return pointer;
}

/** Deletes up to `rowsMax` rows of at most `bytesMax` bytes (at least one row), oldest first, and answers them. */
async function claimRows(tx: Tx, rowsMax: number, bytesMax: number): Promise<UnstampedLine[]> {
  const rows = await tx<{ line: string; timestamp: string }[]>`
    with oldest as (select id, octet_length(line) as bytes from audit_outbox order by id limit ${rowsMax}),
    sized as (select id, bytes, sum(bytes) over (order by id) as total from oldest),
    claimed as (delete from audit_outbox o using sized s where o.id = s.id and (s.total <= ${bytesMax} or s.total = s.bytes) returning o.id, o.line, o.event_timestamp)
    select line, event_timestamp as timestamp from claimed order by id`;
  return [...rows];
}

async function nextSeqs(tx: Tx, count: number): Promise<number> {
  const [row] = await tx<{ last: number }[]>`update batch_counters set last_source_seq = last_source_seq + ${count} where producer = ${outboxProducer} returning last_source_seq as last`;
  if (row === undefined) throw new Error('no batch counter for the outbox');
  return row.last - count + 1;
}

/**
 * Cuts one batch from the outbox: claims rows in order, gives them their source_seq, stores the batch and deletes the rows in one
 * transaction, on the session that holds the outbox lock. Undefined when the outbox is empty. A crash before the commit leaves the rows
 * where they were and the numbers unused; after it, the batch is in outbox_batches. Throws LockLostError when the lock is gone.
 */
export async function cutOutboxBatch(session: LockSession, limits: { rowsMax: number; bytesMax: number }, seal: Seal): Promise<OutboxPointer | undefined> {
  return acrossOrgs(session.sql, async (tx) => {
    await session.assertHeld(tx);
    const rows = await claimRows(tx, limits.rowsMax, limits.bytesMax);
    if (rows.length === 0) return undefined;
    const first = await nextSeqs(tx, rows.length);
    const sequenced = rows.map(({ line, timestamp }, index) => ({ line: stampLine(line, `,"source_seq":${first + index}}`), timestamp }));
    return storeBatch(tx, outboxProducer, sequenced, seal);
  });
}

/** The batches waiting in Postgres, as a source in the sense of src/queue: nothing is deleted here before the ledger has it. */
export type OutboxBatches = {
  /** Batches that the ledger does not have yet, oldest first. Deletes those that it has: their confirmation was lost. */
  pending(limit: number): Promise<OutboxPointer[]>;
  load(id: string): Promise<(OutboxPointer & { payload: Buffer }) | undefined>;
  /** Throws when the ledger does not have the batch: a done mark alone is no proof. */
  confirm(id: string): Promise<void>;
};

export function createOutboxBatches(sql: Sql): OutboxBatches {
  const columns = sql`batch_id as id, producer, batch_no as "batchNo", rows, bytes, min_timestamp as "minTimestamp", max_timestamp as "maxTimestamp"`;
  return {
    async pending(limit) {
      await sql`delete from outbox_batches o using audit_batches a where a.batch_id = o.batch_id`;
      return [...await sql<OutboxPointer[]>`select ${columns} from outbox_batches order by created_at, producer, batch_no limit ${limit}`];
    },
    async load(id) {
      const [row] = await sql<(OutboxPointer & { payload: Buffer })[]>`select ${columns}, payload from outbox_batches where batch_id = ${id}`;
      return row;
    },
    async confirm(id) {
      const { count } = await sql`delete from outbox_batches where batch_id = ${id} and exists (select from audit_batches where batch_id = ${id})`;
      if (count > 0) return;
      const [left] = await sql`select batch_id from outbox_batches where batch_id = ${id}`;
      if (left !== undefined) throw new Error(`batch ${id} is marked done, but the ledger does not have it; it stays in the outbox`);
    },
  };
}

/** What waits in Postgres: rows not yet cut, batches not yet committed, and the age of the oldest of both, in ms (0 when nothing waits). */
export async function outboxBacklog(sql: Sql): Promise<{ rows: number; batches: number; oldestMs: number }> {
  return acrossOrgs(sql, async (tx) => {
    const [row] = await tx<{ rows: number; batches: number; oldest_ms: number }[]>`
      select (select count(*) from audit_outbox) as rows, (select count(*) from outbox_batches) as batches,
        coalesce(extract(epoch from now() - least((select min(created_at) from audit_outbox), (select min(created_at) from outbox_batches))) * 1000, 0)::float8 as oldest_ms`;
    return { rows: row?.rows ?? 0, batches: row?.batches ?? 0, oldestMs: Math.max(0, row?.oldest_ms ?? 0) };
  });
}
