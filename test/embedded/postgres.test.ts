import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import t from 'tap';
import { PortInUseError } from '../../src/embedded/free-port.ts';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { startStack } from '../support/stack.ts';
import { errorOf } from './quiet-client.ts';

t.test('the service role owns its database and is no superuser', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const sql = postgres(stack.postgresUrl, { max: 1 });
  t.teardown(() => sql.end());
  const [row] = await sql`select current_user as role, current_database() as db, current_setting('is_superuser') as super, current_setting('fsync') as fsync, current_setting('server_version_num')::int as version`;
  t.match(row, { role: 'customhouse', db: 'customhouse', super: 'off', fsync: 'on' });
  t.ok((row?.['version'] as number) >= 180_000);
  const admin = postgres(stack.postgres.current.adminUrl, { max: 1 });
  t.teardown(() => admin.end());
  t.match(await admin`select current_setting('is_superuser') as super`, [{ super: 'on' }]);
});

t.test('what was committed is there after kill -9 and after an orderly stop, on the same port', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const { port } = stack.postgres;
  const run = async <T>(query: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
    const sql = postgres(stack.postgresUrl, { max: 1 });
    try {
      return await query(sql);
    } finally {
      await sql.end();
    }
  };
  await run(async (sql) => sql`create table kept (n int)`);
  await run(async (sql) => sql`insert into kept select generate_series(1, 1000)`);
  await stack.postgres.kill();
  t.match(await errorOf(run(async (sql) => sql`select 1`)), { code: 'ECONNREFUSED' });
  await stack.postgres.restart();
  t.equal(stack.postgres.port, port);
  t.same(await run(async (sql) => sql`select count(*)::int as n from kept`), [{ n: 1000 }]);
  await stack.postgres.restart();
  t.same(await run(async (sql) => sql`select count(*)::int as n from kept`), [{ n: 1000 }]);
});

t.test('a wrong password is refused', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const url = new URL(stack.postgresUrl);
  url.password = 'wrong';
  const sql = postgres(url.href, { max: 1 });
  t.teardown(() => sql.end());
  t.match(await errorOf(sql`select 1`.then((rows) => rows)), { code: '28P01' });
});

t.test('a second server on the same directory is refused with the process id of the first', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const second = startPostgres({ dataDir: join(stack.dir, 'postgres'), port: 0, logFile: join(stack.dir, 'second.log') });
  t.match((await errorOf(second)).message, new RegExp(`already runs .*process ${stack.postgres.pid}`));
});

t.test('a lock file whose process id has gone to another program does not stop it', async (t) => {
  const stack = await startStack(t, { postgres: true });
  await stack.postgres.stop();
  const lock = join(stack.dir, 'postgres/cluster/postmaster.pid');
  await writeFile(lock, `${process.pid}\n${join(stack.dir, 'postgres/cluster')}\n`, { mode: 0o600 });
  await stack.postgres.restart();
  const sql = postgres(stack.postgresUrl, { max: 1 });
  t.teardown(() => sql.end());
  t.same(await sql`select 1 as n`, [{ n: 1 }]);
});

t.test('a first start below a directory that only its owner may enter', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-test-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const closed = join(dir, 'closed');
  await mkdir(closed);
  await chmod(closed, 0o700);
  const service = await startPostgres({ dataDir: join(closed, 'postgres'), port: 0, logFile: join(dir, 'postgres.log') });
  t.teardown(() => service.stop());
  const sql = postgres(service.url, { max: 1 });
  t.teardown(() => sql.end());
  t.same(await sql`select current_database() as db`, [{ db: 'customhouse' }]);
});

t.test('a port that is taken is named', async (t) => {
  const stack = await startStack(t, { postgres: true });
  await stack.postgres.stop();
  const neighbour = createServer();
  await new Promise<void>((resolve) => neighbour.listen(stack.postgres.port, '127.0.0.1', resolve));
  t.teardown(() => neighbour.close());
  const error = await errorOf(stack.postgres.restart());
  t.ok(error instanceof PortInUseError);
  t.match(error.message, `port ${stack.postgres.port}`);
});
