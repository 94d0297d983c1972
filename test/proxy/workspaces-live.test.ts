import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { startInternal } from '../../src/api/internal/start.ts';
import { createLogger } from '../../src/api/request-log.ts';
import { openStores } from '../../src/cli/stores.ts';
import { openWorkspaces } from '../../src/cli/roles/workspaces.ts';
import { readSettings } from '../../src/config/settings.ts';
import { generateSecretsKey } from '../../src/identity/sealing.ts';
import { Secret } from '../../src/kernel/secret.ts';
import { readPolicyText } from '../../src/policy/read-policy.ts';
import type { ActiveWorkspace } from '../../src/proxy/contract.ts';
import { createInvalidationPublisher } from '../../src/queue/invalidations.ts';
import { inOrg } from '../../src/store/pg/scope.ts';
import { openDatabase } from '../store/pg/database.ts';
import { startStack } from '../support/stack.ts';

// The time of a loaded machine.
t.setTimeout(120_000);

const stack = await startStack(t, { postgres: true, redis: true });
const sql = await openDatabase(t, stack);
const shared = { INTERNAL_TOKEN: 'internal-service-token-of-this-test-0001', POSTGRES_URL: stack.postgresUrl, REDIS_URL: stack.redisUrl, LOG_LEVEL: 'silent' };
const apiSettings = readSettings({ ...shared, INTERNAL_PORT: '0', SECRETS_KEY: generateSecretsKey() });
const logger = createLogger('silent');
let internal = await startInternal(apiSettings, sql, logger);
const internalUrl = internal?.url ?? '';
t.teardown(() => internal?.stop(0));
// Long enough that nothing below comes from age alone.
const proxySettings = readSettings({ ...shared, INTERNAL_URL: internalUrl, PROXY_WORKSPACE_TTL_MS: '3600000', PROXY_WORKSPACE_GRACE_MS: '7200000' });
const events: [string, string][] = [];
const credentialsChanged: (string | undefined)[] = [];
const workspaces = openWorkspaces(proxySettings, logger, {
  onLifecycle: (event, { id }) => events.push([event, id]),
  onCredentialChanged: (_orgId, name) => credentialsChanged.push(name),
});
t.teardown(() => workspaces.stop());
const stores = openStores(apiSettings);
t.teardown(() => stores.close());
const invalidations = createInvalidationPublisher({ redisUrl: stack.redisUrl, onError: () => undefined });
t.teardown(() => invalidations.close());

const { id: orgId } = await stores.orgs.create({ name: 'one' });
const who = { orgId, userId: 'user_1' };
const { id: providerId } = await stores.providers.create({ ...who, name: 'llm', displayName: 'LLM', kind: 'llm', domain: 'llm.example.com' });
const { id: agentRoleId } = await stores.agentRoles.create({ ...who, name: 'coder', displayName: 'Coder', providerId, model: 'm' });
const { id } = await stores.workspaces.create({ ...who, agentRoleId });

const capsFor = (host: string): { text: string; secretKeys: readonly string[] } => {
  const text = `- name: web\n  type: http\n  allow:\n    - {name: read, domains: [${host}], methods: [GET]}\n  transforms:\n    - header: {name: x-key, action: set, value: 'secrets["token"]'}\n`;
  return { text, secretKeys: readPolicyText(text).policy?.secretKeys ?? [] };
};

async function workspaceWhen(is: (workspace: ActiveWorkspace) => boolean): Promise<ActiveWorkspace> {
  for (;;) {
    const workspace = await workspaces.registry.get({ id, orgId });
    if (workspace !== undefined && is(workspace)) return workspace;
    await sleep(10);
  }
}
const admits = (workspace: ActiveWorkspace, host: string): boolean => typeof workspace.policy === 'object' && workspace.policy.admitsHost(host);
async function hearing(): Promise<void> {
  while (await workspaces.check() !== undefined) await sleep(10);
}

t.test('a policy and a secret reach a running proxy by message, not by age', async (t) => {
  await hearing();
  const bare = await workspaceWhen(() => true);
  t.match(bare, { orgId, createdBy: 'user_1', agentRole: 'coder', agentProvider: 'llm', enforcement: 'enforce', retentionDays: 400 });
  t.equal(bare.policy, undefined);
  t.same(events, [['workspace_activated', id]]);
  await stores.policies.setCaps({ ...who, agentRoleId, caps: capsFor('one.example.com') });
  const first = await workspaceWhen((workspace) => admits(workspace, 'one.example.com'));
  t.equal(first.secrets.size, 0, 'named, and not there yet');
  await stores.secrets.putSecret({ ...who, name: 'token', value: new Secret('planted') });
  t.equal((await workspaceWhen((workspace) => workspace.secrets.size === 1)).secrets.get('token'), 'planted');
  await stores.policies.setCaps({ ...who, agentRoleId, caps: capsFor('two.example.com') });
  const second = await workspaceWhen((workspace) => admits(workspace, 'two.example.com'));
  t.equal(admits(second, 'one.example.com'), false);
  t.equal(admits(first, 'one.example.com'), true, 'a request in flight keeps what it began with');
  await stores.secrets.deleteSecret({ ...who, name: 'token' });
  await workspaceWhen((workspace) => workspace.secrets.size === 0);
  await stores.policies.changeRolePolicy({ ...who, agentRoleId }, { enforcement: 'report' });
  await workspaceWhen((workspace) => workspace.enforcement === 'report');
  t.equal(bare.gone.aborted, false);
  t.equal(events.length, 1);
});

t.test('a credential that changed is told to the broker', async (t) => {
  await invalidations.publish({ kind: 'credential_changed', orgId, name: 'bot' });
  while (!credentialsChanged.includes('bot')) await sleep(10);
  t.equal(await workspaces.loadCredential(orgId, 'bot'), undefined);
});

t.test('a stopped workspace ends its requests and is not known any more; resumed it is again', async (t) => {
  const held = await workspaceWhen(() => true);
  await inOrg(sql, orgId, (tx) => tx`update workspaces set stopped_at = now() where org_id = ${orgId} and id = ${id}`);
  await invalidations.publish({ kind: 'workspace_gone', orgId, workspaceId: id });
  while (!held.gone.aborted) await sleep(10);
  t.equal(await workspaces.registry.get({ id, orgId }), undefined);
  await inOrg(sql, orgId, (tx) => tx`update workspaces set stopped_at = null where org_id = ${orgId} and id = ${id}`);
  await invalidations.publish({ kind: 'workspace_changed', orgId, workspaceId: id });
  t.equal((await workspaceWhen(() => true)).gone.aborted, false);
  t.same(events.slice(1), [['workspace_deactivated', id], ['workspace_activated', id]]);
});

t.test('what happened while Redis was away is found out when it is back, without a request', async (t) => {
  const held = await workspaceWhen(() => true);
  await stack.redis.kill();
  while (await workspaces.check() === undefined) await sleep(10);
  t.equal(await workspaces.registry.get({ id, orgId }), held, 'served meanwhile');
  await inOrg(sql, orgId, (tx) => tx`update workspaces set archived_at = now() where org_id = ${orgId} and id = ${id}`);
  await stack.redis.restart();
  while (!held.gone.aborted) await sleep(10);
  t.same(events.at(-1), ['workspace_deactivated', id]);
  await inOrg(sql, orgId, (tx) => tx`update workspaces set archived_at = null where org_id = ${orgId} and id = ${id}`);
  await hearing();
  await workspaceWhen(() => true);
});

t.test('without the control plane: held workspaces are served, others are not decided, and after a change nothing is', async (t) => {
  const held = await workspaceWhen(() => true);
  const other = await stores.workspaces.create({ ...who, agentRoleId });
  await internal?.stop(0);
  t.equal(await workspaces.registry.get({ id, orgId }), held);
  await t.rejects(workspaces.registry.get({ id: other.id, orgId }), { name: 'ControlPlaneError' });
  await stores.policies.setCaps({ ...who, agentRoleId, caps: capsFor('three.example.com') });
  for (let refused = false; !refused; await sleep(10)) refused = await workspaces.registry.get({ id, orgId }).then(() => false, () => true);
  internal = await startInternal({ ...apiSettings, internalPort: Number(new URL(internalUrl).port) }, sql, logger);
  for (;;) {
    const back = await workspaces.registry.get({ id, orgId }).catch(() => undefined);
    if (back !== undefined) {
      t.equal(admits(back, 'three.example.com'), true, 'the first answer is the new policy');
      break;
    }
    await sleep(10);
  }
});

t.test('without a service token the role does not start', async (t) => {
  t.throws(() => openWorkspaces(readSettings({}), logger), /INTERNAL_TOKEN/);
});
