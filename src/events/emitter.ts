import { formatTimestamp, nowMicros } from '../kernel/clock.ts';
import { platformOrgId, uuidv7 } from '../kernel/ids.ts';
import type { EventType } from './catalog.ts';
import { eventCatalog } from './catalog.ts';
import type { AuditEvent } from './event.ts';
import { systemUser } from './event.ts';
import { jsonProblem } from './json-bounds.ts';
import { rowProblems, unstorableColumns } from './schema.ts';

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

/** The detail as far as it can be stored, with the list of what was wrong. */
function flaggedDetail(detail: unknown, problems: readonly string[]): Record<string, unknown> {
  const isObject = typeof detail === 'object' && detail !== null && !Array.isArray(detail);
  const whole = { ...(isObject ? detail : {}), schema_problems: problems };
  return jsonProblem(whole) === undefined ? whole : { truncated: true, schema_problems: problems };
}

/**
 * The row without what no store can hold. A column every row must have is replaced: an org that is no id cannot be a tenant's, so its
 * row goes to the platform's own org, and the actor becomes `system`.
 */
function storable(event: AuditEvent, problems: readonly string[], nextSeq: () => number): AuditEvent {
  const kept: Record<string, unknown> = { ...event, detail: flaggedDetail(event.detail, problems) };
  for (const column of unstorableColumns(kept as AuditEvent)) Reflect.deleteProperty(kept, column);
  kept['id'] ??= uuidv7();
  kept['org_id'] ??= platformOrgId;
  kept['user_id'] ??= systemUser;
  kept['timestamp'] ??= formatTimestamp(nowMicros());
  kept['source_seq'] ??= nextSeq();
  return kept as AuditEvent;
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
    if (problems.length === 0) return event;
    const error = new InvalidEventError(emitted.event_type, problems);
    if (deps.mode === 'refuse') throw error;
    deps.onInvalid?.(error);
    return storable(event, problems, deps.nextSeq);
  }
  return { build };
}
