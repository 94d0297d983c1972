import type { DetailKey } from '../../src/events/catalog.ts';
import { eventCatalog } from '../../src/events/catalog.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';

/** A value that fits the JSON Schema of a detail key. */
function valueOf(key: DetailKey): unknown {
  const schema = key.schema as { type?: string; enum?: string[] };
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type ?? 'none') {
    case 'string': return 'some text';
    case 'integer': return 3;
    case 'boolean': return true;
    case 'array': return ['one', 'two'];
    default: throw new Error(`no sample for ${JSON.stringify(schema)}`);
  }
}

/** A sound row of the event type, with every detail key; `changes` replace columns. */
export function sampleEvent(type: string, changes: Partial<AuditEvent> = {}): AuditEvent {
  const definition = eventCatalog.get(type);
  if (definition === undefined) throw new Error(`no event type ${type}`);
  const { category, actor, scope } = definition;
  const base: AuditEvent = {
    id: uuidv7(), org_id: '01900000-0000-7000-8000-000000000001', user_id: 'user_1', timestamp: '2026-11-20T10:00:00.123456Z', source_seq: 7, event_type: type, category, actor,
  };
  const workspace = { workspace_id: 'ws_1', task_id: 'task_1', agent_role: 'researcher', agent_provider: 'acme' };
  const decided = {
    destination: 'api.example.com', method: 'POST', path: '/v1/messages', decision: 'allow', latency_ms: 12, transforms_applied: 2, validations_applied: 1, policy_type: 'http', phase: 'response_body',
    capability_name: 'messages', debits: { requests: 1, tokens: -5 }, budget_state: { tokens: { used: 5, max: 100 } }, floored: { tokens: 'parse_failed' },
    transforms_failed: { 'transform[0]': 'auth_unavailable' }, auth_used: ['main'], auth_failures: { backup: 'auth_unavailable' },
  } as const;
  const detail = definition.detail === undefined || definition.detail === null ? undefined : Object.fromEntries(Object.entries(definition.detail).map(([name, key]) => [name, valueOf(key)]));
  return {
    ...base,
    ...(scope === 'org' ? {} : workspace),
    ...(scope === 'proxy' ? { ...decided, auth_used: [...decided.auth_used] } : {}),
    ...(scope === 'agent' ? { detail: { type, text: 'reported' } } : {}),
    ...(detail === undefined ? {} : { detail }),
    ...changes,
  };
}

/** Without the named columns. */
export function without(event: AuditEvent, ...names: string[]): AuditEvent {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name))) as unknown as AuditEvent;
}
