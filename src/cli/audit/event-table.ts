import { columns as auditColumns } from '../../events/columns.ts';
import type { AuditEvent } from '../../events/event.ts';
import type { Column } from './table.ts';

type Shown = Column & { readonly read: (event: AuditEvent) => string };

function shortTime(event: AuditEvent): string {
  return `${event.timestamp.slice(0, 10)} ${event.timestamp.slice(11, 23)}`;
}

/** What happened, on one line: for a decision its request, for everything else its detail. */
function what(event: AuditEvent): string {
  if (event.event_type === 'policy_decision') {
    return [event.method, `${event.destination ?? ''}${event.path ?? ''}`, event.capability_name === undefined ? undefined : `[${event.capability_name}]`].filter((part) => part !== undefined && part !== '').join(' ');
  }
  return event.detail === undefined ? '' : Object.entries(event.detail).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ');
}

function outcome(event: AuditEvent): string {
  return event.decision === undefined ? '' : event.reason === undefined ? event.decision : `${event.decision} ${event.reason}`;
}

function text(value: unknown): string {
  return value === undefined ? '' : typeof value === 'string' ? value : typeof value === 'number' ? String(value) : JSON.stringify(value);
}

/** The columns people look at first; the rest is asked for with --columns. */
const usual: readonly Shown[] = [
  { title: 'time (UTC)', widthMin: 23, widthMax: 23, read: shortTime },
  { title: 'event', widthMin: 12, widthMax: 26, read: (event) => event.event_type },
  { title: 'user', widthMin: 8, widthMax: 20, read: (event) => event.user_id },
  { title: 'workspace', widthMin: 8, widthMax: 36, read: (event) => event.workspace_id ?? '' },
  { title: 'role', widthMin: 6, widthMax: 16, read: (event) => event.agent_role ?? '' },
  { title: 'outcome', widthMin: 5, widthMax: 24, read: outcome, tint: (cell) => (cell.startsWith('deny') ? 'red' : cell.startsWith('allow') ? 'green' : undefined) },
  { title: 'what', widthMin: 16, widthMax: 200, read: what },
];

/** Columns of a table of events: the usual ones, or those named (any column of the contract, separated by commas). */
export function eventColumns(names: string | undefined): readonly Shown[] {
  if (names === undefined) return usual;
  return names.split(',').map((name) => {
    const column = auditColumns.find((candidate) => candidate.name === name.trim());
    if (column === undefined) throw new Error(`--columns: no column ${name.trim()}; there are ${auditColumns.map((known) => known.name).join(', ')}`);
    return { title: column.name, widthMin: 8, widthMax: 60, right: column.kind === 'count', read: (event: AuditEvent) => text(event[column.name]), tint: (cell: string) => (column.name === 'decision' ? (cell === 'deny' ? 'red' : 'green') : undefined) };
  });
}

export function eventCells(columns: readonly Shown[], event: AuditEvent): string[] {
  return columns.map((column) => column.read(event));
}

/** A column that no event of the table fills is left out, unless it was asked for by name. */
export function usedColumns(columns: readonly Shown[], events: readonly AuditEvent[]): readonly Shown[] {
  return columns.filter((column) => !usual.includes(column) || column.title === 'what' || events.some((event) => column.read(event) !== ''));
}
