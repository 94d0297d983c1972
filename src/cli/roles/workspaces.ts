import type { Settings } from '../../config/settings.ts';
import type { Invalidation } from '../../kernel/invalidation.ts';
import type { Check } from '../../kernel/admin-server.ts';
import type { Logger } from '../../kernel/log.ts';
import { throttledErrors } from '../../kernel/log.ts';
import type { ControlPlane } from '../../proxy/workspaces/control-plane.ts';
import { createControlPlane } from '../../proxy/workspaces/control-plane.ts';
import type { ManagedWorkspaceRegistry, WorkspaceRegistryDeps } from '../../proxy/workspaces/contract.ts';
import { createWorkspaceRegistry } from '../../proxy/workspaces/registry.ts';
import { subscribeInvalidations } from '../../queue/invalidations.ts';

export type Workspaces = {
  readonly registry: ManagedWorkspaceRegistry;
  readonly loadCredential: ControlPlane['loadCredential'];
  /** For `/readyz`: the proxy serves what it holds while it hears nothing, but learns of changes late. */
  readonly check: Check;
  readonly stop: () => Promise<void>;
};

export type WorkspacesOptions = {
  readonly onLifecycle?: WorkspaceRegistryDeps['onLifecycle'];
  /** A credential was put, changed or taken away; the broker must forget what it minted. `name` undefined: any of them may have been. */
  readonly onCredentialChanged?: (orgId: string | undefined, name: string | undefined) => void;
};

type WorkspaceSettings = Pick<Settings, 'internalUrl' | 'internalToken' | 'redisUrl' | 'proxyWorkspaceTtlMs' | 'proxyWorkspaceGraceMs' | 'proxyWorkspaceIdleMs' | 'proxyWorkspacesMax'>;

/** One message of the control plane, carried out. */
export function applyInvalidation(message: Invalidation, { registry, onCredentialChanged }: { readonly registry: ManagedWorkspaceRegistry } & Pick<WorkspacesOptions, 'onCredentialChanged'>): void {
  switch (message.kind) {
    case 'workspace_gone': return registry.deactivate(message.workspaceId);
    case 'workspace_changed': return registry.refresh(message.workspaceId);
    case 'agent_role_changed': return registry.refreshRole(message.orgId, message.agentRoleId);
    case 'secrets_changed': return registry.refreshOrg(message.orgId);
    case 'credential_changed': return onCredentialChanged?.(message.orgId, message.name);
  }
}

/**
 * What the proxy role knows of workspaces: the registry, the internal API it asks, and the messages that tell it what changed. Whenever
 * the subscription stands again, everything held is asked for once more. Throws when INTERNAL_TOKEN is not set.
 */
export function openWorkspaces(settings: WorkspaceSettings, log: Pick<Logger, 'error'>, { onLifecycle, onCredentialChanged }: WorkspacesOptions = {}): Workspaces {
  if (settings.internalToken === undefined) throw new Error('settings: INTERNAL_TOKEN is needed by the proxy role, and must be that of the api role');
  const controlPlane = createControlPlane({ url: settings.internalUrl, token: settings.internalToken });
  const registry = createWorkspaceRegistry({
    load: controlPlane.loadWorkspace,
    ttlMs: settings.proxyWorkspaceTtlMs,
    graceMs: settings.proxyWorkspaceGraceMs,
    idleMs: settings.proxyWorkspaceIdleMs,
    entriesMax: settings.proxyWorkspacesMax,
    onError: throttledErrors(log, 'workspace could not be loaded'),
    ...(onLifecycle === undefined ? {} : { onLifecycle }),
  });
  const subscriber = subscribeInvalidations({
    redisUrl: settings.redisUrl,
    onInvalidation: (message) => applyInvalidation(message, { registry, ...(onCredentialChanged === undefined ? {} : { onCredentialChanged }) }),
    onSubscribed() {
      registry.revalidateAll();
      onCredentialChanged?.(undefined, undefined);
    },
    onError: throttledErrors(log, 'invalidations'),
  });
  return {
    registry,
    loadCredential: controlPlane.loadCredential,
    check: () => (subscriber.isHearing() ? undefined : 'invalidations are not heard'),
    async stop() {
      await subscriber.close();
      await controlPlane.close();
      await registry.stop();
    },
  };
}
