import t from 'tap';
import { eventCatalog } from '../../src/events/catalog.ts';
import * as enumerations from '../../src/events/enumerations.ts';

type Row = readonly [category: string, actor: string, keys: string];

/**
 * The contract's sections 6.1, 6.2, 6.3 and 6.6 once more, written down independently of the code: category, actor, detail keys.
 * `?` marks a key that a row may leave out; `*` is any object; an empty list means no detail.
 */
const contract: Record<string, Row> = Object.fromEntries<Row>([
  ...Object.entries({
    provider_created: 'name display_name kind domain',
    provider_updated: 'name display_name kind domain patched_fields',
    provider_deleted: 'name',
    provider_archived: 'name cascaded_roles',
    provider_unarchived: 'name',
    agent_role_created: 'name display_name provider_id model',
    agent_role_updated: 'name display_name provider_id model patched_fields',
    agent_role_deleted: 'name',
    agent_role_archived: 'name',
    agent_role_unarchived: 'name',
    content_pack_created: 'name display_name version visibility tier image_origin',
    content_pack_updated: 'name version image_ref kind edited?',
    content_pack_deleted: 'name version',
    content_pack_cloned: 'name source_pack_id source_name',
    credential_created: 'name provider kind scopes status',
    credential_deleted: 'name provider kind',
    credential_authorized: 'name provider kind scopes status',
    credential_status: 'name provider kind from_status to_status reason terminal',
    secret_created: 'name',
    secret_deleted: 'name',
    api_key_created: 'label prefix permission_set',
    api_key_revoked: 'label prefix permission_set',
    membership_invited: 'email role invitation_id',
    membership_accepted: 'email role workos_user_id invitation_id',
    membership_updated: 'email from_role to_role',
    membership_removed: 'email role was_pending credentials_reaped',
    membership_first_seen: 'email role source',
    workspace_forked: 'child_workspace_id fork_point_task_count fork_source_snapshot_ref',
    workspace_fork_created: 'parent_workspace_id fork_point_task_count fork_source_snapshot_ref',
  }).map(([type, keys]): [string, Row] => [type, ['audit', 'control-plane', `resource_id ${keys}`]]),
  ...Object.entries({
    workspace_created: ['control-plane', 'forked parent_workspace_id? fork_point_task_count? fork_source_snapshot_ref?'],
    workspace_provisioned: ['control-plane', ''],
    workspace_activated: ['policy-engine', ''],
    workspace_deactivated: ['policy-engine', ''],
    workspace_evicted: ['policy-engine', ''],
    workspace_restarted: ['control-plane', ''],
    workspace_stopped: ['control-plane', ''],
    workspace_archived: ['control-plane', ''],
    workspace_unarchived: ['control-plane', ''],
    task_submitted: ['control-plane', 'description'],
    task_completed: ['control-plane', 'status reason?'],
  }).map(([type, [actor = '', keys = '']]): [string, Row] => [type, ['activity', actor, keys]]),
  ['policy_decision', ['audit', 'policy-engine', '*']],
  ...'session_start session_end session_wrap_up task_start task_end iteration_start iteration_end agent_thinking agent_response current_status tool_call tool_result compaction_start compaction_end step_status progress_status file_change'
    .split(' ').map((type): [string, Row] => [type, ['activity', 'agent', '*']]),
]);

function keysOf(detail: Readonly<Record<string, { optional: boolean }>> | null | undefined): string[] {
  if (detail === undefined) return ['*'];
  return Object.entries(detail ?? {}).map(([key, { optional }]) => (optional ? `${key}?` : key)).sort();
}

t.test('the catalog has the event types of the contract and no others', async (t) => {
  t.same([...eventCatalog.keys()].sort(), Object.keys(contract).sort());
  t.equal(eventCatalog.size, 29 + 11 + 1 + 17);
});

t.test('category, actor and detail keys of every event type', async (t) => {
  for (const [type, [category, actor, keys]] of Object.entries(contract)) {
    const definition = eventCatalog.get(type);
    t.equal(definition?.category, category, `${type}: category`);
    t.equal(definition?.actor, actor, `${type}: actor`);
    t.same(keysOf(definition?.detail), keys.split(' ').filter((key) => key !== '').sort(), `${type}: detail keys`);
  }
});

t.test('values of detail keys that the contract closes', async (t) => {
  const schemaOf = (type: string, key: string): unknown => eventCatalog.get(type)?.detail?.[key]?.schema;
  t.same(schemaOf('content_pack_updated', 'kind'), { enum: ['reupload', 'image_ref', 'file_edit', 'visibility'] });
  t.same(schemaOf('task_completed', 'status'), { enum: ['completed', 'failed', 'cancelled'] });
  t.same(schemaOf('membership_first_seen', 'source'), { enum: ['self_heal'] });
  for (const [type, key] of [['credential_status', 'terminal'], ['membership_removed', 'was_pending'], ['workspace_created', 'forked']] as const) t.same(schemaOf(type, key), { type: 'boolean' }, `${type}.${key}`);
});

t.test('the closed enumerations', async (t) => {
  const lists: Record<string, string> = {
    categories: 'audit activity',
    actors: 'control-plane policy-engine agent',
    decisions: 'allow deny',
    policyTypes: 'http dns',
    phases: 'request_headers request_body response_headers response_body dns',
    denyReasons: 'no_scheme no_token invalid_token workspace_not_activated workspace_gone no_policy policy_error policy_empty policy_type_error no_match invalid_json format_mismatch schema_violation budget_exhausted concurrency_exhausted internal_error',
    transformFailures: 'compile_error eval_error type_mismatch apply_error body_absent auth_unavailable',
    flooredReasons: 'framing_mismatch format_mismatch encoding_mismatch parse_failed cel_eval_error extracted_below_failure_charge terminator_not_observed',
    agentEventTypes: 'session_start session_end session_wrap_up task_start task_end iteration_start iteration_end agent_thinking agent_response current_status tool_call tool_result compaction_start compaction_end step_status progress_status file_change',
  };
  t.same(Object.fromEntries(Object.entries(enumerations).map(([name, values]) => [name, values.join(' ')])), lists);
  t.equal(enumerations.denyReasons.length, 16);
});
