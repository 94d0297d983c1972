import type { DenyReason } from '../events/enumerations.ts';
import { systemUser } from '../events/event.ts';
import { platformOrgId } from '../kernel/ids.ts';

/** Whose row a request becomes (contract 2.1): the org and workspace its token names, and the workspace's creator. */
export type Attribution = {
  readonly orgId: string;
  readonly userId: string;
  readonly workspaceId?: string;
  readonly taskId?: string;
};

/** What was decided about one request. `status` and `detail` are for the answer and the row; they never carry values of the request. */
export type Verdict = {
  readonly reason: DenyReason;
  readonly status: number;
  readonly attribution: Attribution;
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** A request that no tenant can be named for belongs to the platform (design 10). */
export const platformAttribution: Attribution = { orgId: platformOrgId, userId: systemUser };

/** Status of the answer to a deny (design 10): 407 asks the client for its token, everything else is a plain refusal. */
function statusOf(reason: DenyReason): number {
  return reason === 'no_token' ? 407 : 403;
}

export function deny(reason: DenyReason, attribution: Attribution, detail?: Readonly<Record<string, unknown>>): Verdict {
  return { reason, status: statusOf(reason), attribution, ...(detail === undefined ? {} : { detail }) };
}

/**
 * A request refused before any rule was looked at, because it is not one that could be decided (design 10): no rule matched it, none was
 * evaluated, and `detail.refused` says why in a short slug.
 */
export function refuse(refused: string, status: number, extra?: Readonly<Record<string, unknown>>): Verdict {
  return { reason: 'no_match', status, attribution: platformAttribution, detail: { refused, allowrule_eval: [], ...extra } };
}
