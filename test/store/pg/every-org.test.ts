import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { platformOrgId } from '../../../src/kernel/ids.ts';
import { connectPostgres, seesEveryOrg } from '../../../src/store/pg/connect.ts';
import { migratePostgres } from '../../../src/store/pg/migrate.ts';
import { createOrgStore } from '../../../src/store/pg/orgs.ts';
import { inOrg } from '../../../src/store/pg/scope.ts';
import { startStack } from '../../support/stack.ts';

t.test('a pool for look-ups sees every org without a transaction; an ordinary one sees none outside of its scope', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const plain = connectPostgres({ url: stack.postgresUrl, poolMax: 1, applicationName: 'plain' });
  const lookups = connectPostgres({ url: stack.postgresUrl, poolMax: 1, applicationName: 'look-ups', everyOrg: true });
  t.teardown(() => Promise.all([plain.end({ timeout: 1 }), lookups.end({ timeout: 1 })]));
  await migratePostgres(plain, { dir: join(import.meta.dirname, '../../../sql') });
  const { id } = await createOrgStore(plain).create({ name: 'one' });

  t.equal(seesEveryOrg(lookups), true);
  t.equal(seesEveryOrg(plain), false);
  t.same((await createOrgStore(lookups).list()).map((org) => org.id).sort(), [platformOrgId, id].sort());
  t.same(await plain`select id from orgs`, [], 'row-level security hides what no scope was set for');
  t.same((await inOrg(lookups, id, (tx) => tx<{ id: string }[]>`select id from orgs`)).map((org) => org.id), [id], 'a scope narrows it');
  const [backend] = await lookups<{ pid: number }[]>`select pg_backend_pid() as pid`;
  await plain`select pg_terminate_backend(${backend?.pid ?? 0})`;
  // The first call after the loss may still meet the dead connection; the bound is the test's own.
  let again: unknown[] | undefined;
  while (again === undefined) again = await createOrgStore(lookups).list().catch(() => sleep(20, undefined));
  t.equal(again.length, 2, 'also on a connection made anew');
});
