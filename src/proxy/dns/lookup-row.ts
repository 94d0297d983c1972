import type { EmittedEvent } from '../../events/emitter.ts';
import { hostMatches } from '../../policy/match/host-pattern.ts';
import type { CompiledPolicy } from '../../policy/compiled-policy.ts';
import type { Attribution } from '../verdict.ts';
import type { AddressType } from './wire.ts';

/** A lookup that was let through, and what came of it. */
export type AdmittedLookup = {
  readonly attribution: Attribution;
  readonly name: string;
  readonly type: AddressType;
  readonly capability: string | undefined;
  readonly latencyMs: number;
  readonly rcode: 'NOERROR' | 'NXDOMAIN' | 'SERVFAIL';
  readonly addresses: readonly string[];
  /** Why there is no answer, or why its addresses were not given: a slug. */
  readonly failure?: string;
  /** The deny reason that a workspace that only reports was spared (issue: dry run). */
  readonly wouldDeny?: string;
};

const addressesShownMax = 8;

/** The row of contract 6.3 for the phase `dns`: there are only allows. */
export function lookupRow(lookup: AdmittedLookup): EmittedEvent {
  const { orgId, userId, workspaceId, taskId, agentRole, agentProvider } = lookup.attribution;
  return {
    event_type: 'policy_decision',
    org_id: orgId,
    user_id: userId,
    ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
    ...(taskId === undefined ? {} : { task_id: taskId }),
    ...(agentRole === undefined ? {} : { agent_role: agentRole }),
    ...(agentProvider === undefined ? {} : { agent_provider: agentProvider }),
    destination: lookup.name,
    decision: 'allow',
    ...(lookup.capability === undefined ? {} : { capability_name: lookup.capability }),
    latency_ms: lookup.latencyMs,
    transforms_applied: 0,
    validations_applied: 0,
    policy_type: 'dns',
    phase: 'dns',
    detail: {
      query_type: lookup.type,
      rcode: lookup.rcode,
      addresses: lookup.addresses.slice(0, addressesShownMax),
      ...(lookup.failure === undefined ? {} : { failure: lookup.failure }),
      ...(lookup.wouldDeny === undefined ? {} : { would_deny: lookup.wouldDeny }),
    },
  };
}

/** The capability of the first rule that a request to the host would be tried with. */
export function capabilityOf(policy: CompiledPolicy, host: string): string | undefined {
  return policy.rules.find((rule) => rule.domains.some((pattern) => hostMatches(pattern, host)))?.capability;
}
