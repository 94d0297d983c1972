import { AppError } from '../kernel/errors.ts';
import type { Predicate } from './predicate.ts';
import { allOf, anyOf, isIn } from './predicate.ts';

export type ViewCaller = { readonly userId: string; readonly scopes: ReadonlySet<string> };

/**
 * The rows a caller may see at one place. `key` names place, caller and the scopes that count there: a cursor is bound to it, and it does
 * not change when the caller creates a workspace between two pages.
 */
export type Visibility = { readonly predicate: Predicate; readonly key: string };

/** The workspace a route is pinned to; the caller has already checked that it is one of the caller's org. */
export type ViewedWorkspace = { readonly id: string; readonly createdBy: string };

export const readScopes = ['audit:read', 'audit:read:own', 'workspace:read', 'workspace:read:own'] as const;
type ReadScope = (typeof readScopes)[number];

function held(caller: ViewCaller, scopes: readonly ReadScope[]): ReadonlySet<ReadScope> {
  const found = scopes.filter((scope) => caller.scopes.has(scope));
  if (found.length === 0) throw new AppError('permission_denied', `needs one of the scopes ${scopes.join(', ')}`);
  return new Set(found);
}

function keyOf(place: string, caller: ViewCaller, scopes: ReadonlySet<ReadScope>): string {
  return JSON.stringify([place, caller.userId, ...scopes]);
}

const activity = isIn('category', ['activity']);
const audit = isIn('category', ['audit']);

/** Whether `eventVisibility` will look at the caller's workspaces; when not, the caller need not load them. */
export function needsOwnWorkspaces(caller: ViewCaller): boolean {
  return caller.scopes.has('workspace:read:own') && !caller.scopes.has('workspace:read') && !caller.scopes.has('audit:read');
}

/**
 * `GET /audit`, `/audit/stats`, `/audit/stream`, exports: the union of contract 4.1's scopes.
 * @param ownWorkspaceIds ids of the workspaces that the caller created; may be empty when `needsOwnWorkspaces` is false
 * @throws AppError permission_denied when the caller holds none of the four
 */
export function eventVisibility(caller: ViewCaller, ownWorkspaceIds: readonly string[]): Visibility {
  const scopes = held(caller, readScopes);
  const predicate = anyOf([
    scopes.has('audit:read'),
    scopes.has('audit:read:own') && isIn('user_id', [caller.userId]),
    scopes.has('workspace:read') && activity,
    needsOwnWorkspaces(caller) && allOf([activity, isIn('workspace_id', ownWorkspaceIds)]),
  ]);
  return { predicate, key: keyOf('events', caller, scopes) };
}

/** `GET /workspaces/{id}/audit/stats` (4.4): 4.1's rows of one workspace. */
export function workspaceEventVisibility(caller: ViewCaller, ownWorkspaceIds: readonly string[], workspaceId: string): Visibility {
  const { predicate, key } = eventVisibility(caller, ownWorkspaceIds);
  return { predicate: allOf([isIn('workspace_id', [workspaceId]), predicate]), key: JSON.stringify([key, workspaceId]) };
}

/**
 * `GET /workspaces/{id}/audit` (4.2): audit scopes show the workspace's audit rows, workspace scopes its activity rows. A caller whose
 * `:own` scopes do not reach this workspace may call, and sees nothing.
 */
export function workspaceAuditVisibility(caller: ViewCaller, workspace: ViewedWorkspace): Visibility {
  const scopes = held(caller, readScopes);
  const creator = workspace.createdBy === caller.userId;
  const rows = anyOf([
    (scopes.has('audit:read') || (creator && scopes.has('audit:read:own'))) && audit,
    (scopes.has('workspace:read') || (creator && scopes.has('workspace:read:own'))) && activity,
  ]);
  return { predicate: allOf([isIn('workspace_id', [workspace.id]), rows]), key: keyOf(`audit of ${workspace.id}`, caller, scopes) };
}

/**
 * `GET /workspaces/{id}/activity` and its stream (4.3, 4.5): activity rows of one workspace. `workspace:read:own` counts only with the
 * creator match that the contract writes beside it, so another caller who holds only that is refused.
 */
export function workspaceActivityVisibility(caller: ViewCaller, workspace: ViewedWorkspace): Visibility {
  const scopes = held(caller, ['workspace:read', 'workspace:read:own']);
  if (!scopes.has('workspace:read') && workspace.createdBy !== caller.userId) {
    throw new AppError('permission_denied', 'workspace:read:own reaches only workspaces that the caller created');
  }
  return { predicate: allOf([isIn('workspace_id', [workspace.id]), activity]), key: keyOf(`activity of ${workspace.id}`, caller, scopes) };
}
