import type { ClickHouseSettings } from '@clickhouse/client';
import { columns } from '../../events/columns.ts';
import type { Predicate } from '../../query/predicate.ts';
import { SqlParams, compilePredicate } from '../../query/sql.ts';
import type { Order } from '../../query/cursor.ts';
import type { Statement } from './query-runner.ts';
import { hasCount } from './stats-sql.ts';
import { orderBy } from './page.ts';

type Kind = (typeof columns)[number]['kind'];

/** Plain types that every Parquet reader knows; absent values are NULL. `raw_` names keep ORDER BY on the table's own columns. */
function typed(name: string, kind: Kind): string {
  switch (kind) {
    case 'uuid':
      return `toString(raw_${name})`;
    case 'text':
    case 'json':
      return `nullIf(toString(raw_${name}), '')`;
    case 'count':
      return `if(raw_has_${name}, raw_${name}, NULL)`;
    case 'integers':
      return `CAST(raw_${name}, 'Map(String, Int64)')`;
    case 'values':
    case 'texts':
      return `CAST(raw_${name}, 'Map(String, String)')`;
    case 'list':
      return `CAST(raw_${name}, 'Array(String)')`;
    case 'time':
    case 'seq':
      return `raw_${name}`;
  }
}

/** The whole export as one Parquet file, made by ClickHouse. */
export function parquetStatement(table: string, orgId: string, query: { predicate: Predicate; order: Order }): Statement {
  const params = new SqlParams();
  const org = params.add('String', orgId);
  const condition = compilePredicate(query.predicate, params);
  const raw = columns.flatMap(({ name, kind }) => [`${name} AS raw_${name}`, ...(kind === 'count' ? [`${hasCount(name)} AS raw_has_${name}`] : [])]);
  const selected = columns.map(({ name, kind }) => `${typed(name, kind)} AS ${name}`);
  const inner = `SELECT ${raw.join(', ')} FROM ${table} WHERE org_id = ${org} AND ${condition}`;
  const settings: ClickHouseSettings = { output_format_parquet_row_group_size: '100000', output_format_parquet_string_as_string: 1 };
  return { sql: `SELECT ${selected.join(', ')} FROM (${inner}) ${orderBy(query.order, 'raw_')} FORMAT Parquet`, params, settings };
}
