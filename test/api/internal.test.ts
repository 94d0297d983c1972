import { Writable } from 'node:stream';
import t from 'tap';
import { startInternalApi } from '../../src/api/internal/app.ts';
import { startInternal } from '../../src/api/internal/start.ts';
import { createLogger } from '../../src/api/request-log.ts';
import { readSettings } from '../../src/config/settings.ts';
import { createSealer, generateSecretsKey } from '../../src/identity/sealing.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { Secret } from '../../src/kernel/secret.ts';
import { createAgentRoleStore } from '../../src/store/pg/agent-roles.ts';
import { createCredentialStore } from '../../src/store/pg/credentials.ts';
import { createOrgStore } from '../../src/store/pg/orgs.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { createProviderStore } from '../../src/store/pg/providers.ts';
import { inOrg } from '../../src/store/pg/scope.ts';
import { createSecretStore } from '../../src/store/pg/secrets.ts';
import { createWorkspacePolicyStore } from '../../src/store/pg/workspace-policies.ts';
import { createWorkspaceStore } from '../../src/store/pg/workspaces.ts';
import { openDatabase } from '../store/pg/database.ts';
import { startStack } from '../support/stack.ts';

const planted = 'planted-secret-5d1f';
const serviceToken = 'internal-service-token-of-this-test-0001';
const stack = await startStack(t, { postgres: true });
const sql = await openDatabase(t, stack);
const deps = { sql, outbox: createOutbox({ mode: 'refuse', retentionDays: 30 }), sealer: createSealer(generateSecretsKey()), publish: async (): Promise<void> => undefined };
const stores = { policies: createWorkspacePolicyStore(deps), secrets: createSecretStore(deps), credentials: createCredentialStore(deps) };
const lines: string[] = [];
const logger = createLogger('trace', new Writable({
  write(chunk: Buffer, _encoding, done) {
    lines.push(chunk.toString());
    done();
  },
}));
const api = await startInternalApi({ ...stores, retentionDays: 30, serviceToken, logger }, { host: '127.0.0.1', port: 0 });
t.teardown(() => api.stop(0));

const { id: orgId } = await createOrgStore(sql).create({ name: 'one', retentionDays: 90 });
const { id: otherOrgId } = await createOrgStore(sql).create({ name: 'two' });
const who = { orgId, userId: 'user_1' };
const { id: providerId } = await createProviderStore(deps).create({ ...who, name: 'llm', displayName: 'LLM', kind: 'llm', domain: 'llm.example.com' });
const { id: agentRoleId } = await createAgentRoleStore(deps).create({ ...who, name: 'coder', displayName: 'Coder', providerId, model: 'm' });
const { id: workspaceId } = await createWorkspaceStore(deps).create({ ...who, agentRoleId });
await stores.secrets.putSecret({ ...who, name: 'token', value: new Secret(planted) });
await stores.secrets.putSecret({ ...who, name: 'unnamed', value: new Secret(`${planted}-unnamed`) });
await stores.policies.changeRolePolicy({ ...who, agentRoleId }, { caps: { text: '- caps\n', secretKeys: ['token', 'absent'] }, environment: 'staging', eventSchemas: { tool_call: { type: 'object' } } });
await stores.credentials.putCredential({ ...who, name: 'GitHub / bot', provider: 'github', kind: 'api_key', scopes: ['repo'], providerConfig: { hint: 1 }, material: new Secret(`${planted}-material`) });

type Answer = { status: number; etag: string | null; text: string; body: Record<string, unknown> & { error?: { code: string; message: string; request_id: string } } };

async function ask(path: string, headers: Record<string, string> = { authorization: `Bearer ${serviceToken}` }, method = 'GET'): Promise<Answer> {
  const response = await fetch(`${api.url}${path}`, { method, headers });
  const text = await response.text();
  return { status: response.status, etag: response.headers.get('etag'), text, body: (text === '' ? {} : JSON.parse(text)) as Answer['body'] };
}
const workspacePath = (id = workspaceId, org = orgId): string => `/internal/workspaces/${id}?org_id=${org}`;

t.test('a running workspace, with the secrets that its policy names and no other', async (t) => {
  const { status, body, etag } = await ask(workspacePath());
  t.equal(status, 200);
  t.same(body, {
    id: workspaceId, org_id: orgId, created_by: 'user_1', agent_role_id: agentRoleId, agent_role: 'coder', agent_provider: 'llm', environment: 'staging', enforcement: 'enforce',
    retention_days: 90, state: 'running', caps: '- caps\n', secrets: { token: planted }, event_schemas: { tool_call: { type: 'object' } }, version: body['version'],
  });
  t.equal(etag, `"${String(body['version'])}"`);
});

t.test('If-None-Match: 304 without a body until something changes', async (t) => {
  const first = await ask(workspacePath());
  const again = { authorization: `Bearer ${serviceToken}`, 'if-none-match': first.etag ?? '' };
  t.match(await ask(workspacePath(), again), { status: 304, text: '', etag: first.etag });
  t.equal((await ask(workspacePath(), { ...again, 'if-none-match': '"another"' })).status, 200);
  await stores.secrets.putSecret({ ...who, name: 'token', value: new Secret(`${planted}2`) });
  const changed = await ask(workspacePath(), again);
  t.match(changed, { status: 200, body: { secrets: { token: `${planted}2` } } });
  await stores.policies.setCaps({ ...who, agentRoleId, caps: null });
  t.match(await ask(workspacePath(), { ...again, 'if-none-match': changed.etag ?? '' }), { status: 200, body: { caps: null, secrets: {} } });
  await stores.policies.setCaps({ ...who, agentRoleId, caps: { text: '- caps\n', secretKeys: ['token'] } });
});

t.test('without the service token nothing is answered, on any path', async (t) => {
  const wrong: Record<string, string>[] = [
    {}, { authorization: '' }, { authorization: 'Bearer' }, { authorization: `Bearer ${serviceToken}x` }, { authorization: `Bearer ${serviceToken.slice(0, -1)}` },
    { authorization: `Basic ${serviceToken}` }, { authorization: serviceToken }, { authorization: `Bearer ${serviceToken} ${serviceToken}` },
  ];
  for (const headers of wrong) {
    for (const path of [workspacePath(), `/internal/credentials/x?org_id=${orgId}`, '/nothing', '/healthz']) {
      const { status, body, text } = await ask(path, headers);
      t.equal(status, 401, `${path} ${JSON.stringify(headers)}`);
      t.equal(body.error?.code, 'unauthenticated');
      t.notMatch(text, planted);
    }
  }
});

t.test('404 for everything that is not a running workspace of the org', async (t) => {
  const absent = [
    workspacePath(uuidv7()), workspacePath(workspaceId, otherOrgId), workspacePath('no-id'), workspacePath(workspaceId, 'no-id'), workspacePath('%00'), `/internal/workspaces/${workspaceId}`,
    `${workspacePath()}&org_id=${orgId}`, workspacePath(workspaceId.toUpperCase()), workspacePath(`${workspaceId}'`),
  ];
  for (const path of absent) t.match(await ask(path), { status: 404, body: { error: { code: 'workspace_not_found' } } }, path);
  for (const column of ['stopped_at', 'archived_at']) {
    await inOrg(sql, orgId, (tx) => tx`update workspaces set ${tx(column)} = now() where org_id = ${orgId} and id = ${workspaceId}`);
    t.equal((await ask(workspacePath())).status, 404, column);
    await inOrg(sql, orgId, (tx) => tx`update workspaces set ${tx(column)} = null where org_id = ${orgId} and id = ${workspaceId}`);
  }
  for (const path of ['/', '/internal', '/internal/workspaces', '/v1/audit', '/internal/workspaces/', `/internal/workspaces/${'a'.repeat(5000)}?org_id=${orgId}`, '/internal/workspaces/%zz']) {
    t.match((await ask(path)).body.error?.code, /^(not_found|workspace_not_found|validation_error)$/, path.slice(0, 60));
  }
  t.equal((await ask(workspacePath(), undefined, 'POST')).status, 404);
  t.equal((await ask(workspacePath(), undefined, 'DELETE')).status, 404);
});

t.test('credentials', async (t) => {
  const { status, body } = await ask(`/internal/credentials/${encodeURIComponent('GitHub / bot')}?org_id=${orgId}`);
  t.equal(status, 200);
  t.same(body, { id: body['id'], org_id: orgId, name: 'GitHub / bot', provider: 'github', kind: 'api_key', scopes: ['repo'], provider_config: { hint: 1 }, status: 'active', material: `${planted}-material` });
  for (const path of [`/internal/credentials/other?org_id=${orgId}`, `/internal/credentials/${encodeURIComponent('GitHub / bot')}?org_id=${otherOrgId}`, `/internal/credentials/a%00b?org_id=${orgId}`, '/internal/credentials/x']) {
    t.match(await ask(path), { status: 404, body: { error: { code: 'not_found' } } }, path);
  }
});

t.test('a value that does not open is an error of the service, never an answer without it', async (t) => {
  const keyless = { ...deps, sealer: createSealer(generateSecretsKey()) };
  const other = await startInternalApi({ policies: stores.policies, secrets: createSecretStore(keyless), credentials: createCredentialStore(keyless), retentionDays: 30, serviceToken, logger }, { host: '127.0.0.1', port: 0 });
  t.teardown(() => other.stop(0));
  for (const path of [workspacePath(), `/internal/credentials/${encodeURIComponent('GitHub / bot')}?org_id=${orgId}`]) {
    const response = await fetch(`${other.url}${path}`, { headers: { authorization: `Bearer ${serviceToken}` } });
    t.match([response.status, await response.json()], [503, { error: { code: 'auth_disabled', details: { sealing: 'unknown_key' } } }]);
  }
});

t.test('started from the settings: not at all without a token, on loopback by default', async (t) => {
  t.equal(await startInternal(readSettings({}), sql, logger), undefined);
  t.match(lines.join(''), 'INTERNAL_TOKEN is not set');
  const running = await startInternal(readSettings({ INTERNAL_TOKEN: serviceToken, INTERNAL_PORT: '0' }), sql, logger);
  t.match(running?.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const response = await fetch(`${running?.url}${workspacePath()}`, { headers: { authorization: `Bearer ${serviceToken}` } });
  t.match([response.status, await response.json()], [503, { error: { code: 'auth_disabled' } }], 'without SECRETS_KEY a workspace that needs a secret is not served');
  await running?.stop(1000);
  await t.rejects(fetch(`${running?.url}/`));
});

t.test('no secret and no token is in the log, also when an object that holds one is logged', async (t) => {
  await ask(workspacePath());
  logger.info({ answer: { secrets: { token: planted }, material: planted, sealed: planted }, secrets: { token: planted }, material: planted }, 'by mistake');
  const log = lines.join('');
  t.match(log, '"msg":"internal request"');
  t.match(log, '"by mistake"');
  t.match(log, '[redacted]');
  t.notMatch(log, planted);
  t.notMatch(log, serviceToken);
});
