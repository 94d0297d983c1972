import type { AuditEvent } from '../../events/event.ts';
import { decodeRow } from '../../events/line.ts';
import { parseTimestamp } from '../../kernel/clock.ts';
import { isUuid, uuidv7Millis } from '../../kernel/ids.ts';
import type { Predicate } from '../../query/predicate.ts';
import { allOf } from '../../query/predicate.ts';
import { SqlParams, compilePredicate } from '../../query/sql.ts';
import { answeredColumns, pageStatement } from './page.ts';
import type { QueryRunner } from './query-runner.ts';

/** One committed batch as the commit ledger knows it; times are RFC 3339 and inclusive, over all orgs of the batch. */
export type BatchCommit = { readonly batchId: string; readonly minTimestamp: string; readonly maxTimestamp: string };

export type LocatedEvent = { readonly batchId: string; readonly timestamp: string; readonly sourceSeq: number };

/** An id is made within this time of its row's timestamp, except on imported rows. */
const idSlackMicros = 60_000_000;

function between(minTimestamp: string, maxTimestamp: string): Predicate {
  const since = parseTimestamp(minTimestamp);
  const last = parseTimestamp(maxTimestamp);
  if (since === undefined || last === undefined) throw new RangeError('a batch has no valid time range');
  return allOf([{ since }, { until: last + 1 }]);
}

/** The batch of a row, by its id: near the time held in the id first, then among all rows of the org. Undefined when there is none. */
export async function locateEvent(runner: QueryRunner, table: string, orgId: string, eventId: string, signal?: AbortSignal): Promise<LocatedEvent | undefined> {
  if (!isUuid(eventId)) return undefined;
  const millis = uuidv7Millis(eventId);
  const near: Predicate[] = millis === undefined ? [] : [allOf([{ since: Math.max(0, millis * 1000 - idSlackMicros) }, { until: millis * 1000 + idSlackMicros }])];
  for (const window of [...near, true] as const) {
    const params = new SqlParams();
    const sql = `SELECT batch_id, timestamp, source_seq FROM ${table} WHERE org_id = ${params.add('String', orgId)} AND id = ${params.add('UUID', eventId)} AND ${compilePredicate(window, params)} LIMIT 1`;
    const [row] = await runner.rows<{ batch_id: string; timestamp: string; source_seq: number }>({ sql, params }, signal);
    if (row !== undefined) return { batchId: row.batch_id, timestamp: `${row.timestamp.replace(' ', 'T')}Z`, sourceSeq: Number(row.source_seq) };
  }
  return undefined;
}

/**
 * The org's rows of the given batches, one list per batch in the order given, each in delivery order (timestamp, source_seq, id).
 * The caller bounds the number of batches; a batch has at most 10,000 rows.
 */
export async function readBatchRows<T extends BatchCommit>(runner: QueryRunner, table: string, orgId: string, commits: readonly T[], signal?: AbortSignal): Promise<{ commit: T; events: AuditEvent[] }[]> {
  const answers = new Map(commits.map((commit) => [commit.batchId, { commit, events: [] as AuditEvent[] }]));
  if (commits.length === 0) return [];
  const bounds = commits.map((commit) => between(commit.minTimestamp, commit.maxTimestamp));
  // The union of the ranges prunes by the primary key; the index on batch_id does the rest.
  const statement = pageStatement(table, orgId, { predicate: { or: bounds }, order: 'asc', after: undefined, limit: undefined }, [...answeredColumns, 'batch_id']);
  const ids = statement.params.add('Array(UUID)', [...answers.keys()]);
  const sql = statement.sql.replace(' WHERE ', ` WHERE batch_id IN ${ids} AND `);
  for (const row of await runner.rows<Record<string, unknown>>({ sql, params: statement.params }, signal)) {
    const events = answers.get(row['batch_id'] as string)?.events;
    if (events === undefined || row['id'] === events.at(-1)?.id) continue;
    row['org_id'] = orgId;
    events.push(decodeRow(row));
  }
  return [...answers.values()];
}

/** Rows of a batch that are stored, of all orgs: what the loss ledger compares with the batch's own count. Not a tenant's read. */
export async function countBatchRows(runner: QueryRunner, table: string, batchId: string, minTimestamp: string, maxTimestamp: string, signal?: AbortSignal): Promise<number> {
  const params = new SqlParams();
  const sql = `SELECT uniqExact(org_id, timestamp, source_seq, id) AS n FROM ${table} WHERE batch_id = ${params.add('UUID', batchId)} AND ${compilePredicate(between(minTimestamp, maxTimestamp), params)}`;
  const [row] = await runner.rows<{ n: number }>({ sql, params }, signal);
  return Number(row?.n ?? 0);
}

/** What is stored of one producer. Batch numbers before `firstBatchNo` may have been dropped by retention. */
export type ProducerLedger = {
  readonly producer: string;
  readonly firstBatchNo: number;
  readonly lastBatchNo: number;
  readonly batches: number;
  readonly rows: number;
  /** Sum of the row counts that the batches carry. */
  readonly expectedRows: number;
  /** Ranges of batch numbers of which no row is stored, both ends included; at most 100. */
  readonly missing: readonly { readonly from: number; readonly to: number }[];
  /** Batches whose stored rows differ from their count; at most 100. */
  readonly uneven: readonly { readonly batchNo: number; readonly batchId: string; readonly rows: number; readonly expected: number }[];
};

type LedgerRow = { producer: string; first: number; last: number; batches: number; stored: number; declared: number; gaps: [number, number][]; uneven: [number, string, number, number][] };

/** The loss ledger's stored side (design 5), per producer in order of name. Reads four columns of the whole table. Not a tenant's read. */
export async function readProducerLedger(runner: QueryRunner, table: string, signal?: AbortSignal): Promise<ProducerLedger[]> {
  const perBatch = `SELECT producer, batch_no, any(batch_id) AS batch, count() AS n, any(batch_rows) AS expected FROM ${table} GROUP BY producer, batch_no`;
  const totals = 'min(batch_no) AS first, max(batch_no) AS last, count() AS batches, sum(n) AS stored, sum(expected) AS declared';
  const numbers = 'arraySort(groupArray(batch_no)) AS numbers';
  const gaps = 'arraySlice(arrayFilter(g -> g.1 <= g.2, arrayMap((a, b) -> (a + 1, b - 1), arrayPopBack(numbers), arrayPopFront(numbers))), 1, 100) AS gaps';
  const uneven = 'arraySlice(arraySort(groupArrayIf((batch_no, toString(batch), n, expected), n != expected)), 1, 100) AS uneven';
  const sql = `SELECT producer, ${totals}, ${numbers}, ${gaps}, ${uneven} FROM (${perBatch}) GROUP BY producer ORDER BY producer`;
  const rows = await runner.rows<LedgerRow>({ sql, params: new SqlParams(), settings: { output_format_json_named_tuples_as_objects: 0 } }, signal);
  return rows.map((row) => ({
    producer: row.producer,
    firstBatchNo: Number(row.first),
    lastBatchNo: Number(row.last),
    batches: Number(row.batches),
    rows: Number(row.stored),
    expectedRows: Number(row.declared),
    missing: row.gaps.map(([from, to]) => ({ from: Number(from), to: Number(to) })),
    uneven: row.uneven.map(([batchNo, batchId, stored, expected]) => ({ batchNo: Number(batchNo), batchId, rows: Number(stored), expected: Number(expected) })),
  }));
}
