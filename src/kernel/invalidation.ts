/**
 * What the control plane tells its proxies after a commit (design 10): that something they may hold is no longer so. A message carries
 * ids and names only; whoever hears it asks the internal API for what is true now. Messages can be lost (a proxy that was cut off
 * from Redis): nothing may depend on one arriving, only on being told sooner.
 */
export type Invalidation =
  /** Stopped or archived: its requests end. */
  | { readonly kind: 'workspace_gone'; readonly orgId: string; readonly workspaceId: string }
  | { readonly kind: 'workspace_changed'; readonly orgId: string; readonly workspaceId: string }
  | { readonly kind: 'agent_role_changed'; readonly orgId: string; readonly agentRoleId: string }
  /** Some secret of the org was put or deleted. */
  | { readonly kind: 'secrets_changed'; readonly orgId: string }
  | { readonly kind: 'credential_changed'; readonly orgId: string; readonly name: string };

/** Never rejects and waits for a bounded time: the change is committed already, and a proxy that is not told learns of it by its time to live. */
export type PublishInvalidation = (message: Invalidation) => Promise<void>;
