import type { Settings } from '../config/settings.ts';
import { createSealer } from '../identity/sealing.ts';
import { createInvalidationPublisher } from '../queue/invalidations.ts';
import { createAgentRoleStore } from '../store/pg/agent-roles.ts';
import { createApiKeyStore } from '../store/pg/api-keys.ts';
import { connectPostgres } from '../store/pg/connect.ts';
import { createCredentialStore } from '../store/pg/credentials.ts';
import { createMembershipStore } from '../store/pg/memberships.ts';
import { createOrgStore } from '../store/pg/orgs.ts';
import { createOutbox } from '../store/pg/outbox.ts';
import { createProviderStore } from '../store/pg/providers.ts';
import { createSecretStore } from '../store/pg/secrets.ts';
import { createWorkspacePolicyStore } from '../store/pg/workspace-policies.ts';
import { createWorkspaceStore } from '../store/pg/workspaces.ts';

export type Stores = {
  orgs: ReturnType<typeof createOrgStore>;
  apiKeys: ReturnType<typeof createApiKeyStore>;
  memberships: ReturnType<typeof createMembershipStore>;
  providers: ReturnType<typeof createProviderStore>;
  agentRoles: ReturnType<typeof createAgentRoleStore>;
  workspaces: ReturnType<typeof createWorkspaceStore>;
  policies: ReturnType<typeof createWorkspacePolicyStore>;
  secrets: ReturnType<typeof createSecretStore>;
  credentials: ReturnType<typeof createCredentialStore>;
  close: () => Promise<void>;
};

/**
 * The Postgres stores of a command that creates things; their audit rows go through the outbox like everybody's. Redis is connected to by
 * the first change that proxies must hear of; when it is away, that is said once, and proxies find out by themselves, later.
 */
export function openStores(settings: Pick<Settings, 'postgresUrl' | 'redisUrl' | 'secretsKey' | 'retentionDays'>): Stores {
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 2, applicationName: 'customhouse-cli' });
  const outbox = createOutbox({ mode: 'refuse', retentionDays: settings.retentionDays });
  let isUntold = false;
  const invalidations = createInvalidationPublisher({ redisUrl: settings.redisUrl, onError: () => {
    if (!isUntold) process.stderr.write('customhouse: Redis does not answer; running proxies hear of this change within PROXY_WORKSPACE_TTL_MS\n');
    isUntold = true;
  } });
  const deps = { sql, outbox };
  const changes = { ...deps, sealer: createSealer(settings.secretsKey), publish: invalidations.publish };
  return {
    orgs: createOrgStore(sql),
    apiKeys: createApiKeyStore(deps),
    memberships: createMembershipStore(deps),
    providers: createProviderStore(deps),
    agentRoles: createAgentRoleStore(deps),
    workspaces: createWorkspaceStore(deps),
    policies: createWorkspacePolicyStore(changes),
    secrets: createSecretStore(changes),
    credentials: createCredentialStore(changes),
    close: async () => {
      await invalidations.close();
      await sql.end({ timeout: 5 });
    },
  };
}
