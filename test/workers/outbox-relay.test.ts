import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { decompressPayload } from '../../src/queue/payload.ts';
import { createLockSession } from '../../src/store/pg/advisory-lock.ts';
import type { Sql } from '../../src/store/pg/connect.ts';
import { createOrgStore } from '../../src/store/pg/orgs.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { createOutboxBatches, outboxBacklog } from '../../src/store/pg/outbox-batches.ts';
import { inOrg } from '../../src/store/pg/scope.ts';
import { startOutboxRelay } from '../../workers/outbox-relay.ts';
import type { OutboxRelay } from '../../workers/outbox-relay.ts';
import { startStack } from '../support/stack.ts';
import { openDatabase } from '../store/pg/database.ts';
import { until } from './until.ts';

t.test('outbox relay', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const sql = await openDatabase(t, stack, 12);
  const outbox = createOutbox({ mode: 'refuse', retentionDays: 90 });
  const { id: orgId } = await createOrgStore(sql).create({ name: 'a' });
  let emitted = 0;

  async function emit(count: number): Promise<string[]> {
    const names = Array.from({ length: count }, () => `s${emitted++}`);
    await inOrg(sql, orgId, (tx) => outbox.append(tx, names.map((name) => ({ event_type: 'secret_created' as const, org_id: orgId, user_id: 'u', detail: { resource_id: name, name } }))));
    return names;
  }
  function relay(pollMs: number, db: Sql = sql): { relay: OutboxRelay; errors: unknown[]; cuts: () => number } {
    const errors: unknown[] = [];
    let cuts = 0;
    const session = createLockSession({ url: stack.postgresUrl, applicationName: 'relay' }, 'outbox');
    const made = startOutboxRelay({ sql: db, session, batches: createOutboxBatches(db), pollMs, rowsMax: 50, onCut: () => { cuts += 1; }, onError: (error) => errors.push(error) });
    return { relay: made, errors, cuts: () => cuts };
  }
  const allBatches = async (): Promise<{ batch_no: number; rows: number; payload: Buffer }[]> => sql<{ batch_no: number; rows: number; payload: Buffer }[]>`select batch_no, rows, payload from outbox_batches order by batch_no`;

  t.test('a notice of a commit is enough: nothing waits for the poll', async (t) => {
    const slow = relay(60_000);
    await until('the relay leads', () => slow.relay.leading());
    const listening = async (): Promise<boolean> => (await sql`select 1 from pg_stat_activity where query ilike 'listen %'`).length > 0;
    await until('the relay listens', listening);
    await emit(1);
    await until('a cut', () => slow.cuts() === 1);
    t.equal((await slow.relay.source.pending(10)).length, 1);
    await slow.relay.stop();
    t.same(await slow.relay.source.pending(10), [], 'who does not lead ships nothing');
    t.same(slow.errors, []);
  });

  t.test('two relays, killed connections, concurrent mutations: numbers without gap, every row once', async (t) => {
    const names = new Set(await emit(3));
    const relays = [relay(5), relay(5)];
    let killing = true;
    const killer = (async () => {
      for (let kills = 0; killing || kills < 15; kills += 1) {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'relay outbox' and pid in (select pid from pg_locks where locktype = 'advisory')`;
        await sleep(30);
      }
    })();
    await Promise.all([1, 2, 3, 4].map(async (emitter) => {
      for (let round = 0; round < 25; round += 1) for (const name of await emit(1 + ((emitter * round) % 7))) names.add(name);
    }));
    killing = false;
    await killer;
    await until('an empty outbox', async () => (await outboxBacklog(sql)).rows === 0);
    await Promise.all(relays.map(({ relay: one }) => one.stop()));
    t.ok(relays.some(({ errors }) => errors.length > 0), 'connections were lost while it ran');

    const batches = await allBatches();
    t.same(batches.map((batch) => batch.batch_no), batches.map((_, index) => index + 1), 'numbers from 1 without a gap');
    const rows = (await Promise.all(batches.map(async (batch) => {
      const lines = (await decompressPayload(batch.payload, 10_000_000)).toString('utf8').trimEnd().split('\n');
      t.equal(lines.length, batch.rows);
      return lines.map((line) => JSON.parse(line) as { source_seq: number; detail: string; batch_no: number });
    }))).flat();
    t.same(rows.map((row) => row.source_seq), rows.map((_, index) => index + 1), 'sequence numbers ascend by one');
    const stored = rows.map((row) => (JSON.parse(row.detail) as { name: string }).name);
    t.equal(stored.length, emitted);
    t.equal(new Set(stored).size, emitted, 'no row twice');
    t.ok([...names].every((name) => stored.includes(name)));
    const [counter] = await sql<{ accepted_rows: number; last_batch_no: number }[]>`select accepted_rows, last_batch_no from batch_counters where producer = 'outbox'`;
    t.same(counter, { accepted_rows: emitted, last_batch_no: batches.length });
  });

  t.test('the relay survives Postgres being killed', async (t) => {
    const one = relay(20);
    await until('the relay leads', () => one.relay.leading());
    const before = (await allBatches()).length;
    await stack.postgres.kill();
    await stack.postgres.restart();
    await until('rows after the restart', async () => emit(1).then(() => true, () => false));
    await until('another cut', async () => (await allBatches().catch(() => [])).length > before);
    await one.relay.stop();
    t.ok(one.errors.length > 0);
  });
});
