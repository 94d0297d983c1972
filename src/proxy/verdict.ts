import type { DenyReason, FlooredReason, Phase, TransformFailure } from '../events/enumerations.ts';
import { systemUser } from '../events/event.ts';
import { platformOrgId } from '../kernel/ids.ts';

/** Whose row a request becomes (contract 2.1): the org and workspace its token names, and the workspace's creator. */
export type Attribution = {
  readonly orgId: string;
  readonly userId: string;
  readonly workspaceId?: string;
  readonly taskId?: string;
  readonly agentRole?: string;
  readonly agentProvider?: string;
};

type Detail = Readonly<Record<string, unknown>>;

/** A request that was not let through. `status` and `detail` are for the answer and the row; they never carry values of the request. */
export type Verdict = {
  readonly decision: 'deny';
  readonly reason: DenyReason;
  readonly status: number;
  readonly attribution: Attribution;
  readonly phase: Phase;
  readonly detail?: Detail;
  /** For 429: when the window of the ceiling ends. */
  readonly retryAfterMs?: number;
  readonly spent?: Spent;
  readonly changed?: Changed;
};

/** What a request cost (contract 6.3, 6.5). */
export type Spent = {
  readonly debits: Readonly<Record<string, number>>;
  readonly budgetState: Readonly<Record<string, unknown>>;
  readonly floored: ReadonlyMap<string, FlooredReason>;
};

/** What was rewritten (contract 6.4). */
export type Changed = {
  readonly applied: number;
  readonly failed: ReadonlyMap<string, TransformFailure>;
  readonly authUsed: readonly string[];
  readonly authFailures: ReadonlyMap<string, TransformFailure>;
};

/** A request that was let through, at its end, however that came about. */
export type Passed = {
  readonly decision: 'allow';
  readonly attribution: Attribution;
  readonly phase: Phase;
  readonly capability?: string;
  readonly validationsApplied: number;
  readonly spent: Spent;
  readonly changed: Changed;
  readonly detail?: Detail;
};

/** What a row says of one request. */
export type Outcome = Verdict | Passed;

/** A request that no tenant can be named for belongs to the platform (design 10). */
export const platformAttribution: Attribution = { orgId: platformOrgId, userId: systemUser };

/** Status of the answer to a deny (design 10): 407 asks the client for its token, 429 says that it may come again. */
function statusOf(reason: DenyReason): number {
  if (reason === 'no_token') return 407;
  return reason === 'budget_exhausted' || reason === 'concurrency_exhausted' ? 429 : 403;
}

export function deny(reason: DenyReason, attribution: Attribution, detail?: Detail, phase: Phase = 'request_headers'): Verdict {
  return { decision: 'deny', reason, status: statusOf(reason), attribution, phase, ...(detail === undefined ? {} : { detail }) };
}

/**
 * A request refused before any rule was looked at, because it is not one that could be decided (design 10): no rule matched it, none was
 * evaluated, and `detail.refused` says why in a short slug.
 */
export function refuse(refused: string, status: number, extra?: Detail, attribution: Attribution = platformAttribution, phase: Phase = 'request_headers'): Verdict {
  return { decision: 'deny', reason: 'no_match', status, attribution, phase, detail: { refused, allowrule_eval: [], ...extra } };
}
