import type { ActiveWorkspace, WorkspaceRegistry } from '../contract.ts';

/** What the internal API answers for one workspace (src/api/internal/workspace-route.ts), checked for its shape. */
export type WorkspaceAnswer = {
  readonly id: string;
  readonly orgId: string;
  readonly createdBy: string;
  readonly agentRoleId: string;
  readonly agentRole: string;
  readonly agentProvider: string;
  readonly environment: string;
  readonly enforcement: 'enforce' | 'report';
  readonly retentionDays: number;
  /** Text of the capability document; null when none is attached. */
  readonly caps: string | null;
  /** Those that the policy names and the org has. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Plain JSON Schemas by agent event type. */
  readonly eventSchemas: ReadonlyMap<string, unknown>;
  /** Changes whenever anything of the above does. */
  readonly version: string;
};

export type WorkspaceFound = { readonly kind: 'found'; readonly answer: WorkspaceAnswer } | { readonly kind: 'unchanged' } | { readonly kind: 'unknown' };

export type WorkspaceRef = { readonly id: string; readonly orgId: string };

/** Asks the control plane. `unchanged` only when a `version` was given and is still the one. Rejects when it could not be asked. */
export type LoadWorkspace = (workspace: WorkspaceRef, version: string | undefined) => Promise<WorkspaceFound>;

/** Contract 6.2, the three rows of the policy engine. */
export type WorkspaceLifecycle = 'workspace_activated' | 'workspace_deactivated' | 'workspace_evicted';

export type WorkspaceRegistryDeps = {
  readonly load: LoadWorkspace;
  /** Age at which a workspace is asked for again; it is served as it was meanwhile, up to twice that age. */
  readonly ttlMs: number;
  /** Age up to which a workspace is served when the control plane does not answer. */
  readonly graceMs: number;
  /** Time without a request after which a workspace is forgotten. */
  readonly idleMs: number;
  /** Workspaces held; beyond it the longest unused one is forgotten. */
  readonly entriesMax: number;
  /** How long "no such workspace" is believed. */
  readonly negativeTtlMs?: number;
  /** Told once per activation, deactivation and eviction, for their audit rows. Must not throw. */
  readonly onLifecycle?: (event: WorkspaceLifecycle, workspace: ActiveWorkspace) => void;
  /** Told when the control plane could not be asked, also when a cached workspace covers for it. */
  readonly onError?: (error: unknown) => void;
  /** Monotonic, in ms; for tests. */
  readonly now?: () => number;
};

/** The registry as the role that feeds it invalidations sees it. */
export type ManagedWorkspaceRegistry = WorkspaceRegistry & {
  /** As `refresh`, for every workspace of a role. */
  refreshRole(orgId: string, agentRoleId: string): void;
  /** As `refresh`, for every workspace of an org. */
  refreshOrg(orgId: string): void;
  /** Messages may have been missed: every workspace is asked for again, and before it is next served. Unlike after `refresh`, the grace covers it. */
  revalidateAll(): void;
};
