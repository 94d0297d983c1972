import type { Settings } from '../config/settings.ts';
import { createAgentRoleStore } from '../store/pg/agent-roles.ts';
import { createApiKeyStore } from '../store/pg/api-keys.ts';
import { connectPostgres } from '../store/pg/connect.ts';
import { createMembershipStore } from '../store/pg/memberships.ts';
import { createOrgStore } from '../store/pg/orgs.ts';
import { createOutbox } from '../store/pg/outbox.ts';
import { createProviderStore } from '../store/pg/providers.ts';
import { createWorkspaceStore } from '../store/pg/workspaces.ts';

export type Stores = {
  orgs: ReturnType<typeof createOrgStore>;
  apiKeys: ReturnType<typeof createApiKeyStore>;
  memberships: ReturnType<typeof createMembershipStore>;
  providers: ReturnType<typeof createProviderStore>;
  agentRoles: ReturnType<typeof createAgentRoleStore>;
  workspaces: ReturnType<typeof createWorkspaceStore>;
  close: () => Promise<void>;
};

/** The Postgres stores of a command that creates things; their audit rows go through the outbox like everybody's. */
export function openStores(settings: Pick<Settings, 'postgresUrl' | 'retentionDays'>): Stores {
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 2, applicationName: 'customhouse-cli' });
  const outbox = createOutbox({ mode: 'refuse', retentionDays: settings.retentionDays });
  const deps = { sql, outbox };
  return {
    orgs: createOrgStore(sql),
    apiKeys: createApiKeyStore(deps),
    memberships: createMembershipStore(deps),
    providers: createProviderStore(deps),
    agentRoles: createAgentRoleStore(deps),
    workspaces: createWorkspaceStore(deps),
    close: () => sql.end({ timeout: 5 }),
  };
}
