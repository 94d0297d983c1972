import type { StatusChange } from '../../credentials/status-reports.ts';
import { systemUser } from '../../events/event.ts';
import type { Journal } from '../../journal/journal.ts';
import type { ActiveWorkspace } from '../../proxy/contract.ts';
import { createRecorder } from '../../proxy/recorder.ts';
import type { WorkspaceLifecycle } from '../../proxy/workspaces/contract.ts';

export type ProxyRows = {
  readonly lifecycle: (event: WorkspaceLifecycle, workspace: ActiveWorkspace) => void;
  readonly credentialStatus: (change: StatusChange) => void;
};

type Options = { readonly journal: Journal; readonly mode: 'refuse' | 'flag'; readonly retentionDays: number; readonly onError: (error: unknown) => void };

/** Rows of the proxy that no request is answered by: a workspace came or went, a credential changed its status (contract 6.2). */
export function createProxyRows({ journal, mode, retentionDays, onError }: Options): ProxyRows {
  const { row } = createRecorder({ journal, mode, retentionDays, onInvalid: onError });
  return {
    lifecycle(event, workspace) {
      row({
        event_type: event, org_id: workspace.orgId, user_id: workspace.createdBy, workspace_id: workspace.id, agent_role: workspace.agentRole, agent_provider: workspace.agentProvider,
      }).catch(onError);
    },
    credentialStatus({ owner, id, name, provider, kind, fromStatus, toStatus, reason, terminal }) {
      row({
        event_type: 'credential_status', org_id: owner.orgId, user_id: systemUser,
        detail: { resource_id: id, name, provider, kind, from_status: fromStatus, to_status: toStatus, reason, terminal },
      }).catch(onError);
    },
  };
}
