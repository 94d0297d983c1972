import type { Actor, Category } from './enumerations.ts';
import { agentEventTypes } from './enumerations.ts';

/**
 * Where an event belongs: `org` rows carry no workspace, `workspace` rows carry one, `proxy` rows are policy decisions,
 * `agent` rows are reported by agents and their detail is opaque (contract 6.6).
 */
export type EventScope = 'org' | 'workspace' | 'proxy' | 'agent';

/** A detail key: its JSON Schema and whether a row may leave it out. */
export type DetailKey = { readonly schema: object; readonly optional: boolean };

export type EventDefinition = {
  readonly category: Category;
  readonly actor: Actor;
  readonly scope: EventScope;
  /** Keys of `detail`; `undefined` means any object, `null` means the event has no detail. */
  readonly detail: Readonly<Record<string, DetailKey>> | undefined | null;
};

const text: DetailKey = { schema: { type: 'string' }, optional: false };
const count: DetailKey = { schema: { type: 'integer', minimum: 0 }, optional: false };
const flag: DetailKey = { schema: { type: 'boolean' }, optional: false };
const texts: DetailKey = { schema: { type: 'array', items: { type: 'string' } }, optional: false };
const optional = (key: DetailKey): DetailKey => ({ ...key, optional: true });
const oneOf = (...values: string[]): DetailKey => ({ schema: { enum: values }, optional: false });

type Keys = Record<string, DetailKey>;

/** A configuration mutation of contract 6.1: its detail always carries `resource_id`. */
function mutation(detail: Keys, scope: EventScope = 'org'): EventDefinition {
  return { category: 'audit', actor: 'control-plane', scope, detail: { resource_id: text, ...detail } };
}

function lifecycle(actor: Actor, detail: Keys | null = null): EventDefinition {
  return { category: 'activity', actor, scope: 'workspace', detail };
}

const provider: Keys = { name: text, display_name: text, kind: text, domain: text };
const agentRole: Keys = { name: text, display_name: text, provider_id: text, model: text };
const credential: Keys = { name: text, provider: text, kind: text };
const credentialState: Keys = { ...credential, scopes: texts, status: text };
const apiKey: Keys = { label: text, prefix: text, permission_set: text };
const fork: Keys = { fork_point_task_count: count, fork_source_snapshot_ref: text };

const mutations = {
  provider_created: mutation(provider),
  provider_updated: mutation({ ...provider, patched_fields: texts }),
  provider_deleted: mutation({ name: text }),
  provider_archived: mutation({ name: text, cascaded_roles: count }),
  provider_unarchived: mutation({ name: text }),
  agent_role_created: mutation(agentRole),
  agent_role_updated: mutation({ ...agentRole, patched_fields: texts }),
  agent_role_deleted: mutation({ name: text }),
  agent_role_archived: mutation({ name: text }),
  agent_role_unarchived: mutation({ name: text }),
  content_pack_created: mutation({ name: text, display_name: text, version: text, visibility: text, tier: text, image_origin: text }),
  content_pack_updated: mutation({ name: text, version: text, image_ref: text, kind: oneOf('reupload', 'image_ref', 'file_edit', 'visibility'), edited: optional(text) }),
  content_pack_deleted: mutation({ name: text, version: text }),
  content_pack_cloned: mutation({ name: text, source_pack_id: text, source_name: text }),
  credential_created: mutation(credentialState),
  credential_deleted: mutation(credential),
  credential_authorized: mutation(credentialState),
  credential_status: mutation({ ...credential, from_status: text, to_status: text, reason: text, terminal: flag }),
  secret_created: mutation({ name: text }),
  secret_deleted: mutation({ name: text }),
  api_key_created: mutation(apiKey),
  api_key_revoked: mutation(apiKey),
  membership_invited: mutation({ email: text, role: text, invitation_id: text }),
  membership_accepted: mutation({ email: text, role: text, workos_user_id: text, invitation_id: text }),
  membership_updated: mutation({ email: text, from_role: text, to_role: text }),
  membership_removed: mutation({ email: text, role: text, was_pending: flag, credentials_reaped: count }),
  membership_first_seen: mutation({ email: text, role: text, source: oneOf('self_heal') }),
  workspace_forked: mutation({ child_workspace_id: text, ...fork }, 'workspace'),
  workspace_fork_created: mutation({ parent_workspace_id: text, ...fork }, 'workspace'),
} as const;

const lifecycles = {
  workspace_created: lifecycle('control-plane', {
    forked: flag,
    parent_workspace_id: optional(text),
    fork_point_task_count: optional(count),
    fork_source_snapshot_ref: optional(text),
  }),
  workspace_provisioned: lifecycle('control-plane'),
  workspace_activated: lifecycle('policy-engine'),
  workspace_deactivated: lifecycle('policy-engine'),
  workspace_evicted: lifecycle('policy-engine'),
  workspace_restarted: lifecycle('control-plane'),
  workspace_stopped: lifecycle('control-plane'),
  workspace_archived: lifecycle('control-plane'),
  workspace_unarchived: lifecycle('control-plane'),
  task_submitted: lifecycle('control-plane', { description: text }),
  task_completed: lifecycle('control-plane', { status: oneOf('completed', 'failed', 'cancelled'), reason: optional(text) }),
} as const;

const policyDecision: EventDefinition = { category: 'audit', actor: 'policy-engine', scope: 'proxy', detail: undefined };
const agentEvent: EventDefinition = { category: 'activity', actor: 'agent', scope: 'agent', detail: undefined };

/**
 * The closed catalog of event types (contract 6.1 to 6.3 and 6.6): type to category, actor, scope and detail keys.
 * Adding an event type is one row of it.
 */
export const eventCatalog: ReadonlyMap<string, EventDefinition> = new Map<string, EventDefinition>([
  ...Object.entries(mutations),
  ...Object.entries(lifecycles),
  ['policy_decision', policyDecision],
  ...agentEventTypes.map((type): [string, EventDefinition] => [type, agentEvent]),
]);

export type EventType = keyof typeof mutations | keyof typeof lifecycles | 'policy_decision' | (typeof agentEventTypes)[number];
