/** Closed enumerations of the contract's sections 2.1 and 6. Each list is the only place its values are written. */

export const categories = ['audit', 'activity'] as const;
export const actors = ['control-plane', 'policy-engine', 'agent'] as const;
export const decisions = ['allow', 'deny'] as const;
export const policyTypes = ['http', 'dns'] as const;
export const phases = ['request_headers', 'request_body', 'response_headers', 'response_body', 'dns'] as const;

/** Contract 6.3: the 16 deny reasons. */
export const denyReasons = [
  'no_scheme', 'no_token', 'invalid_token', 'workspace_not_activated', 'workspace_gone', 'no_policy', 'policy_error', 'policy_empty',
  'policy_type_error', 'no_match', 'invalid_json', 'format_mismatch', 'schema_violation', 'budget_exhausted', 'concurrency_exhausted',
  'internal_error',
] as const;

/** Contract 6.4: why a transform failed; `auth_failures` uses the same list. */
export const transformFailures = ['compile_error', 'eval_error', 'type_mismatch', 'apply_error', 'body_absent', 'auth_unavailable'] as const;

/** Contract 6.5: why a response counter was floored. */
export const flooredReasons = [
  'framing_mismatch', 'format_mismatch', 'encoding_mismatch', 'parse_failed', 'cel_eval_error', 'extracted_below_failure_charge',
  'terminator_not_observed',
] as const;

/** Contract 6.6: the types an agent may report. */
export const agentEventTypes = [
  'session_start', 'session_end', 'session_wrap_up', 'task_start', 'task_end', 'iteration_start', 'iteration_end', 'agent_thinking',
  'agent_response', 'current_status', 'tool_call', 'tool_result', 'compaction_start', 'compaction_end', 'step_status', 'progress_status',
  'file_change',
] as const;

export type Category = (typeof categories)[number];
export type Actor = (typeof actors)[number];
export type Decision = (typeof decisions)[number];
export type PolicyType = (typeof policyTypes)[number];
export type Phase = (typeof phases)[number];
export type DenyReason = (typeof denyReasons)[number];
export type TransformFailure = (typeof transformFailures)[number];
export type FlooredReason = (typeof flooredReasons)[number];
