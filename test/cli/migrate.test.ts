import { mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { connectPostgres } from '../../src/store/pg/connect.ts';
import { startStack } from '../support/stack.ts';
import { runCli } from '../support/up.ts';

const root = join(import.meta.dirname, '../..');
const stack = await startStack(t, { postgres: true, clickhouse: true });
const noStackHere = await mkdtemp(join(stack.dir, 'empty-'));
const env = { POSTGRES_URL: stack.postgresUrl, CLICKHOUSE_URL: stack.clickhouseUrl };

const migrate = (changes: Record<string, string> = {}, ...args: string[]): ReturnType<typeof runCli> => runCli(['migrate', '--data-dir', noStackHere, ...args], { ...env, ...changes });

const files = [
  ...(await readdir(join(root, 'sql'))).filter((name) => name.endsWith('.sql')).toSorted().map((name) => ['postgres', name]),
  ...(await readdir(join(root, 'clickhouse'))).filter((name) => name.endsWith('.sql')).toSorted().map((name) => ['clickhouse', name]),
];

/** Store, file and state of each line. */
function lines(stdout: string): string[][] {
  return stdout.trimEnd().split('\n').map((line) => line.trim().split(/\s+/));
}

async function tables(): Promise<{ postgres: number; clickhouse: number }> {
  const sql = connectPostgres({ url: stack.postgresUrl, poolMax: 1, applicationName: 'migrate-test' });
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from pg_tables where schemaname = 'public'`;
  await sql.end();
  const answer = await fetch(`${stack.clickhouseUrl}/?query=${encodeURIComponent('select count() from system.tables where database = \'customhouse\'')}`);
  return { postgres: row?.count ?? -1, clickhouse: Number(await answer.text()) };
}

t.test('--dry-run says what would be done and does none of it', async (t) => {
  const before = await tables();
  t.same(before, { postgres: 0, clickhouse: 0 });
  const { code, stdout, stderr } = await migrate({}, '--dry-run');
  t.equal(code, 0, stderr);
  t.same(lines(stdout), files.map((file) => [...file, 'pending']));
  t.same(await tables(), before);
});

t.test('two migrators at the same time: each file is applied once, and both succeed', async (t) => {
  const runs = await Promise.all([migrate(), migrate()]);
  for (const { code, stderr } of runs) t.equal(code, 0, stderr);
  const states = runs.map(({ stdout }) => lines(stdout));
  for (const [at, [store = '', name = '']] of files.entries()) {
    const found = states.map((run) => run[at]?.join(' ') ?? '').toSorted();
    t.same(found, [`${store} ${name} applied`, `${store} ${name} present`]);
  }
  const made = await tables();
  t.ok(made.postgres > 8 && made.clickhouse >= 2, JSON.stringify(made));
});

t.test('again: nothing to do, and it says so', async (t) => {
  const before = await tables();
  for (const args of [[], ['--dry-run']]) {
    const { code, stdout } = await migrate({}, ...args);
    t.equal(code, 0);
    t.same(lines(stdout), files.map((file) => [...file, 'present']));
  }
  t.same(await tables(), before);
});

t.test('a store that is away is one clear line and exit code 1', async (t) => {
  const postgres = await migrate({ POSTGRES_URL: 'postgres://customhouse@127.0.0.1:1/customhouse' });
  t.equal(postgres.code, 1);
  t.match(postgres.stderr, /^customhouse: [^\n]*127\.0\.0\.1:1[^\n]*\n$/);
  const clickhouse = await migrate({ CLICKHOUSE_URL: 'http://127.0.0.1:1' });
  t.equal(clickhouse.code, 1);
  t.match(clickhouse.stderr, /^customhouse: [^\n]*127\.0\.0\.1:1[^\n]*\n$/);
});

t.test('a database of a newer version is left alone', async (t) => {
  const sql = connectPostgres({ url: stack.postgresUrl, poolMax: 1, applicationName: 'migrate-test' });
  t.teardown(() => sql.end());
  await sql`insert into schema_migrations (number, name, checksum) values (999, '999_from_the_future.sql', 'x')`;
  const { code, stderr } = await migrate();
  t.equal(code, 1);
  t.match(stderr, /^customhouse: .*999_from_the_future\.sql, which this version does not know: it was migrated by a newer one\n$/);
});
