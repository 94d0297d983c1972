import { AppError } from '../kernel/errors.ts';
import type { Caller } from '../identity/resolve.ts';
import type { Workspace } from '../store/pg/workspaces.ts';
import { needsOwnWorkspaces } from '../query/visibility.ts';
import type { ApiDeps } from './deps.ts';

/** The workspace of the path. One of another org is answered exactly as one that does not exist (contract 5.6). */
export async function workspaceOf(deps: Pick<ApiDeps, 'workspaces'>, caller: Caller, id: string): Promise<Workspace> {
  const workspace = await deps.workspaces.workspaceById(caller.orgId, id);
  if (workspace === undefined) throw new AppError('workspace_not_found', 'the org has no such workspace');
  return workspace;
}

/** Ids of the caller's workspaces, where the caller's scopes make them matter. */
export async function ownWorkspaceIds(deps: Pick<ApiDeps, 'workspaces'>, caller: Caller): Promise<string[]> {
  return needsOwnWorkspaces(caller) ? deps.workspaces.workspaceIdsCreatedBy(caller.orgId, caller.userId) : [];
}
