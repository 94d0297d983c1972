import type { ActiveWorkspace } from '../contract.ts';
import type { WorkspaceRef } from './contract.ts';

/** A workspace's place in the registry. */
export type Entry = {
  readonly ref: WorkspaceRef;
  /** Undefined until it is loaded for the first time. */
  workspace: ActiveWorkspace | undefined;
  version: string | undefined;
  agentRoleId: string | undefined;
  /** When the newest answer was asked for, not when it came: a change in between is not in it. */
  askedAtMs: number;
  usedAtMs: number;
  retryAtMs: number;
  /** `unsure`: a message may have been missed. `changed`: one came, and what is held is known to be wrong. */
  trust: 'sure' | 'unsure' | 'changed';
  /** Moves on with every message: an answer that was asked for before it is not kept. */
  epoch: number;
  loading: Promise<ActiveWorkspace | undefined> | undefined;
};

export function newEntry({ id, orgId }: WorkspaceRef): Entry {
  return { ref: { id, orgId }, workspace: undefined, version: undefined, agentRoleId: undefined, askedAtMs: 0, usedAtMs: 0, retryAtMs: 0, trust: 'sure', epoch: 0, loading: undefined };
}
