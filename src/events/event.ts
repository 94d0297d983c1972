import type { Actor, Category, Decision, DenyReason, FlooredReason, Phase, PolicyType, TransformFailure } from './enumerations.ts';

/** One row of the audit log in the API's JSON form (contract 2.1). Columns that do not apply are absent, never null. */
export type AuditEvent = {
  id: string;
  org_id: string;
  user_id: string;
  /** RFC 3339, UTC, microseconds: `2026-11-20T10:00:00.123456Z`. */
  timestamp: string;
  source_seq: number;
  event_type: string;
  category: Category;
  actor: Actor;
  workspace_id?: string;
  task_id?: string;
  agent_role?: string;
  agent_provider?: string;
  destination?: string;
  method?: string;
  path?: string;
  decision?: Decision;
  reason?: DenyReason;
  latency_ms?: number;
  transforms_applied?: number;
  validations_applied?: number;
  policy_type?: PolicyType;
  phase?: Phase;
  capability_name?: string;
  detail?: Record<string, unknown>;
  debits?: Record<string, number>;
  budget_state?: Record<string, unknown>;
  floored?: Record<string, FlooredReason>;
  transforms_failed?: Record<string, TransformFailure>;
  auth_used?: string[];
  auth_failures?: Record<string, TransformFailure>;
};

/** The literal `user_id` of API-key callers and of identity-provider webhooks (contract 2.1). */
export const systemUser = 'system';
