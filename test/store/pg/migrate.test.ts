import { cp, mkdtemp, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { connectPostgres } from '../../../src/store/pg/connect.ts';
import type { Sql } from '../../../src/store/pg/connect.ts';
import { MigrationError } from '../../../src/store/pg/migration-files.ts';
import { migratePostgres } from '../../../src/store/pg/migrate.ts';
import { startStack } from '../../support/stack.ts';

const shipped = join(import.meta.dirname, '../../../sql');

t.test('migrations', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const admin = connectPostgres({ url: stack.postgres.current.adminUrl, poolMax: 1, applicationName: 'test' });
  t.teardown(() => admin.end());
  let count = 0;

  /** A database of its own for each subtest. */
  async function freshDatabase(): Promise<Sql> {
    count += 1;
    await admin`create database ${admin(`migrate${count}`)} owner customhouse`;
    const url = new URL(stack.postgresUrl);
    url.pathname = `/migrate${count}`;
    const sql = connectPostgres({ url: url.href, poolMax: 4, applicationName: 'test' });
    t.teardown(() => sql.end({ timeout: 1 }));
    return sql;
  }
  async function folder(files: Record<string, string>): Promise<string> {
    const dir = await mkdtemp(join(stack.dir, 'sql-'));
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(dir, name), text)));
    return dir;
  }
  const states = (result: readonly { state: string }[]): string[] => result.map((row) => row.state);

  t.test('a dry run changes nothing, a run applies all, a second one nothing', async (t) => {
    const sql = await freshDatabase();
    const dry = await migratePostgres(sql, { dir: shipped, dryRun: true });
    t.ok(dry.length >= 2 && dry.every((row) => row.state === 'pending'));
    t.same(await sql`select table_name from information_schema.tables where table_schema = 'public'`, []);
    t.ok((await migratePostgres(sql, { dir: shipped })).every((row) => row.state === 'applied'));
    t.ok((await migratePostgres(sql, { dir: shipped })).every((row) => row.state === 'present'));
    t.ok((await migratePostgres(sql, { dir: shipped, dryRun: true })).every((row) => row.state === 'present'));
  });

  t.test('migrators at once apply each file once', async (t) => {
    const sql = await freshDatabase();
    const results = await Promise.all([1, 2, 3].map(() => migratePostgres(sql, { dir: shipped })));
    t.equal(results.filter((result) => result.every((row) => row.state === 'applied')).length, 1);
    t.equal(results.filter((result) => result.every((row) => row.state === 'present')).length, 2);
  });

  t.test('a changed, renamed or missing applied file is refused by name', async (t) => {
    const sql = await freshDatabase();
    const dir = await folder({ '001_a.sql': 'create table a (x int);', '002_b.sql': 'create table b (x int);' });
    t.same(states(await migratePostgres(sql, { dir })), ['applied', 'applied']);
    const changed = await mkdtemp(join(stack.dir, 'sql-'));
    await cp(dir, changed, { recursive: true });
    await writeFile(join(changed, '001_a.sql'), 'create table a (x bigint);');
    await t.rejects(migratePostgres(sql, { dir: changed }), { name: 'MigrationError', message: /001_a\.sql was changed after it was applied/ });
    await t.rejects(migratePostgres(sql, { dir: changed, dryRun: true }), MigrationError);
    const renamed = await mkdtemp(join(stack.dir, 'sql-'));
    await cp(dir, renamed, { recursive: true });
    await rename(join(renamed, '002_b.sql'), join(renamed, '002_c.sql'));
    await t.rejects(migratePostgres(sql, { dir: renamed }), { message: /002_c\.sql: number 2 was applied as 002_b\.sql/ });
    const older = await folder({ '001_a.sql': 'create table a (x int);' });
    await t.rejects(migratePostgres(sql, { dir: older }), { message: /002_b\.sql, which this version does not know/ });
  });

  t.test('gaps, numbers used twice and other names are refused', async (t) => {
    const sql = await freshDatabase();
    await t.rejects(migratePostgres(sql, { dir: await folder({ '001_a.sql': '', '003_c.sql': '' }) }), { message: /003_c\.sql: expected number 002/ });
    await t.rejects(migratePostgres(sql, { dir: await folder({ '001_a.sql': '', '001_b.sql': '' }) }), { message: /001_b\.sql: expected number 002/ });
    await t.rejects(migratePostgres(sql, { dir: await folder({ 'first.sql': '' }) }), { message: /first\.sql/ });
    await t.rejects(migratePostgres(sql, { dir: await folder({}) }), { message: /no \.sql file/ });
  });

  t.test('a file that fails leaves nothing of its run behind', async (t) => {
    const sql = await freshDatabase();
    const dir = await folder({ '001_a.sql': 'create table a (x int);', '002_b.sql': 'create table b (x nonsense);' });
    await t.rejects(migratePostgres(sql, { dir }), { name: 'MigrationError', message: /002_b\.sql: .*nonsense/ });
    t.same(await sql`select table_name from information_schema.tables where table_schema = 'public'`, []);
  });
});
