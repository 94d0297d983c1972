import type { Micros } from '../../kernel/clock.ts';
import { parseTimestamp } from '../../kernel/clock.ts';
import { compilePredicate, SqlParams } from '../../query/sql.ts';
import { allOf } from '../../query/predicate.ts';
import type { ClickHouse } from './connection.ts';
import { createGate } from './gate.ts';
import type { QueryLimits } from './query-runner.ts';
import { createQueryRunner } from './query-runner.ts';

/** What a row is found by. `timestamp` is RFC 3339 with microseconds, as the row itself has it: it is what makes the look-up cheap. */
export type RowName = { readonly orgId: string; readonly id: string; readonly timestamp: string };

/** Which of the rows are stored, as a set of their ids. For the importer's check of rows it may have sent before; not a tenant's read. */
export type StoredIds = (rows: readonly RowName[], signal?: AbortSignal) => Promise<ReadonlySet<string>>;

const idsPerQuery = 2000;

function microsOf(timestamp: string): Micros {
  const micros = parseTimestamp(timestamp);
  if (micros === undefined) throw new RangeError('timestamp: not an RFC 3339 date-time');
  return micros;
}

/** The time range prunes by the primary key, so rows of a file in order of time cost little; unordered ones read more of their orgs. */
export function createStoredIds(deps: { clickhouse: ClickHouse; limits: QueryLimits; onError: (error: unknown) => void }): StoredIds {
  const runner = createQueryRunner({ ...deps, gate: createGate({ running: 1, waiting: 1 }) });

  async function find(rows: readonly RowName[], signal: AbortSignal | undefined): Promise<string[]> {
    const times = rows.map((row) => microsOf(row.timestamp));
    const params = new SqlParams();
    const orgs = params.add('Array(String)', [...new Set(rows.map((row) => row.orgId))]);
    const ids = params.add('Array(UUID)', rows.map((row) => row.id));
    const window = compilePredicate(allOf([{ since: Math.min(...times) }, { until: Math.max(...times) + 1 }]), params);
    const sql = `SELECT DISTINCT org_id, id FROM ${deps.clickhouse.events} WHERE org_id IN ${orgs} AND ${window} AND id IN ${ids}`;
    const wanted = new Set(rows.map((row) => `${row.orgId} ${row.id}`));
    const found = await runner.rows<{ org_id: string; id: string }>({ sql, params }, signal);
    return found.filter((row) => wanted.has(`${row.org_id} ${row.id}`)).map((row) => row.id);
  }

  return async (rows, signal) => {
    const stored = new Set<string>();
    for (let at = 0; at < rows.length; at += idsPerQuery) {
      for (const id of await find(rows.slice(at, at + idsPerQuery), signal)) stored.add(id);
    }
    return stored;
  };
}
