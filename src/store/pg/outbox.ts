import { createEmitter } from '../../events/emitter.ts';
import type { EmittedEvent, InvalidEventError, InvalidEventMode } from '../../events/emitter.ts';
import type { AuditEvent } from '../../events/event.ts';
import { encodeLine } from '../../events/line.ts';
import type { Tx } from './connect.ts';

export type Outbox = {
  /**
   * Writes the audit rows of a mutation in the mutation's own transaction: both are there after the commit, or neither. Throws
   * InvalidEventError for a row that breaks the catalog in `refuse` mode, which rolls the mutation back.
   */
  readonly append: (tx: Tx, events: readonly EmittedEvent[]) => Promise<void>;
};

/** Stamped in place of the sequence number until the relay cuts the batch; it never reaches a stored line. */
const unsequenced = 0;

/**
 * The line without `source_seq`: the relay adds it when it cuts the batch, because the order in which transactions commit is not
 * known before. Everything else of the line is final here, so that the relay never parses and cannot fail on a row.
 */
function unsequencedLine(event: AuditEvent, retentionDays: number): string {
  const { source_seq: _, ...rest } = event;
  return encodeLine(rest as AuditEvent, retentionDays);
}

/** `retentionDays` is for orgs that set none themselves. */
export function createOutbox(deps: { mode: InvalidEventMode; retentionDays: number; onInvalid?: (error: InvalidEventError) => void }): Outbox {
  const emitter = createEmitter({ mode: deps.mode, nextSeq: () => unsequenced, ...(deps.onInvalid === undefined ? {} : { onInvalid: deps.onInvalid }) });

  async function append(tx: Tx, emitted: readonly EmittedEvent[]): Promise<void> {
    if (emitted.length === 0) return;
    const events = emitted.map((event) => emitter.build(event));
    const orgIds = [...new Set(events.map((event) => event.org_id))];
    const orgs = await tx<{ id: string; retention_days: number | null }[]>`select id, retention_days from orgs where id = any(${orgIds}::uuid[])`;
    const days = new Map(orgs.map((org) => [org.id, org.retention_days ?? deps.retentionDays]));
    const rows = events.map((event) => ({
      org_id: event.org_id,
      line: unsequencedLine(event, days.get(event.org_id) ?? deps.retentionDays),
      event_timestamp: event.timestamp,
    }));
    await tx`insert into audit_outbox ${tx(rows, 'org_id', 'line', 'event_timestamp')}`;
  }
  return { append };
}
