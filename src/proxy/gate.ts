import { systemUser } from '../events/event.ts';
import { isUuid } from '../kernel/ids.ts';
import { presentedToken } from './presented-token.ts';
import type { Verdict } from './verdict.ts';
import { deny, platformAttribution } from './verdict.ts';

/** What a verified capability token says. `userId` is the creator of the workspace. */
export type VerifiedCapability = { readonly orgId: string; readonly workspaceId: string; readonly taskId?: string | undefined; readonly userId?: string | undefined };

/**
 * Verifies a capability token. Resolves with undefined when the token is not acceptable; rejects when that could not be found out
 * (keys unreachable), which must never be mistaken for a good or a bad token.
 */
export type VerifyCapability = (token: string) => Promise<VerifiedCapability | undefined>;

export type Gate = (headers: readonly string[]) => Promise<Verdict>;

/** Columns that take these values hold at most this much (src/events/schema.ts). */
const idCharactersMax = 512;

/**
 * The early admission gate (contract 6.3, phase `request_headers`): no token, a bad token, or a workspace without a policy. Policies are
 * not attached to workspaces yet, so every verified request ends here as `no_policy`.
 */
export function createGate(verify: VerifyCapability): Gate {
  return async function decide(headers) {
    const presented = presentedToken(headers);
    if (presented.kind === 'none') return deny('no_token', platformAttribution);
    if (presented.kind === 'ambiguous') return deny('invalid_token', platformAttribution, { ambiguous: true });
    const claims = await verify(presented.token);
    if (claims === undefined || !isUuid(claims.orgId) || [claims.workspaceId, claims.taskId, claims.userId].some((id) => (id ?? '').length > idCharactersMax)) {
      return deny('invalid_token', platformAttribution);
    }
    const { orgId, workspaceId, taskId, userId } = claims;
    return deny('no_policy', { orgId, workspaceId, userId: userId ?? systemUser, ...(taskId === undefined ? {} : { taskId }) });
  };
}
