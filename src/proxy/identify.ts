import { systemUser } from '../events/event.ts';
import { isUuid } from '../kernel/ids.ts';
import type { Secret } from '../kernel/secret.ts';
import type { ActiveWorkspace, WorkspaceRegistry } from './contract.ts';
import { presentedToken } from './presented-token.ts';
import type { Attribution, Verdict } from './verdict.ts';
import { deny, platformAttribution } from './verdict.ts';

/** What a verified capability token says. `userId` is the creator of the workspace. */
export type VerifiedCapability = { readonly orgId: string; readonly workspaceId: string; readonly taskId?: string | undefined; readonly userId?: string | undefined };

/**
 * Verifies a capability token. Resolves with undefined when the token is not acceptable; rejects when that could not be found out
 * (keys unreachable), which must never be mistaken for a good or a bad token.
 */
export type VerifyCapability = (token: string) => Promise<VerifiedCapability | undefined>;

/** Who asks: the workspace as this request will see it to its end. */
export type Identified = { readonly workspace: ActiveWorkspace; readonly attribution: Attribution; readonly taskId: string };
/** `source` counts where the headers show no token at all: never in the place of one that is bad. */
export type Identify = (headers: readonly string[], source?: Secret) => Promise<Identified | Verdict>;

/** Columns that take these values hold at most this much (src/events/schema.ts). */
const idCharactersMax = 512;

/** The early admission gate (contract 6.3, phase `request_headers`): no token, a bad token, a workspace this proxy cannot activate. */
export function createIdentify({ verify, workspaces }: { readonly verify: VerifyCapability; readonly workspaces: Pick<WorkspaceRegistry, 'get'> }): Identify {
  return async function identify(headers, source) {
    const shown = presentedToken(headers);
    const presented = shown.kind === 'none' && source !== undefined ? { kind: 'token' as const, token: source.reveal() } : shown;
    if (presented.kind === 'none') return deny('no_token', platformAttribution);
    if (presented.kind === 'ambiguous') return deny('invalid_token', platformAttribution, { ambiguous: true });
    const claims = await verify(presented.token);
    if (claims === undefined || !isUuid(claims.orgId) || [claims.workspaceId, claims.taskId, claims.userId].some((id) => (id ?? '').length > idCharactersMax)) {
      return deny('invalid_token', platformAttribution);
    }
    const { orgId, workspaceId, taskId, userId } = claims;
    const claimed: Attribution = { orgId, workspaceId, userId: userId ?? systemUser, ...(taskId === undefined ? {} : { taskId }) };
    const workspace = await workspaces.get({ id: workspaceId, orgId }).catch((cause: unknown) => new UnidentifiedError(claimed, { cause }));
    if (workspace instanceof UnidentifiedError) throw workspace;
    if (workspace === undefined) return deny('workspace_not_activated', claimed);
    return {
      workspace,
      taskId: taskId ?? '',
      attribution: { ...claimed, userId: workspace.createdBy, agentRole: workspace.agentRole, agentProvider: workspace.agentProvider },
    };
  };
}

/** The workspace could not be asked for. The token was good, so the row has its owner. */
export class UnidentifiedError extends Error {
  readonly attribution: Attribution;

  constructor(attribution: Attribution, options: { cause: unknown }) {
    super('the workspace could not be loaded', options);
    this.name = 'UnidentifiedError';
    this.attribution = attribution;
  }
}
