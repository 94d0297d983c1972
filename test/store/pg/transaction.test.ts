import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { connectPostgres } from '../../../src/store/pg/connect.ts';
import { transaction } from '../../../src/store/pg/transaction.ts';
import { startStack } from '../../support/stack.ts';

t.test('a transaction that lost its connection stores nothing more, and leaves others alone', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const admin = connectPostgres({ url: stack.postgres.current.adminUrl, poolMax: 1, applicationName: 'admin' });
  const sql = connectPostgres({ url: stack.postgresUrl, poolMax: 1, applicationName: 'victim' });
  t.teardown(() => Promise.all([admin.end({ timeout: 1 }), sql.end({ timeout: 1 })]));
  await sql`create table notes (n int)`;

  for (const round of [0, 100, 200]) {
    let reached = false;
    const first = transaction(sql, async (tx) => {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await tx`insert into notes values (${round + 1})`;
      await admin`select pg_terminate_backend(${row?.pid ?? 0})`;
      await sleep(200);
      await tx`insert into notes values (${round + 2})`;
      reached = true;
    });
    await t.rejects(first, 'the caller hears of the loss');
    // Another user brings the connection back and is in its own transaction when the lost callback goes on.
    await transaction(sql, async (tx) => {
      await tx`insert into notes values (${round + 10})`;
      await sleep(400);
      await tx`insert into notes values (${round + 11})`;
    });
    t.notOk(reached, 'the lost callback went no further');
    t.same((await sql<{ n: number }[]>`select n from notes where n >= ${round} order by n`).map((row) => row.n), [round + 10, round + 11]);
  }
});

t.test('values, errors and rollback are those of the callback', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const sql = connectPostgres({ url: stack.postgresUrl, poolMax: 2, applicationName: 'plain' });
  t.teardown(() => sql.end({ timeout: 1 }));
  await sql`create table notes (n int)`;
  t.equal(await transaction(sql, async (tx) => (await tx`insert into notes values (1)`).count), 1);
  await t.rejects(transaction(sql, async (tx) => {
    await tx`insert into notes values (2)`;
    throw new RangeError('no');
  }), RangeError);
  await t.rejects(transaction(sql, (tx) => tx`select * from nowhere`), { code: '42P01' });
  t.same(await sql`select n from notes`, [{ n: 1 }]);
});
