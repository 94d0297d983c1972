import type { AuditEvent } from '../../events/event.ts';
import { encodeLine } from '../../events/line.ts';
import { rowProblems } from '../../events/schema.ts';
import { formatTimestamp, parseTimestamp } from '../../kernel/clock.ts';
import { parseJson } from '../../kernel/json.ts';
import { jsonFaultAt } from './json-fault.ts';

/** A row ready for the journal. */
export type ParsedRow = { readonly id: string; readonly orgId: string; readonly timestamp: string; readonly line: string };

/** Retention of an org in days, or undefined when there is no such org; a promise when it has to be asked for. */
export type RetentionOf = (orgId: string) => number | undefined | Promise<number | undefined>;

export type RowOutcome = { readonly row: ParsedRow } | { readonly problems: readonly string[] } | 'blank';

/** A hostile line could name a million unknown fields, or one of a million characters. */
const problemsMax = 20;
const problemCharactersMax = 300;

function jsonProblem(text: string): string {
  const at = jsonFaultAt(text);
  return at >= text.trimEnd().length ? `line: not JSON: ends too early (column ${at + 1})` : `line: not JSON (column ${at + 1})`;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Contract 2.1: a column that does not apply is absent or empty. Other systems export null for the same. */
function withoutEmpty(row: Record<string, unknown>): Record<string, unknown> {
  for (const key in row) {
    if (row[key] === null || row[key] === '') return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== ''));
  }
  return row;
}

function lowerCased(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

/** Text of a line to what the catalog can check: ids in lower case, the org of `--org` in place of the row's own. A text is a problem. */
function candidate(text: string, org: string | undefined): Record<string, unknown> | string {
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    return jsonProblem(text);
  }
  if (!isPlainObject(parsed)) return 'row: must be a JSON object';
  const row = withoutEmpty(parsed);
  if (row['id'] !== undefined) row['id'] = lowerCased(row['id']);
  if (org !== undefined) row['org_id'] = org;
  else if (row['org_id'] !== undefined) row['org_id'] = lowerCased(row['org_id']);
  return row;
}

function encoded(event: AuditEvent, retentionDays: number | undefined): RowOutcome {
  if (retentionDays === undefined) return { problems: ['org_id: no such org'] };
  const micros = parseTimestamp(event.timestamp);
  if (micros === undefined) return { problems: ['timestamp: not an RFC 3339 date-time'] };
  const timestamp = formatTimestamp(micros);
  event.timestamp = timestamp;
  return { row: { id: event.id, orgId: event.org_id, timestamp, line: encodeLine(event, retentionDays) } };
}

/**
 * One line of the file to a row for the journal, or what is wrong with it as `field: reason`, never quoting values. Synchronous but for
 * an org that has not been looked up yet: a promise per row would cost more than all the rest.
 */
export function parseRow(text: string, deps: { readonly org: string | undefined; readonly retentionOf: RetentionOf }): RowOutcome | Promise<RowOutcome> {
  if (text.length < 8 && text.trim() === '') return 'blank';
  const row = candidate(text, deps.org);
  if (typeof row === 'string') return { problems: [row] };
  const problems = rowProblems(row, { strict: false });
  if (problems.length > 0) return { problems: problems.slice(0, problemsMax).map((problem) => problem.slice(0, problemCharactersMax)) };
  const event = row as unknown as AuditEvent;
  const retention = deps.retentionOf(event.org_id);
  return retention instanceof Promise ? retention.then((days) => encoded(event, days)) : encoded(event, retention);
}
