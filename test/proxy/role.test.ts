import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { startInternal } from '../../src/api/internal/start.ts';
import { startProxyRole } from '../../src/cli/roles/proxy.ts';
import { ensureKey, jwksFile, readKey } from '../../src/cli/up/keys.ts';
import { signCapabilityToken } from '../../src/identity/tokens.ts';
import { createLog } from '../../src/kernel/log.ts';
import { platformOrgId } from '../../src/kernel/ids.ts';
import { createAgentRoleStore } from '../../src/store/pg/agent-roles.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { createProviderStore } from '../../src/store/pg/providers.ts';
import { createWorkspaceStore } from '../../src/store/pg/workspaces.ts';
import { startPipeline } from '../cli/pipeline-rig.ts';
import { exchange } from './proxy-harness.ts';

t.test('the proxy role: its rows reach ClickHouse, also those of a time without Redis', async (t) => {
  const rig = await startPipeline(t);
  const [orgId] = rig.orgIds;
  const worker = await rig.startWorker();
  await mkdir(rig.dataDir, { recursive: true });
  await ensureKey(rig.dataDir, 'capability');
  const internalToken = 'internal-service-token-of-this-test-0001';
  const internal = await startInternal({ ...rig.settings, internalPort: 0, internalToken, secretsKey: undefined }, rig.sql, createLog('api', 'silent'));
  if (internal === undefined) throw new Error('no internal API');
  t.teardown(() => internal.stop(0));
  const deps = { sql: rig.sql, outbox: createOutbox({ mode: 'refuse', retentionDays: 30 }) };
  const who = { orgId, userId: 'u1' };
  const { id: providerId } = await createProviderStore(deps).create({ ...who, name: 'llm', displayName: 'LLM', kind: 'llm', domain: 'llm.example.com' });
  const { id: agentRoleId } = await createAgentRoleStore(deps).create({ ...who, name: 'coder', displayName: 'Coder', providerId, model: 'm' });
  const { id: workspaceId } = await createWorkspaceStore(deps).create({ ...who, agentRoleId });
  const settings = {
    ...rig.settings,
    internalToken,
    internalUrl: internal.url,
    proxyCaCert: join(rig.dataDir, 'ca.pem'),
    proxyCaKey: join(rig.dataDir, 'ca-key.pem'),
    shutdownMs: 1000,
    instanceName: 'test',
    journalDir: join(rig.dataDir, 'journal'),
    capabilityJwksUrl: pathToFileURL(jwksFile(rig.dataDir, 'capability')).href,
  };
  const log = createLog('proxy', 'silent');
  let proxy = await startProxyRole(settings, log);
  t.teardown(() => proxy.stop());
  const token = await signCapabilityToken({ orgId, workspaceId, taskId: 't1', userId: 'u9' }, await readKey(rig.dataDir, 'capability'), { expiresInS: 600 });
  const call = (path: string, header = ''): Promise<string> => exchange(Number(new URL(proxy.url).port), `GET http://up.example${path} HTTP/1.1\r\nHost: up.example\r\n${header}Connection: close\r\n\r\n`);
  const stored = async (): Promise<{ path: string; org_id: string; user_id: string; workspace_id: string; reason: string; producer: string }[]> => {
    const result = await rig.clickhouse.client.query({ query: `SELECT path, org_id, user_id, workspace_id, reason, producer FROM ${rig.clickhouse.events} WHERE event_type = 'policy_decision' ORDER BY timestamp, source_seq`, format: 'JSONEachRow' });
    return result.json();
  };
  const until = async (count: number): Promise<void> => {
    while ((await stored()).length < count) await new Promise((resolve) => setTimeout(resolve, 50));
  };

  t.match(await call('/1'), /^HTTP\/1\.1 407 /);
  t.match(await call('/2', `Proxy-Authorization: Bearer ${token}\r\n`), /^HTTP\/1\.1 403 .*"no_policy"/s);
  await until(2);
  t.same(await stored(), [
    { path: '/1', org_id: platformOrgId, user_id: 'system', workspace_id: '', reason: 'no_token', producer: 'proxy:test' },
    { path: '/2', org_id: orgId, user_id: 'u1', workspace_id: workspaceId, reason: 'no_policy', producer: 'proxy:test' },
  ]);

  await rig.stack.redis.stop();
  t.match(await call('/3'), /^HTTP\/1\.1 407 /, 'decides while Redis is away');
  t.equal((await fetch(`${proxy.adminUrl}/readyz`)).status, 200, 'and is ready to');
  await t.rejects(startProxyRole(settings, log), /in use by another process/, 'one journal, one proxy');
  await proxy.stop();
  await rig.stack.redis.restart();
  proxy = await startProxyRole(settings, log);
  t.match(await call('/4'), /^HTTP\/1\.1 407 /);
  await until(4);
  t.same((await stored()).map((row) => row.path), ['/1', '/2', '/3', '/4'], 'what the stopped proxy could not ship, the next one did');
  await proxy.stop();
  await worker.stop();
});
