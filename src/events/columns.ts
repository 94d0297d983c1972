import type { AuditEvent } from './event.ts';

/**
 * How a column is stored and answered. `text`: LowCardinality or plain String, absent when empty. `count`: unsigned integer, answered
 * on proxy rows. `json`: JSON text in a String. `integers`, `values`, `texts`: Map to Int64, to JSON text, to String. `list`: Array(String).
 */
export type ColumnKind = 'uuid' | 'text' | 'time' | 'seq' | 'count' | 'json' | 'integers' | 'values' | 'texts' | 'list';

export type Column = { readonly name: keyof AuditEvent; readonly kind: ColumnKind; readonly filterable: boolean; readonly dimension: boolean };

function column(name: keyof AuditEvent, kind: ColumnKind, use: 'filter' | 'group' | 'none' = 'none'): Column {
  return { name, kind, filterable: use === 'filter', dimension: use !== 'none' };
}

/** Every public column in the order of contract 2.1; `filter` columns are those of 4.1, and they plus `group` ones are stats dimensions (design 7). */
export const columns: readonly Column[] = [
  column('id', 'uuid'),
  column('org_id', 'text'),
  column('user_id', 'text', 'group'),
  column('timestamp', 'time'),
  column('source_seq', 'seq'),
  column('event_type', 'text', 'filter'),
  column('category', 'text', 'filter'),
  column('actor', 'text', 'filter'),
  column('workspace_id', 'text', 'filter'),
  column('task_id', 'text', 'filter'),
  column('agent_role', 'text', 'filter'),
  column('agent_provider', 'text', 'filter'),
  column('destination', 'text', 'filter'),
  column('method', 'text', 'filter'),
  column('path', 'text', 'filter'),
  column('decision', 'text', 'filter'),
  column('reason', 'text', 'group'),
  column('latency_ms', 'count'),
  column('transforms_applied', 'count'),
  column('validations_applied', 'count'),
  column('policy_type', 'text', 'filter'),
  column('phase', 'text', 'filter'),
  column('capability_name', 'text', 'filter'),
  column('detail', 'json'),
  column('debits', 'integers'),
  column('budget_state', 'values'),
  column('floored', 'texts'),
  column('transforms_failed', 'texts'),
  column('auth_used', 'list'),
  column('auth_failures', 'texts'),
];

/** `counter` is virtual: it matches rows whose `debits` or `budget_state` has the key (contract 4.1). */
export const counterColumn = 'counter';

export const filterableColumns: readonly string[] = [...columns.filter((c) => c.filterable).map((c) => c.name), counterColumn];
export const dimensionColumns: readonly string[] = [...columns.filter((c) => c.dimension).map((c) => c.name), counterColumn];
