import t from 'tap';
import { createSealer, generateSecretsKey } from '../../../src/identity/sealing.ts';
import { uuidv7 } from '../../../src/kernel/ids.ts';
import type { Invalidation } from '../../../src/kernel/invalidation.ts';
import { Secret } from '../../../src/kernel/secret.ts';
import { createAgentRoleStore } from '../../../src/store/pg/agent-roles.ts';
import { createCredentialStore, materialBytesMax } from '../../../src/store/pg/credentials.ts';
import { createOrgStore } from '../../../src/store/pg/orgs.ts';
import { createOutbox } from '../../../src/store/pg/outbox.ts';
import { createProviderStore } from '../../../src/store/pg/providers.ts';
import { inOrg } from '../../../src/store/pg/scope.ts';
import { createSecretStore, secretBytesMax } from '../../../src/store/pg/secrets.ts';
import { capsBytesMax, createWorkspacePolicyStore } from '../../../src/store/pg/workspace-policies.ts';
import { createWorkspaceStore } from '../../../src/store/pg/workspaces.ts';
import { startStack } from '../../support/stack.ts';
import { openDatabase } from './database.ts';

const stack = await startStack(t, { postgres: true });
const sql = await openDatabase(t, stack);
const published: Invalidation[] = [];
const outbox = createOutbox({ mode: 'refuse', retentionDays: 30 });
const sealer = createSealer(generateSecretsKey());
const deps = { sql, outbox, sealer, publish: async (message: Invalidation): Promise<void> => void published.push(message) };
const policies = createWorkspacePolicyStore(deps);
const secrets = createSecretStore(deps);
const credentials = createCredentialStore(deps);

async function makeOrg(name: string): Promise<{ orgId: string; userId: string; agentRoleId: string; workspaceId: string }> {
  const { id: orgId } = await createOrgStore(sql).create({ name });
  const who = { orgId, userId: 'user_1' };
  const { id: providerId } = await createProviderStore(deps).create({ ...who, name: 'llm', displayName: 'LLM', kind: 'llm', domain: 'llm.example.com' });
  const { id: agentRoleId } = await createAgentRoleStore(deps).create({ ...who, name: 'coder', displayName: 'Coder', providerId, model: 'm' });
  const { id: workspaceId } = await createWorkspaceStore(deps).create({ ...who, agentRoleId });
  return { ...who, agentRoleId, workspaceId };
}
const [a, b] = [await makeOrg('a'), await makeOrg('b')];

/** Audit rows of an org since the last call, and messages since then. */
const seen = new Map<string, number>();
async function changes(orgId: string): Promise<{ rows: { event_type: string; user_id: string; detail: unknown }[]; messages: Invalidation[] }> {
  const lines = await inOrg(sql, orgId, (tx) => tx<{ id: number; line: string }[]>`select id, line from audit_outbox where org_id = ${orgId} and id > ${seen.get(orgId) ?? 0} order by id`);
  seen.set(orgId, lines.at(-1)?.id ?? seen.get(orgId) ?? 0);
  const rows = lines.map(({ line }) => JSON.parse(line) as { event_type: string; user_id: string; detail: unknown });
  return { rows: rows.map(({ event_type, user_id, detail }) => ({ event_type, user_id, detail: typeof detail === 'string' ? JSON.parse(detail) as unknown : detail })), messages: published.splice(0) };
}
async function running(): Promise<NonNullable<Awaited<ReturnType<typeof policies.runningWorkspace>>>> {
  const found = await policies.runningWorkspace(a.orgId, a.workspaceId);
  if (found === undefined) throw new Error('the workspace does not run');
  return found;
}

t.test('a role without a document, and one that is attached, changed and detached', async (t) => {
  const bare = await running();
  t.match(bare, { id: a.workspaceId, orgId: a.orgId, createdBy: 'user_1', agentRoleId: a.agentRoleId, agentRole: 'coder', agentProvider: 'llm', environment: '', enforcement: 'enforce', secretKeys: [], eventSchemas: {} });
  t.equal(bare.caps, undefined);
  t.equal(bare.retentionDays, undefined);
  await changes(a.orgId);

  t.equal(await policies.setCaps({ ...a, caps: { text: '- name: one\n', secretKeys: ['token'] } }), true);
  const attached = await running();
  t.match(attached, { caps: '- name: one\n', secretKeys: ['token'] });
  t.not(attached.version, bare.version);
  const { rows, messages } = await changes(a.orgId);
  t.match(rows, [{ event_type: 'agent_role_updated', user_id: 'user_1', detail: { resource_id: a.agentRoleId, name: 'coder', patched_fields: ['caps'] } }]);
  t.same(messages, [{ kind: 'agent_role_changed', orgId: a.orgId, agentRoleId: a.agentRoleId }]);

  const eventSchemas = { tool_call: { type: 'object', required: ['tool'] } };
  t.equal(await policies.changeRolePolicy(a, { environment: 'staging', enforcement: 'report', eventSchemas }), true);
  t.match(await running(), { caps: '- name: one\n', environment: 'staging', enforcement: 'report', eventSchemas }, 'the document stays');
  t.match((await changes(a.orgId)).rows, [{ detail: { patched_fields: ['environment', 'enforcement', 'agent_event_schemas'] } }]);

  t.equal(await policies.setCaps({ ...a, caps: null }), true);
  t.match(await running(), { secretKeys: [], environment: 'staging' });
  t.equal((await running()).caps, undefined);
});

t.test('the document is kept as it was written, and has a largest size', async (t) => {
  const text = `# ünïcode \u{1F512} \t "quotes" \\n\r\n${'x'.repeat(1000)}\n\n`;
  await policies.setCaps({ ...a, caps: { text, secretKeys: [] } });
  t.equal((await running()).caps, text);
  await policies.setCaps({ ...a, caps: { text: 'ü'.repeat(capsBytesMax / 2), secretKeys: [] } });
  await t.rejects(policies.setCaps({ ...a, caps: { text: `${'ü'.repeat(capsBytesMax / 2)}x`, secretKeys: [] } }), RangeError);
  await t.rejects(policies.setCaps({ ...a, caps: { text: '', secretKeys: [] } }), RangeError);
  published.splice(0);
});

t.test('another org\'s role and workspace are not there', async (t) => {
  await changes(a.orgId);
  await changes(b.orgId);
  for (const agentRoleId of [a.agentRoleId, uuidv7(), 'no id']) t.equal(await policies.setCaps({ ...b, agentRoleId, caps: { text: 'x', secretKeys: [] } }), false);
  t.same(await changes(b.orgId), { rows: [], messages: [] }, 'nothing happened, nobody is told');
  for (const [orgId, id] of [[b.orgId, a.workspaceId], [a.orgId, b.workspaceId], [a.orgId, uuidv7()], [a.orgId, 'no id'], ['no id', a.workspaceId]] as const) {
    t.equal(await policies.runningWorkspace(orgId, id), undefined, `${orgId} ${id}`);
  }
});

t.test('a stopped or archived workspace does not run', async (t) => {
  for (const column of ['stopped_at', 'archived_at']) {
    await inOrg(sql, a.orgId, (tx) => tx`update workspaces set ${tx(column)} = now() where org_id = ${a.orgId} and id = ${a.workspaceId}`);
    t.equal(await policies.runningWorkspace(a.orgId, a.workspaceId), undefined, column);
    await inOrg(sql, a.orgId, (tx) => tx`update workspaces set ${tx(column)} = null where org_id = ${a.orgId} and id = ${a.workspaceId}`);
    t.ok(await policies.runningWorkspace(a.orgId, a.workspaceId));
  }
});

t.test('secrets: put, replaced, opened by name, deleted; each change moves the version of workspaces that use it', async (t) => {
  await changes(a.orgId);
  await policies.setCaps({ ...a, caps: { text: 'caps', secretKeys: ['token', 'absent'] } });
  const before = await running();
  await secrets.putSecret({ ...a, name: 'token', value: new Secret('one') });
  await secrets.putSecret({ ...b, name: 'token', value: new Secret('of b') });
  const put = await running();
  t.not(put.version, before.version);
  await secrets.putSecret({ ...a, name: 'unused', value: new Secret('unused') });
  t.equal((await running()).version, put.version, 'a secret it does not name is no change');
  await secrets.putSecret({ ...a, name: 'token', value: new Secret('one') });
  t.not((await running()).version, put.version, 'put again, even with the same value');
  await secrets.putSecret({ ...a, name: 'token', value: new Secret('two') });
  const opened = await secrets.openSecrets(a.orgId, ['token', 'absent']);
  t.same([...opened].map(([name, value]) => [name, value.reveal()]), [['token', 'two']]);
  t.same(await secrets.secretNames(a.orgId), ['token', 'unused']);
  t.equal((await secrets.openSecrets(a.orgId, [])).size, 0);

  const { rows, messages } = await changes(a.orgId);
  t.match(rows.slice(1), [{ event_type: 'secret_created', detail: { resource_id: 'token', name: 'token' } }, { detail: { name: 'unused' } }, { detail: { name: 'token' } }, { detail: { name: 'token' } }]);
  t.equal(messages.filter((message) => message.kind === 'secrets_changed' && message.orgId === a.orgId).length, 4);
  t.equal(await secrets.deleteSecret({ ...a, name: 'token' }), true);
  t.equal(await secrets.deleteSecret({ ...a, name: 'token' }), false);
  t.equal((await running()).version, before.version);
  t.match(await changes(a.orgId), { rows: [{ event_type: 'secret_deleted', detail: { resource_id: 'token', name: 'token' } }], messages: [{ kind: 'secrets_changed', orgId: a.orgId }] });
  t.equal((await secrets.openSecrets(b.orgId, ['token'])).get('token')?.reveal(), 'of b', 'the other org keeps its own');
});

t.test('names and sizes of secrets', async (t) => {
  for (const name of ['_x', '1x', '', 'a b', 'a.b', 'a'.repeat(65), '__proto__']) await t.rejects(secrets.putSecret({ ...a, name, value: new Secret('v') }), RangeError, name);
  await t.rejects(secrets.putSecret({ ...a, name: 'a', value: new Secret('') }), RangeError);
  await t.rejects(secrets.putSecret({ ...a, name: 'a', value: new Secret('v'.repeat(secretBytesMax + 1)) }), RangeError);
  await secrets.putSecret({ ...a, name: 'a'.repeat(64), value: new Secret('v'.repeat(secretBytesMax)) });
});

t.test('credentials: put, replaced, opened', async (t) => {
  await changes(a.orgId);
  const credential = { ...a, name: 'GitHub bot', provider: 'github', kind: 'api_key', material: new Secret('first') } as const;
  const { id } = await credentials.putCredential(credential);
  t.match(await credentials.openCredential(a.orgId, 'GitHub bot'), { id, provider: 'github', kind: 'api_key', scopes: [], providerConfig: {}, status: 'active' });
  t.same(await credentials.putCredential({ ...credential, kind: 'basic_auth', scopes: ['repo'], providerConfig: { username: 'bot' }, material: new Secret('second') }), { id }, 'the id stays');
  const opened = await credentials.openCredential(a.orgId, 'GitHub bot');
  t.match(opened, { kind: 'basic_auth', scopes: ['repo'], providerConfig: { username: 'bot' } });
  t.equal(opened?.material?.reveal(), 'second');
  t.equal(await credentials.openCredential(b.orgId, 'GitHub bot'), undefined);
  t.equal(await credentials.openCredential(a.orgId, 'other'), undefined);
  const { rows, messages } = await changes(a.orgId);
  t.match(rows, [{ event_type: 'credential_created', detail: { resource_id: id, name: 'GitHub bot', provider: 'github', kind: 'api_key', scopes: [], status: 'active' } }, { detail: { kind: 'basic_auth', scopes: ['repo'] } }]);
  t.same(messages, Array.from({ length: 2 }, () => ({ kind: 'credential_changed', orgId: a.orgId, name: 'GitHub bot' })));
  await t.rejects(credentials.putCredential({ ...credential, name: '' }), RangeError);
  await t.rejects(credentials.putCredential({ ...credential, material: new Secret('x'.repeat(materialBytesMax + 1)) }), RangeError);
  await credentials.putCredential({ ...credential, name: 'large', material: new Secret('x'.repeat(materialBytesMax)) });
});

t.test('what lies in the database opens nowhere else, and is not the value', async (t) => {
  await secrets.putSecret({ ...a, name: 'planted', value: new Secret('planted-secret-value') });
  await credentials.putCredential({ ...a, name: 'planted', provider: 'github', kind: 'api_key', material: new Secret('planted-secret-value') });
  await inOrg(sql, b.orgId, async (tx) => {
    const [row] = await inOrg(sql, a.orgId, (other) => other<{ sealed: Uint8Array }[]>`select sealed from secrets where org_id = ${a.orgId} and name = 'planted'`);
    await tx`insert into secrets (org_id, name, sealed, created_by) values (${b.orgId}, 'planted', ${row?.sealed ?? Buffer.alloc(1)}, 'thief')`;
  });
  await t.rejects(secrets.openSecrets(b.orgId, ['planted']), { code: 'damaged' });
  for (const orgId of [a.orgId, b.orgId]) {
    const everything = await inOrg(sql, orgId, async (tx) => JSON.stringify([
      await tx`select encode(sealed, 'escape') as sealed, s.* from secrets s`, await tx`select encode(sealed, 'escape') as sealed, c.* from credentials c`, await tx`select * from audit_outbox`,
    ]));
    t.notMatch(everything, 'planted-secret-value');
  }
});

t.test('row-level security: another org\'s scope sees and writes nothing', async (t) => {
  for (const table of ['secrets', 'credentials']) {
    const rows = await inOrg(sql, b.orgId, (tx) => tx`select org_id from ${tx(table)} where org_id = ${a.orgId}`);
    t.same(rows, [], table);
    t.same(await sql`select 1 from ${sql(table)}`, [], `${table} without a scope`);
  }
  await t.rejects(inOrg(sql, b.orgId, (tx) => tx`insert into secrets (org_id, name, sealed, created_by) values (${a.orgId}, 'x', '\\x00', 'b')`), /row-level security/);
});

t.test('without a key nothing can be put, and the document still can', async (t) => {
  const keyless = { ...deps, sealer: createSealer(undefined) };
  await t.rejects(createSecretStore(keyless).putSecret({ ...a, name: 'x', value: new Secret('v') }), { code: 'no_key' });
  t.equal(await createWorkspacePolicyStore(keyless).setCaps({ ...a, caps: { text: 'caps', secretKeys: [] } }), true);
  t.ok(await policies.runningWorkspace(a.orgId, a.workspaceId));
});
