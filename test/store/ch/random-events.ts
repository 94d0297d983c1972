import type { AuditEvent } from '../../../src/events/event.ts';
import { decodeRow, encodeLine } from '../../../src/events/line.ts';
import { formatTimestamp } from '../../../src/kernel/clock.ts';
import { uuidv7 } from '../../../src/kernel/ids.ts';

/** mulberry32: the same rows in every run of a test. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Values that a careless query would trip over, beside plain ones. */
export const trickyTexts = ["it's", '"quoted"', 'back\\slash', 'a,b', 'tab\there', 'line\nbreak', '\r', '%', '_', 'ü', '漢字', '😀', '{p0:String}', "'); DROP TABLE audit_events; --", '=1+1', 'NULL', '\\N', 'constructor', ' ', '0'];

export const counters = ['requests', 'tokens', "odd'key", 'gpu_minutes'];
export const orgA = '01900000-0000-7000-8000-00000000000a';
export const orgB = '01900000-0000-7000-8000-00000000000b';
/** 2026-11-20T00:00:00Z in microseconds. */
export const startMicros = 1_795_132_800_000_000;

/** What the row looks like once it was stored and read: the API's form. */
export function stored(event: AuditEvent): AuditEvent {
  return decodeRow(JSON.parse(encodeLine(event, 1)) as Record<string, unknown>);
}

/** `count` rows of one org with many equal timestamps and sequence numbers, over `spanMicros` from `startMicros`. */
export function randomEvents(count: number, options: { seed: number; orgId: string; spanMicros?: number }): AuditEvent[] {
  const random = createRandom(options.seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const maybe = <T>(value: () => T): T | undefined => (random() < 0.6 ? value() : undefined);
  const text = (): string => pick(['a', 'b', 'c', pick(trickyTexts)]);
  const amounts = (): Record<string, number> => Object.fromEntries(counters.filter(() => random() < 0.4).map((name) => [name, below(1000) - 100]));
  const ticks = Math.max(1, Math.floor(count / 4));
  return Array.from({ length: count }, () => {
    const proxied = random() < 0.6;
    const columns: { [K in keyof AuditEvent]?: AuditEvent[K] | undefined } = {
      workspace_id: maybe(() => `ws_${below(5)}`),
      task_id: maybe(text),
      agent_role: maybe(text),
      agent_provider: maybe(text),
      ...(proxied
        ? {
            destination: maybe(text),
            method: pick(['GET', 'POST']),
            path: maybe(text),
            decision: pick(['allow', 'deny']),
            reason: maybe(() => 'no_match' as const),
            latency_ms: below(3) === 0 ? 0 : below(1200),
            transforms_applied: below(4),
            validations_applied: below(3),
            policy_type: 'http',
            phase: pick(['request_headers', 'response_body']),
            capability_name: maybe(text),
            debits: maybe(amounts),
            budget_state: maybe(() => ({ [pick(counters)]: { used: below(10) } })),
            floored: maybe(() => ({ tokens: 'parse_failed' as const })),
            auth_used: maybe(() => [text()]),
          }
        : { detail: maybe(() => ({ note: text(), nested: { n: below(5) } })), latency_ms: random() < 0.1 ? 1 + below(50) : undefined }),
    };
    const event = {
      id: uuidv7(),
      org_id: options.orgId,
      user_id: pick(['me', 'other', 'system', "o'brien"]),
      timestamp: formatTimestamp(startMicros + Math.floor((below(ticks) * (options.spanMicros ?? 3_600_000_000)) / ticks)),
      source_seq: below(3),
      event_type: proxied ? 'policy_decision' : pick(['tool_call', 'task_submitted', 'secret_created']),
      category: proxied ? 'audit' : pick(['audit', 'activity']),
      actor: pick(['control-plane', 'policy-engine', 'agent']),
      ...Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)),
    } as AuditEvent;
    return stored(event);
  });
}

/** The order of contract 2.1, worked out without the code under test. */
export function byTriple(a: AuditEvent, b: AuditEvent): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1;
  if (a.source_seq !== b.source_seq) return a.source_seq - b.source_seq;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}
