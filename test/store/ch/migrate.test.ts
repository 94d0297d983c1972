import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { connectClickHouse } from '../../../src/store/ch/connection.ts';
import { migrateClickHouse } from '../../../src/store/ch/migrate.ts';
import { renderMigration, splitStatements } from '../../../src/store/ch/migration-template.ts';
import { readMigrations } from '../../../src/store/pg/migration-files.ts';
import { startStack } from '../../support/stack.ts';
import { connect, migrationsDir } from './audit-table.ts';

/** One at a time, as the lock in Postgres makes it. */
function createLock() {
  let turn: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };
}

t.test('migrations', async (t) => {
  const stack = await startStack(t, { clickhouse: true });
  const clickhouse = connect(stack.clickhouseUrl);
  t.teardown(() => clickhouse.close());
  const tables = async () => {
    const result = await clickhouse.client.query({ query: `SELECT name FROM system.tables WHERE database = 'customhouse' ORDER BY name`, format: 'JSONEachRow' });
    return (await result.json<{ name: string }>()).map(({ name }) => name);
  };
  const withLock = createLock();
  const states = async (options: { dir?: string; dryRun?: boolean } = {}) => (await migrateClickHouse(clickhouse, { dir: migrationsDir, withLock, ...options })).map(({ name, state }) => [name, state]);

  t.same(await states({ dryRun: true }), [['001_audit_events.sql', 'pending']]);
  t.same(await tables(), [], 'a dry run changes nothing, not even the database');
  const both = await Promise.all([states(), states()]);
  t.same(both.map(([first]) => first?.[1]).sort(), ['applied', 'present'], 'two at once: one applies, the other finds it done');
  t.same(await tables(), ['audit_events', 'schema_migrations']);
  t.same(await states(), [['001_audit_events.sql', 'present']]);
  t.same(await states({ dryRun: true }), [['001_audit_events.sql', 'present']]);

  t.test('a later file is applied after the earlier ones, a failing one is not recorded', async (t) => {
    const dir = join(stack.dir, 'migrations');
    await cp(migrationsDir, dir, { recursive: true });
    await writeFile(join(dir, '002_more.sql'), `-- two statements; the second fails\nCREATE TABLE IF NOT EXISTS {{database}}.more (a String DEFAULT 'x;y') ENGINE = {{engine MergeTree}} ORDER BY a;\nALTER TABLE {{database}}.nowhere ADD COLUMN IF NOT EXISTS b String;`);
    t.same(await states({ dir, dryRun: true }), [['001_audit_events.sql', 'present'], ['002_more.sql', 'pending']]);
    await t.rejects(states({ dir }), { name: 'MigrationError', message: /002_more\.sql/ });
    await writeFile(join(dir, '002_more.sql'), `CREATE TABLE IF NOT EXISTS {{database}}.more (a String DEFAULT 'x;y') ENGINE = {{engine MergeTree}} ORDER BY a;`);
    t.same((await states({ dir })).at(-1), ['002_more.sql', 'applied'], 'put right, it runs from its start');
    await t.rejects(states(), { message: /migrated by a newer one/ }, 'an older version does not touch it');

    const text = await readFile(join(dir, '001_audit_events.sql'), 'utf8');
    await writeFile(join(dir, '001_audit_events.sql'), `${text}\n-- changed`);
    await t.rejects(states({ dir }), { name: 'MigrationError', message: /001_audit_events\.sql was changed/ });
    await t.rejects(states({ dir, dryRun: true }), { message: /was changed/ });
  });

  t.test('every statement of the files may run twice', async (t) => {
    for (const file of await readMigrations(migrationsDir)) {
      for (const statement of renderMigration(file.name, file.text, clickhouse)) {
        t.match(statement, /^(CREATE|ALTER|DROP)\b.*\bIF (NOT )?EXISTS\b/s);
        await t.resolves(clickhouse.client.command({ query: statement }));
      }
    }
  });

  t.test('on a cluster the same files make replicated and distributed tables, in SQL that parses', async (t) => {
    const clustered = connectClickHouse({ url: stack.clickhouseUrl, user: 'default', password: '', database: 'customhouse', cluster: 'main-cluster' });
    t.teardown(() => clustered.close());
    const statements = (await readMigrations(migrationsDir)).flatMap((file) => renderMigration(file.name, file.text, clustered));
    t.equal(statements.length, 2);
    for (const statement of statements) {
      const result = await clickhouse.client.query({ query: 'SELECT formatQuery({sql:String}) AS sql', query_params: { sql: statement }, format: 'JSONEachRow' });
      const [row] = await result.json<{ sql: string }>();
      t.match(row?.sql, /ON CLUSTER `main-cluster`/);
    }
    t.match(statements[0], /`customhouse`\.audit_events_local[\s\S]*ENGINE = ReplicatedReplacingMergeTree\([\s\S]*\Wreplicated_deduplication_window = 10000/);
    t.match(statements[1], /`customhouse`\.audit_events ON CLUSTER[\s\S]*ENGINE = Distributed\(`main-cluster`, `customhouse`, audit_events_local, cityHash64\(org_id\)\)/);
    const wrong = clickhouse.client.query({ query: 'SELECT formatQuery({sql:String}) AS sql', query_params: { sql: 'CREATE TABLE x (a String ENGINE = MergeTree' }, format: 'JSONEachRow' });
    await t.rejects(wrong.then((result) => result.json()), 'formatQuery refuses what does not parse');
    t.same(clustered.settings, { distributed_foreground_insert: 1, optimize_skip_unused_shards: 1 });
  });
});

t.test('statements are cut at semicolons outside quotes and comments', (t) => {
  t.same(splitStatements(`a 'x;''y\\';' -- c;c\n; b \`;\` - 1;;\n-- end`), [`a 'x;''y\\';'`, 'b `;` - 1']);
  t.throws(() => renderMigration('f.sql', 'SELECT {{nope}}', { database: 'd', cluster: undefined }), { message: /unknown placeholder \{\{nope\}\}/ });
  t.same(renderMigration('f.sql', 'a{{#cluster}} b{{/cluster}}; {{#cluster}}c;{{/cluster}}', { database: 'd', cluster: undefined }), ['a']);
  t.end();
});

t.test('names that become part of SQL must be plain', (t) => {
  const options = { url: 'http://127.0.0.1:9', user: 'default', password: '', database: 'x' };
  for (const database of ['', 'a b', 'a`b', 'a.b', '1a', 'a;DROP']) t.throws(() => connectClickHouse({ ...options, database }), RangeError);
  for (const cluster of ['', 'a`b', "a'b", 'a b']) t.throws(() => connectClickHouse({ ...options, cluster }), RangeError);
  t.end();
});
