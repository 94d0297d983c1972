import { columns } from '../../events/columns.ts';
import type { AuditEvent } from '../../events/event.ts';
import { decodeValues } from '../../events/line.ts';
import type { Order, RowKey } from '../../query/cursor.ts';
import type { PageRequest } from '../../query/page-request.ts';
import { rowKey } from '../../query/page-request.ts';
import type { Predicate } from '../../query/predicate.ts';
import { SqlParams, compilePredicate } from '../../query/sql.ts';
import type { QueryRunner, Statement } from './query-runner.ts';

export type Page = { events: AuditEvent[]; cursor?: string };

/** The answered columns but `org_id`, which the statement fixes. Every column read costs; rows hardly do. */
export const answeredColumns: readonly string[] = columns.map((column) => column.name).filter((name) => name !== 'org_id');

/** A plain UUID does not sort as its text does; this does. */
const idOrder = 'toUInt128(id)';

/** `prefix` stands before the three column names, where a statement has renamed them. */
export function orderBy(order: Order, prefix = ''): string {
  const direction = order === 'asc' ? 'ASC' : 'DESC';
  // Never as a tuple: ClickHouse may then sort instead of reading in the order of the key.
  return `ORDER BY ${prefix}timestamp ${direction}, ${prefix}source_seq ${direction}, toUInt128(${prefix}id) ${direction}`;
}

/**
 * Rows behind `key`. As a comparison of tuples this would prune nothing, since ClickHouse's index analysis does not look into tuples, and
 * a page would cost more the deeper it lies. Written out, with the bound on `timestamp` in front, every page costs what the first does.
 */
function behind(key: RowKey, order: Order, params: SqlParams): string {
  const than = order === 'asc' ? '>' : '<';
  const time = params.time(key.timestamp);
  const seq = params.add('Int64', String(key.sourceSeq));
  const id = `toUInt128(${params.add('UUID', key.id)})`;
  return `timestamp ${than}= ${time} AND (timestamp ${than} ${time} OR (timestamp = ${time} AND (source_seq ${than} ${seq} OR (source_seq = ${seq} AND ${idOrder} ${than} ${id}))))`;
}

export type PageQuery = { readonly predicate: Predicate; readonly order: Order; readonly after: RowKey | undefined; readonly limit: number | undefined };

export function pageStatement(table: string, orgId: string, query: PageQuery, selected: readonly string[] = answeredColumns): Statement {
  const params = new SqlParams();
  const conditions = [`org_id = ${params.add('String', orgId)}`];
  if (query.after !== undefined) conditions.push(behind(query.after, query.order, params));
  if (query.predicate !== true) conditions.push(compilePredicate(query.predicate, params));
  const limit = query.limit === undefined ? '' : ` LIMIT ${params.add('UInt64', query.limit)}`;
  return { sql: `SELECT ${selected.join(', ')} FROM ${table} WHERE ${conditions.join(' AND ')} ${orderBy(query.order)}${limit}`, params };
}

const idAt = answeredColumns.indexOf('id');

/**
 * One page (contract 4.1). A row stored twice and not yet merged (the same file imported twice) is answered once: its copies are
 * neighbours in the order, and what they took from the page is read behind it.
 */
export async function readPage(runner: QueryRunner, table: string, orgId: string, request: PageRequest, signal: AbortSignal | undefined): Promise<Page> {
  const { predicate, order, limit } = request;
  const events: AuditEvent[] = [];
  let after = request.after;
  let more = predicate !== false;
  while (more && events.length < limit) {
    const wanted = limit - events.length;
    const rows = await runner.tuples(pageStatement(table, orgId, { predicate, order, after, limit: wanted }), signal);
    for (const row of rows) {
      if (row[idAt] === events.at(-1)?.id) continue;
      events.push(decodeValues(orgId, row));
    }
    const last = events.at(-1);
    more = rows.length === wanted && last !== undefined;
    if (last !== undefined) after = rowKey(last);
  }
  const last = events.at(-1);
  return events.length === limit && last !== undefined ? { events, cursor: request.cursorFor(last) } : { events };
}
