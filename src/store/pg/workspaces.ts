import { isUuid, uuidv7 } from '../../kernel/ids.ts';
import type { Sql } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { acrossOrgs, inOrg } from './scope.ts';

export type Workspace = {
  readonly id: string;
  readonly orgId: string;
  readonly createdBy: string;
  readonly agentRoleId: string;
  /** Names of the role and of its provider, as audit rows carry them (contract 2.1). */
  readonly agentRole: string;
  readonly agentProvider: string;
  readonly archivedAt: string | undefined;
  readonly createdAt: string;
};

export type WorkspaceStore = {
  /** Undefined for an unknown id, one of another org, and a text that is no id. */
  readonly workspaceById: (orgId: string, id: string) => Promise<Workspace | undefined>;
  /** For the proxy, which knows a workspace from its token only. */
  readonly workspaceOfAnyOrg: (id: string) => Promise<Workspace | undefined>;
  /** All of them, also archived ones: their rows stay visible to their creator. */
  readonly workspaceIdsCreatedBy: (orgId: string, userId: string) => Promise<string[]>;
  /** Emits `workspace_created`, attributed to the creator. Throws when the org has no such role. */
  readonly create: (workspace: { orgId: string; userId: string; agentRoleId: string }) => Promise<Workspace>;
};

type Row = { id: string; orgId: string; createdBy: string; agentRoleId: string; agentRole: string; agentProvider: string; archivedAt: string | null; createdAt: string };

export function createWorkspaceStore({ sql, outbox }: { sql: Sql; outbox: Outbox }): WorkspaceStore {
  const columns = sql`
    select w.id, w.org_id as "orgId", w.created_by as "createdBy", w.agent_role_id as "agentRoleId", r.name as "agentRole", p.name as "agentProvider",
      w.archived_at as "archivedAt", w.created_at as "createdAt"
    from workspaces w
    join agent_roles r on r.org_id = w.org_id and r.id = w.agent_role_id
    join providers p on p.org_id = r.org_id and p.id = r.provider_id`;
  const found = ([row]: readonly Row[]): Workspace | undefined => (row === undefined ? undefined : { ...row, archivedAt: row.archivedAt ?? undefined });

  return {
    async workspaceById(orgId, id) {
      if (!isUuid(id)) return undefined;
      return inOrg(sql, orgId, async (tx) => found(await tx<Row[]>`${columns} where w.org_id = ${orgId} and w.id = ${id}`));
    },
    async workspaceOfAnyOrg(id) {
      if (!isUuid(id)) return undefined;
      return acrossOrgs(sql, async (tx) => found(await tx<Row[]>`${columns} where w.id = ${id}`));
    },
    workspaceIdsCreatedBy: (orgId, userId) => inOrg(sql, orgId, async (tx) => {
      const rows = await tx<{ id: string }[]>`select id from workspaces where org_id = ${orgId} and created_by = ${userId} order by id`;
      return rows.map((row) => row.id);
    }),
    create: ({ orgId, userId, agentRoleId }) => inOrg(sql, orgId, async (tx) => {
      const id = uuidv7();
      await tx`insert into workspaces (id, org_id, agent_role_id, created_by) values (${id}, ${orgId}, ${agentRoleId}, ${userId})`;
      const workspace = found(await tx<Row[]>`${columns} where w.org_id = ${orgId} and w.id = ${id}`);
      if (workspace === undefined) throw new Error('a workspace just created is not visible in its own transaction');
      await outbox.append(tx, [{
        event_type: 'workspace_created', org_id: orgId, user_id: userId, workspace_id: id,
        agent_role: workspace.agentRole, agent_provider: workspace.agentProvider, detail: { forked: false },
      }]);
      return workspace;
    }),
  };
}
