import type { AuditEvent } from '../../../src/events/event.ts';
import type { Sent } from './run-mix.ts';
import { requestsOf } from './run-mix.ts';

function byPath(rows: readonly AuditEvent[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { path } of rows) counts.set(path ?? '', (counts.get(path ?? '') ?? 0) + 1);
  return counts;
}

const shownMax = 20;

/** What is wrong when each request must have exactly one row; `others` are rows that belong to another run. */
export function notOneRowEach(rows: readonly AuditEvent[], sent: Sent, others = 0): string[] {
  const problems: string[] = [];
  const counts = byPath(rows);
  for (const [path, kind] of sent.paths) if (counts.get(path) !== 1) problems.push(`${counts.get(path) ?? 0} rows of ${kind} ${path}`);
  if (rows.length - others !== requestsOf(sent)) problems.push(`${rows.length - others} rows of ${requestsOf(sent)} requests`);
  problems.push(...doubled(rows));
  return problems.slice(0, shownMax);
}

/** Ids, places in the sequence and paths that more than one row has. */
export function doubled(rows: readonly AuditEvent[]): string[] {
  const problems: string[] = [];
  for (const [name, values] of [['id', rows.map(({ id }) => id)], ['source_seq', rows.map(({ source_seq: seq }) => seq)], ['path', rows.flatMap(({ path }) => (/^\/v\d\/[^/]+\/\d+-\d+$/.test(path ?? '') ? [path] : []))]] as const) {
    const seen = new Set<unknown>();
    for (const value of values) {
      if (seen.has(value)) problems.push(`two rows with the ${name} ${String(value)}`);
      seen.add(value);
    }
  }
  return problems.slice(0, shownMax);
}

/** What is wrong when a proxy was killed: an answered request, or one that arrived upstream, without its row. */
export function lostRows(rows: readonly AuditEvent[], sent: Sent, arrived: ReadonlySet<string>): string[] {
  const ids = new Set(rows.map(({ id }) => id));
  const counts = byPath(rows);
  const problems: string[] = [];
  for (const id of sent.answeredIds) if (!ids.has(id)) problems.push(`answered, and no row: ${id}`);
  for (const [path, kind] of sent.paths) if (arrived.has(path) && !counts.has(path)) problems.push(`arrived upstream, and no row: ${kind} ${path}`);
  return problems.slice(0, shownMax);
}
