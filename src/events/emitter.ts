import { formatTimestamp, nowMicros } from '../kernel/clock.ts';
import { uuidv7 } from '../kernel/ids.ts';
import type { EventType } from './catalog.ts';
import { eventCatalog } from './catalog.ts';
import type { AuditEvent } from './event.ts';
import { rowBytesMax, rowProblems } from './schema.ts';

/** What a source knows of an event; id, timestamp, source_seq, category and actor are filled in from clock and catalog. */
export type EmittedEvent = { event_type: EventType; org_id: string; user_id: string }
  & Partial<Omit<AuditEvent, 'event_type' | 'org_id' | 'user_id' | 'category' | 'actor'>>;

/** A row of our own that breaks the catalog. It is a defect of the emitting code, found in tests and development. */
export class InvalidEventError extends Error {
  readonly problems: readonly string[];

  constructor(eventType: string, problems: readonly string[]) {
    super(`${eventType} breaks the event catalog: ${problems.join('; ')}`);
    this.name = 'InvalidEventError';
    this.problems = problems;
  }
}

/**
 * `refuse` throws InvalidEventError (tests, development). `flag` keeps the row, because a lost audit row is worse than a misshapen
 * one: what the store can hold stays, and `detail.schema_problems` lists what was wrong (production).
 */
export type InvalidEventMode = 'refuse' | 'flag';

export type Emitter = { readonly build: (emitted: EmittedEvent) => AuditEvent };

function flagged(event: AuditEvent, problems: readonly string[]): AuditEvent {
  const kept: Record<string, unknown> = { ...event };
  for (const problem of problems) {
    const field = problem.split(/[.:]/, 1)[0] ?? '';
    // A detail of the wrong shape can be stored; a column of the wrong type or an unknown column cannot.
    if (field !== 'detail' && !(problem.endsWith(': required'))) delete kept[field];
  }
  const detail = typeof event.detail === 'object' ? event.detail : {};
  return { ...(kept as AuditEvent), detail: { ...detail, schema_problems: problems } };
}

/** Builds rows for one producer. `nextSeq` gives its monotonic source_seq (contract 2.1). */
export function createEmitter(deps: { mode: InvalidEventMode; nextSeq: () => number; onInvalid?: (error: InvalidEventError) => void }): Emitter {
  function build(emitted: EmittedEvent): AuditEvent {
    const definition = eventCatalog.get(emitted.event_type);
    if (definition === undefined) throw new InvalidEventError(emitted.event_type, ['event_type: not a known event type']);
    const event: AuditEvent = {
      ...emitted,
      id: emitted.id ?? uuidv7(),
      timestamp: emitted.timestamp ?? formatTimestamp(nowMicros()),
      source_seq: emitted.source_seq ?? deps.nextSeq(),
      category: definition.category,
      actor: definition.actor,
    };
    const problems = rowProblems(event, { strict: true });
    const bytes = event.detail === undefined ? 0 : JSON.stringify(event.detail).length;
    if (bytes > rowBytesMax) problems.push(`detail: larger than ${rowBytesMax} characters`);
    if (problems.length === 0) return event;
    const error = new InvalidEventError(emitted.event_type, problems);
    if (deps.mode === 'refuse') throw error;
    deps.onInvalid?.(error);
    return flagged(bytes > rowBytesMax ? { ...event, detail: { truncated: true } } : event, problems);
  }
  return { build };
}
