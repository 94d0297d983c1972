import { formatTimestamp, parseTimestamp } from '../kernel/clock.ts';
import { parseJson } from '../kernel/json.ts';
import type { Column } from './columns.ts';
import { columns } from './columns.ts';
import type { AuditEvent } from './event.ts';

/** What a batch stamps on each of its rows; never answered by the API (design 5, 6). */
export type BatchStamp = { readonly ingestedAtMs: number; readonly producer: string; readonly batchId: string; readonly batchNo: number; readonly batchRows: number };

/** A stored row as ClickHouse gives it back in JSONEachRow, and as a line carries it: absent columns are missing or empty. */
export type StoredRow = Readonly<Record<string, unknown>>;

const orgPrefix = '{"org_id":"';
const uuidLength = 36;
const proxyEventType = 'policy_decision';
const eventTypeAt = columns.filter((column) => column.name !== 'org_id').findIndex((column) => column.name === 'event_type');

/** `2026-11-20T10:00:00.123456Z` to ClickHouse's `2026-11-20 10:00:00.123456`, which needs no parsing mode. */
export function storedTimestamp(timestamp: string): string {
  const micros = parseTimestamp(timestamp);
  if (micros === undefined) throw new RangeError('timestamp: not an RFC 3339 date-time');
  const text = formatTimestamp(micros);
  return `${text.slice(0, 10)} ${text.slice(11, 26)}`;
}

function jsonTexts(values: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
}

/**
 * The same value with every lone surrogate, in strings and keys, replaced by U+FFFD. Two keys that become equal are told apart by
 * a number, so that no value is lost.
 */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  const made = new Map<string, unknown>();
  for (const [key, inner] of Object.entries(value)) {
    const fixed = key.toWellFormed();
    let free = fixed;
    for (let n = 2; made.has(free) || (free !== key && Object.hasOwn(value, free)); n += 1) free = `${fixed}${n}`;
    made.set(free, wellFormed(inner));
  }
  return Object.fromEntries(made);
}

/**
 * One row as a JSONEachRow object, `org_id` first so that a worker finds the org of a line without parsing it.
 * The batch's stamp is not in it yet: `stampLine` adds that when the batch is cut.
 *
 * The line is pure well-formed JSON: ClickHouse refuses a whole batch for one lone high surrogate (code 25) and stores a lone low one as
 * invalid UTF-8, so both become U+FFFD. JSON.stringify writes `\ud…` for lone surrogates only, which makes the usual row's check one search.
 * The row must have passed `rowProblems`: ClickHouse wraps integers that are out of a column's range without a word.
 */
export function encodeLine(event: AuditEvent, retentionDays: number): string {
  const line = lineOf(event, retentionDays);
  return line.includes('\\ud') ? lineOf(wellFormed(parseJson(JSON.stringify(event))) as AuditEvent, retentionDays) : line;
}

function lineOf(event: AuditEvent, retentionDays: number): string {
  // Named one by one, absent ones are left out by JSON.stringify: one object of one shape costs a third of one that is spread together.
  return JSON.stringify({
    org_id: event.org_id,
    timestamp: storedTimestamp(event.timestamp),
    id: event.id,
    user_id: event.user_id,
    source_seq: event.source_seq,
    event_type: event.event_type,
    category: event.category,
    actor: event.actor,
    workspace_id: event.workspace_id,
    task_id: event.task_id,
    agent_role: event.agent_role,
    agent_provider: event.agent_provider,
    destination: event.destination,
    method: event.method,
    path: event.path,
    decision: event.decision,
    reason: event.reason,
    latency_ms: event.latency_ms,
    transforms_applied: event.transforms_applied,
    validations_applied: event.validations_applied,
    policy_type: event.policy_type,
    phase: event.phase,
    capability_name: event.capability_name,
    debits: event.debits,
    floored: event.floored,
    transforms_failed: event.transforms_failed,
    auth_used: event.auth_used,
    auth_failures: event.auth_failures,
    detail: event.detail === undefined ? undefined : JSON.stringify(event.detail),
    budget_state: event.budget_state === undefined ? undefined : jsonTexts(event.budget_state),
    retention_days: retentionDays,
  } satisfies Record<keyof AuditEvent | 'retention_days', unknown>);
}

/** The text that replaces the closing brace of every line of a batch. */
export function batchSuffix(stamp: BatchStamp): string {
  const ingestedAt = new Date(stamp.ingestedAtMs).toISOString().replace('T', ' ').slice(0, 23);
  const fields = { ingested_at: ingestedAt, producer: stamp.producer, batch_id: stamp.batchId, batch_no: stamp.batchNo, batch_rows: stamp.batchRows };
  return `,${JSON.stringify(fields).slice(1)}`;
}

export function stampLine(line: string, suffix: string): string {
  return line.slice(0, -1) + suffix;
}

/** The org of a line, read at its fixed place; undefined when the line is not one of ours. */
export function lineOrg(line: string): string | undefined {
  return line.startsWith(orgPrefix) && line[orgPrefix.length + uuidLength] === '"' ? line.slice(orgPrefix.length, orgPrefix.length + uuidLength) : undefined;
}

function parsedTexts(values: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([key, value]): [string, unknown] => [key, parseJson(value)]));
}

/** Amounts as numbers; ClickHouse may quote them. */
function integers(values: Record<string, unknown>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([key, amount]) => [key, Number(amount)]));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== 'object') return false;
  for (const _key in value) return false;
  return true;
}

/** Sets one column of an answered event, or leaves it out when the stored value is empty. */
function answerColumn(event: Record<string, unknown>, { name, kind }: Column, value: unknown, proxied: boolean): void {
  switch (kind) {
    case 'time':
      event[name] = `${String(value).slice(0, 10)}T${String(value).slice(11, 26)}Z`;
      break;
    case 'seq':
      event[name] = Number(value);
      break;
    case 'count':
      if (proxied || (value !== undefined && value !== 0)) event[name] = value ?? 0;
      break;
    case 'json':
      if (!isEmpty(value)) event[name] = parseJson(value as string);
      break;
    case 'integers':
      if (!isEmpty(value)) event[name] = integers(value as Record<string, unknown>);
      break;
    case 'values':
      if (!isEmpty(value)) event[name] = parsedTexts(value as Record<string, string>);
      break;
    case 'uuid':
    case 'text':
    case 'texts':
    case 'list':
      if (!isEmpty(value)) event[name] = value;
      break;
    default:
      kind satisfies never;
  }
}

/** A stored row in the API's form: absent and empty columns left out, timestamp with six digits, JSON texts parsed (contract 2.1). */
export function decodeRow(row: StoredRow): AuditEvent {
  const proxied = row['event_type'] === proxyEventType;
  const event: Record<string, unknown> = {};
  for (const column of columns) answerColumn(event, column, row[column.name], proxied);
  return event as AuditEvent;
}

/** The same for a row that came as a list of values, in the order of `columns` without `org_id`: pages are read so, as the names would cost more than the values. */
export function decodeValues(orgId: string, values: readonly unknown[]): AuditEvent {
  const proxied = values[eventTypeAt] === proxyEventType;
  const event: Record<string, unknown> = {};
  for (let at = 0, index = 0; index < columns.length; index += 1) {
    const column = columns[index] as Column;
    if (column.name === 'org_id') event['org_id'] = orgId;
    else {
      answerColumn(event, column, values[at], proxied);
      at += 1;
    }
  }
  return event as AuditEvent;
}
