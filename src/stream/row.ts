import type { AuditEvent } from '../events/event.ts';
import { parseJson } from '../kernel/json.ts';
import { decodeRow } from '../events/line.ts';
import type { StoredRow } from '../events/line.ts';

/** Names of the `event:` line (contract 4.5). */
export type EventName = 'audit' | 'activity';

/** A committed row, decoded and serialised once for all clients of a process. */
export type StreamRow = {
  readonly event: AuditEvent;
  /** The API's JSON of the event, UTF-8. */
  readonly json: Buffer;
  /** Its server-sent event by name, made when the first client wants it. */
  readonly frames: Partial<Record<EventName, Buffer>>;
};

/** The rows of one commit that belong to one org, in delivery order. */
export type CommitRows = { readonly seq: number; readonly rows: readonly StreamRow[] };

export function streamRow(event: AuditEvent): StreamRow {
  return { event, json: Buffer.from(JSON.stringify(event)), frames: {} };
}

function compareEvents(a: AuditEvent, b: AuditEvent): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1;
  if (a.source_seq !== b.source_seq) return a.source_seq - b.source_seq;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}

/**
 * Rows of one batch in delivery order: (timestamp, source_seq, id), as pages sort. Inline lines and stored rows go through here alike, so
 * that a client which saw a part of a batch live resumes in the same order. A row that ClickHouse holds twice until it merges comes once.
 */
export function inDeliveryOrder(orgId: string, events: readonly AuditEvent[]): StreamRow[] {
  const sorted = [...events].sort(compareEvents);
  const rows: StreamRow[] = [];
  let lastId: string | undefined;
  for (const event of sorted) {
    // The last guard of tenant isolation: whatever the store or Redis answers, another org's row never reaches a client.
    if (event.org_id !== orgId) throw new Error(`stream of org ${orgId}: got row ${event.id} of another org`);
    if (event.id !== lastId) rows.push(streamRow(event));
    lastId = event.id;
  }
  return rows;
}

/** NDJSON of stored lines (src/events/line.ts) to rows; throws when a line is broken or of another org. */
export function decodeLines(orgId: string, ndjson: string): StreamRow[] {
  const events: AuditEvent[] = [];
  for (const line of ndjson.split('\n')) {
    if (line !== '') events.push(decodeRow(parseJson(line) as StoredRow));
  }
  return inDeliveryOrder(orgId, events);
}
