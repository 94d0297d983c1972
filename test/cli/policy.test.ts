import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createSealer, generateSecretsKey } from '../../src/identity/sealing.ts';
import { createAgentRoleStore } from '../../src/store/pg/agent-roles.ts';
import { createCredentialStore } from '../../src/store/pg/credentials.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { createProviderStore } from '../../src/store/pg/providers.ts';
import { createSecretStore } from '../../src/store/pg/secrets.ts';
import { createWorkspacePolicyStore } from '../../src/store/pg/workspace-policies.ts';
import { createWorkspaceStore } from '../../src/store/pg/workspaces.ts';
import { startPipeline } from './pipeline-rig.ts';

type Ran = { readonly code: number; readonly output: string; readonly complaint: string };

t.test('policies, secrets and credentials from the command line', async (t) => {
  const rig = await startPipeline(t);
  const [orgId] = rig.orgIds;
  const secretsKey = generateSecretsKey();
  const run = (args: readonly string[], input = ''): Promise<Ran> => new Promise((resolve) => {
    const child = execFile('scripts/customhouse', [...args, '--data-dir', rig.dataDir], { env: { ...process.env, SECRETS_KEY: secretsKey } }, (error, output, complaint) => {
      resolve({ code: error === null ? 0 : Number(error.code), output, complaint });
    });
    child.stdin?.end(input);
  });
  const deps = { sql: rig.sql, outbox: createOutbox({ mode: 'refuse', retentionDays: 30 }), sealer: createSealer(secretsKey), publish: async (): Promise<void> => undefined };
  const who = { orgId, userId: 'user-1' };
  const { id: providerId } = await createProviderStore(deps).create({ ...who, name: 'llm', displayName: 'LLM', kind: 'llm', domain: 'llm.example.com' });
  const { id: agentRoleId } = await createAgentRoleStore(deps).create({ ...who, name: 'coder', displayName: 'Coder', providerId, model: 'm' });
  const { id: workspaceId } = await createWorkspaceStore(deps).create({ ...who, agentRoleId });
  const policies = createWorkspacePolicyStore(deps);

  const file = join(rig.dataDir, 'caps.yaml');
  await writeFile(file, '- name: demo\n  type: http\n  allow: [{domains: [api.example.com], methods: [GET]}]\n  transforms: [{header: {name: x-key, action: set, value: \'secrets["key"]\'}}]\n');
  const attached = await run(['policy', 'attach', file, '--workspace', workspaceId, '--environment', 'staging', '--enforcement', 'report']);
  t.match(JSON.parse(attached.output), { org_id: orgId, agent_role: 'coder', attached: true, environment: 'staging', enforcement: 'report' });
  t.match(await policies.runningWorkspace(orgId, workspaceId), { caps: /api\.example\.com/, secretKeys: ['key'], environment: 'staging' });

  await writeFile(file, '- name: demo\n  type: ftp\n');
  const refused = await run(['policy', 'attach', file, '--workspace', workspaceId]);
  t.equal(refused.code, 1);
  t.match(refused.complaint, /problems; customhouse caps validate/);
  t.match(await policies.runningWorkspace(orgId, workspaceId), { caps: /api\.example\.com/ }, 'the policy before stays');

  t.equal((await run(['secret', 'put', 'key', '--org', orgId], 'planted-value\n')).code, 0);
  t.equal((await createSecretStore(deps).openSecrets(orgId, ['key'])).get('key')?.reveal(), 'planted-value');
  t.strictSame(JSON.parse((await run(['secret', 'list', '--org', orgId])).output), ['key']);
  t.match(await run(['secret', 'put', 'none', '--org', orgId], ''), { code: 1, complaint: /no value/ });
  t.match(JSON.parse((await run(['secret', 'delete', 'key', '--org', orgId])).output), { deleted: true });

  t.equal((await run(['credential', 'put', 'tickets', '--org', orgId, '--provider', 'zendesk', '--kind', 'basic_auth', '--username', 'bot@example.com'], 'planted-password')).code, 0);
  const credential = await createCredentialStore(deps).openCredential(orgId, 'tickets');
  t.match(credential, { provider: 'zendesk', kind: 'basic_auth', providerConfig: { username: 'bot@example.com' } });
  t.equal(credential?.material?.reveal(), 'planted-password');
  t.match(await run(['credential', 'put', 'x', '--org', orgId, '--provider', 'github', '--kind', 'basic_auth'], 'y'), { code: 1, complaint: /--username/ });

  t.match(JSON.parse((await run(['policy', 'detach', '--workspace', workspaceId])).output), { attached: false });
  t.match(await run(['policy', 'detach', '--workspace', orgId]), { code: 1, complaint: /no running workspace/ });
});
