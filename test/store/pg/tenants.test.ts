import t from 'tap';
import { InvalidEventError } from '../../../src/events/emitter.ts';
import { platformOrgId, uuidv7 } from '../../../src/kernel/ids.ts';
import { createAgentRoleStore } from '../../../src/store/pg/agent-roles.ts';
import { createApiKeyStore } from '../../../src/store/pg/api-keys.ts';
import { connectPostgres } from '../../../src/store/pg/connect.ts';
import { createMembershipStore } from '../../../src/store/pg/memberships.ts';
import { createOrgStore } from '../../../src/store/pg/orgs.ts';
import { createOutbox } from '../../../src/store/pg/outbox.ts';
import { createProviderStore } from '../../../src/store/pg/providers.ts';
import { acrossOrgs, inOrg, rowSecurityBinds } from '../../../src/store/pg/scope.ts';
import { createWorkspaceStore } from '../../../src/store/pg/workspaces.ts';
import { startStack } from '../../support/stack.ts';
import { openDatabase } from './database.ts';

t.test('tenant stores', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const sql = await openDatabase(t, stack);
  const outbox = createOutbox({ mode: 'refuse', retentionDays: 400 });
  const orgs = createOrgStore(sql);
  const keys = createApiKeyStore({ sql, outbox });
  const memberships = createMembershipStore({ sql, outbox });
  const providers = createProviderStore({ sql, outbox });
  const roles = createAgentRoleStore({ sql, outbox });
  const workspaces = createWorkspaceStore({ sql, outbox });

  async function seed(name: string) {
    const org = await orgs.create({ name, retentionDays: 30 });
    const userId = `user_${name}`;
    const member = await memberships.add({ orgId: org.id, userId, email: `${name}@example.com`, role: 'owner', invitedBy: 'system' });
    const provider = await providers.create({ orgId: org.id, userId, name: 'acme', displayName: 'Acme', kind: 'llm', domain: 'acme.example' });
    const role = await roles.create({ orgId: org.id, userId, name: 'writer', displayName: 'Writer', providerId: provider.id, model: 'm1' });
    const workspace = await workspaces.create({ orgId: org.id, userId, agentRoleId: role.id });
    const prefix = `ch_${name.padEnd(8, '0')}`;
    const key = await keys.create({ orgId: org.id, userId, label: 'ci', prefix, hash: 'a'.repeat(64), permissionSet: 'full' });
    return { org, userId, member, provider, role, workspace, key, prefix };
  }
  const a = await seed('a');
  const b = await seed('b');
  const lines = async (orgId: string): Promise<Record<string, unknown>[]> => {
    const rows = await acrossOrgs(sql, (tx) => tx<{ line: string }[]>`select line from audit_outbox where org_id = ${orgId} order by id`);
    return rows.map(({ line }) => {
      const row = JSON.parse(line) as Record<string, unknown>;
      return { ...row, detail: JSON.parse(row['detail'] as string) as unknown };
    });
  };

  t.test('look-ups', async (t) => {
    t.same(await orgs.orgById(a.org.id), { id: a.org.id, name: 'a', state: 'active', retentionDays: 30 });
    t.equal(await orgs.orgById(uuidv7()), undefined);
    t.equal((await orgs.orgById(platformOrgId))?.name, 'platform', 'the platform org is seeded');
    t.same(await memberships.membershipsOf(a.userId), [{ orgId: a.org.id, role: 'owner' }]);
    t.same(await memberships.membershipsOf(''), [], 'pending invitations are nobody\'s');
    t.match(await keys.apiKeyByPrefix(b.prefix), { id: b.key.id, orgId: b.org.id, permissionSet: 'full', revokedAt: undefined });
    t.equal(await keys.apiKeyByPrefix('ch_nothere0'), undefined);
    t.match(await workspaces.workspaceById(a.org.id, a.workspace.id), { orgId: a.org.id, createdBy: a.userId, agentRole: 'writer', agentProvider: 'acme', archivedAt: undefined });
    t.equal(await workspaces.workspaceById(a.org.id, b.workspace.id), undefined, 'another org\'s workspace is unknown');
    t.equal(await workspaces.workspaceById(a.org.id, 'no id'), undefined);
    t.match(await workspaces.workspaceOfAnyOrg(b.workspace.id), { orgId: b.org.id });
    t.same(await workspaces.workspaceIdsCreatedBy(a.org.id, a.userId), [a.workspace.id]);
    t.same(await workspaces.workspaceIdsCreatedBy(a.org.id, b.userId), []);
    t.match(a.workspace.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  t.test('each mutation leaves its audit row with the keys of the contract', async (t) => {
    const rows = await lines(a.org.id);
    t.same(rows.map((row) => row['event_type']), ['membership_invited', 'membership_accepted', 'provider_created', 'agent_role_created', 'workspace_created', 'api_key_created']);
    t.ok(rows.every((row) => row['retention_days'] === 30 && !('source_seq' in row)));
    const detail = (type: string): unknown => rows.find((row) => row['event_type'] === type)?.['detail'];
    t.same(detail('provider_created'), { resource_id: a.provider.id, name: 'acme', display_name: 'Acme', kind: 'llm', domain: 'acme.example' });
    t.same(detail('agent_role_created'), { resource_id: a.role.id, name: 'writer', display_name: 'Writer', provider_id: a.provider.id, model: 'm1' });
    t.same(detail('workspace_created'), { forked: false });
    t.same(detail('api_key_created'), { resource_id: a.key.id, label: 'ci', prefix: a.prefix, permission_set: 'full' });
    t.match(rows[4], { workspace_id: a.workspace.id, agent_role: 'writer', agent_provider: 'acme', user_id: a.userId, category: 'activity' });
    t.match(rows[1], { user_id: 'system', detail: { workos_user_id: a.userId } });
  });

  t.test('revoking a key works once and leaves one row', async (t) => {
    const prefix = 'ch_revoked0';
    const { id } = await keys.create({ orgId: a.org.id, userId: a.userId, label: 'old', prefix, hash: 'b'.repeat(64), permissionSet: 'audit' });
    t.equal(await keys.revoke({ orgId: b.org.id, userId: b.userId, id }), false, 'not from another org');
    t.equal(await keys.revoke({ orgId: a.org.id, userId: a.userId, id }), true);
    t.equal(await keys.revoke({ orgId: a.org.id, userId: a.userId, id }), false);
    t.type((await keys.apiKeyByPrefix(prefix))?.revokedAt, 'string');
    const revoked = (await lines(a.org.id)).filter((row) => row['event_type'] === 'api_key_revoked');
    t.same(revoked.map((row) => row['detail']), [{ resource_id: id, label: 'old', prefix, permission_set: 'audit' }]);
  });

  t.test('a mutation and its row commit together or not at all', async (t) => {
    const before = (await lines(a.org.id)).length;
    await t.rejects(inOrg(sql, a.org.id, async (tx) => {
      await outbox.append(tx, [{ event_type: 'secret_created', org_id: a.org.id, user_id: a.userId, detail: { resource_id: 's', name: 's' } }]);
      throw new Error('the mutation failed');
    }), { message: 'the mutation failed' });
    t.equal((await lines(a.org.id)).length, before, 'a rolled back mutation has no row');

    const id = uuidv7();
    await t.rejects(inOrg(sql, a.org.id, async (tx) => {
      await tx`insert into providers (id, org_id, name, display_name, kind, domain) values (${id}, ${a.org.id}, 'x', 'X', 'k', 'd')`;
      await outbox.append(tx, [{ event_type: 'provider_created', org_id: a.org.id, user_id: a.userId, detail: { resource_id: id } }]);
    }), InvalidEventError);
    t.same(await acrossOrgs(sql, (tx) => tx`select id from providers where id = ${id}`), [], 'a mutation without a sound row is undone');
  });

  t.test('a role cannot be tied to a provider of another org', async (t) => {
    await t.rejects(roles.create({ orgId: a.org.id, userId: a.userId, name: 'y', displayName: 'Y', providerId: b.provider.id, model: 'm' }), { code: '23503' });
  });

  t.test('row-level security holds when a predicate is wrong', async (t) => {
    t.equal(await rowSecurityBinds(sql), true);
    const tables = ['memberships', 'providers', 'agent_roles', 'workspaces', 'api_keys', 'audit_outbox'];
    for (const table of tables) {
      const seen = await inOrg(sql, a.org.id, (tx) => tx<{ org_id: string }[]>`select org_id from ${tx(table)} where org_id = ${b.org.id} or true`);
      t.ok(seen.length > 0 && seen.every((row) => row.org_id === a.org.id), `${table}: only rows of the session's org`);
      t.same(await sql`select org_id from ${sql(table)}`, [], `${table}: nothing without a scope`);
      const changed = await inOrg(sql, a.org.id, (tx) => tx`delete from ${tx(table)} where org_id = ${b.org.id}`);
      t.equal(changed.count, 0, `${table}: another org's rows cannot be deleted`);
    }
    t.same(await inOrg(sql, a.org.id, (tx) => tx`select id from orgs`), [{ id: a.org.id }]);
    await t.rejects(inOrg(sql, a.org.id, (tx) => tx`
      insert into providers (id, org_id, name, display_name, kind, domain) values (${uuidv7()}, ${b.org.id}, 'z', 'Z', 'k', 'd')`), { code: '42501' });
    t.throws(() => inOrg(sql, '*', async () => 1), RangeError);
    const covered = await sql<{ relname: string }[]>`select relname from pg_class where relrowsecurity and relforcerowsecurity order by relname`;
    const withOrg = await sql<{ table_name: string }[]>`select table_name from information_schema.columns where column_name = 'org_id' and table_schema = 'public' and table_name <> 'dead_letters' order by table_name`;
    t.same(covered.map((row) => row.relname), [...withOrg.map((row) => row.table_name), 'orgs'].sort(), 'every table with an org_id is bound');
  });

  t.test('the scope ends with its transaction', async (t) => {
    const one = connectPostgres({ url: stack.postgresUrl, poolMax: 1, applicationName: 'test' });
    t.teardown(() => one.end());
    await inOrg(one, a.org.id, (tx) => tx`select 1`);
    t.same(await one`select id from orgs`, []);
  });
});

t.test('a database that does not answer gives dependency_unavailable', async (t) => {
  const sql = connectPostgres({ url: 'postgres://customhouse@127.0.0.1:1/customhouse', poolMax: 1, applicationName: 'test', connectTimeoutMs: 500 });
  t.teardown(() => sql.end({ timeout: 0 }));
  await t.rejects(createOrgStore(sql).orgById(platformOrgId), { name: 'AppError', code: 'dependency_unavailable', details: { dependency: 'postgres' } });
});
