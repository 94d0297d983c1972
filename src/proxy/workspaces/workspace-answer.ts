import type { WorkspaceAnswer } from './contract.ts';

/** The control plane answered something that is not a workspace: another version, or not the control plane. Names the field, never its value. */
export class UnreadableAnswerError extends Error {
  constructor(field: string) {
    super(`answer of the internal API: ${field} is not what it should be`);
    this.name = 'UnreadableAnswerError';
  }
}

type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string') throw new UnreadableAnswerError(name);
  return value;
}

function map(fields: Fields, name: string): ReadonlyMap<string, unknown> {
  const value = fields[name];
  if (!isObject(value)) throw new UnreadableAnswerError(name);
  return new Map(Object.entries(value));
}

/** Checks an answer of `GET /internal/workspaces/{id}` field by field: a policy is never decided by half an answer. Throws UnreadableAnswerError. */
export function readWorkspaceAnswer(value: unknown, asked: { readonly id: string; readonly orgId: string }): WorkspaceAnswer {
  if (!isObject(value)) throw new UnreadableAnswerError('the body');
  // An answer for another workspace would let one tenant act as another.
  if (text(value, 'id') !== asked.id) throw new UnreadableAnswerError('id');
  if (text(value, 'org_id') !== asked.orgId) throw new UnreadableAnswerError('org_id');
  const { enforcement, caps, retention_days: retentionDays } = value;
  if (enforcement !== 'enforce' && enforcement !== 'report') throw new UnreadableAnswerError('enforcement');
  if (caps !== null && typeof caps !== 'string') throw new UnreadableAnswerError('caps');
  if (typeof retentionDays !== 'number' || !Number.isInteger(retentionDays) || retentionDays < 1) throw new UnreadableAnswerError('retention_days');
  const secrets = new Map<string, string>();
  for (const [name, secret] of map(value, 'secrets')) {
    if (typeof secret !== 'string') throw new UnreadableAnswerError('secrets');
    secrets.set(name, secret);
  }
  return {
    ...asked,
    createdBy: text(value, 'created_by'),
    agentRoleId: text(value, 'agent_role_id'),
    agentRole: text(value, 'agent_role'),
    agentProvider: text(value, 'agent_provider'),
    environment: text(value, 'environment'),
    enforcement, caps, retentionDays, secrets,
    eventSchemas: map(value, 'event_schemas'),
    version: text(value, 'version'),
  };
}
