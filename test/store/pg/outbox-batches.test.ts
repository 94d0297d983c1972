import t from 'tap';
import { decompressPayload, compressLines } from '../../../src/queue/payload.ts';
import { uuidv7 } from '../../../src/kernel/ids.ts';
import { LockLostError, createLockSession } from '../../../src/store/pg/advisory-lock.ts';
import type { Sql } from '../../../src/store/pg/connect.ts';
import { createOrgStore } from '../../../src/store/pg/orgs.ts';
import { createOutbox } from '../../../src/store/pg/outbox.ts';
import { createOutboxBatches, cutOutboxBatch, outboxBacklog } from '../../../src/store/pg/outbox-batches.ts';
import { inOrg } from '../../../src/store/pg/scope.ts';
import { startStack } from '../../support/stack.ts';
import { openDatabase } from './database.ts';

const limits = { rowsMax: 10_000, bytesMax: 8_388_608 };

async function emitSecrets(sql: Sql, orgId: string, count: number, size = 1): Promise<void> {
  const outbox = createOutbox({ mode: 'refuse', retentionDays: 90 });
  await inOrg(sql, orgId, (tx) => outbox.append(tx, Array.from({ length: count }, (_, index) => ({
    event_type: 'secret_created' as const, org_id: orgId, user_id: 'u', detail: { resource_id: `s${index}`, name: 'x'.repeat(size) },
  }))));
}

async function rowsOf(payload: Buffer): Promise<Record<string, unknown>[]> {
  const text = (await decompressPayload(payload, 100_000_000)).toString('utf8');
  return text.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
}

t.test('batches cut from the outbox', async (t) => {
  const stack = await startStack(t, { postgres: true });
  const sql = await openDatabase(t, stack);
  const options = { url: stack.postgresUrl, applicationName: 'test' };
  const session = createLockSession(options, 'outbox');
  t.teardown(() => session.close());
  const batches = createOutboxBatches(sql);
  const { id: orgId } = await createOrgStore(sql).create({ name: 'a' });
  const inLedger = async (id: string): Promise<void> => {
    await sql`insert into audit_batches (batch_id, producer, batch_no, rows, min_timestamp, max_timestamp, org_ids, org_rows) select batch_id, producer, batch_no, rows, min_timestamp, max_timestamp, '{}', '{}' from outbox_batches where batch_id = ${id}`;
  };

  t.test('without the lock nothing is cut', async (t) => {
    await emitSecrets(sql, orgId, 1);
    await t.rejects(cutOutboxBatch(session, limits, compressLines), LockLostError);
    t.match(await outboxBacklog(sql), { rows: 1, batches: 0 });
  });

  t.test('one holder at a time', async (t) => {
    t.equal(await session.tryHold(), true);
    t.equal(await session.tryHold(), true, 'holding is no counting');
    const other = createLockSession(options, 'outbox');
    t.equal(await other.tryHold(), false);
    await other.close();
  });

  t.test('a batch has its final lines, numbers without gap and ascending sequence numbers', async (t) => {
    await emitSecrets(sql, orgId, 4);
    const first = await cutOutboxBatch(session, limits, compressLines);
    t.match(first, { producer: 'outbox', batchNo: 1, rows: 5 });
    t.equal(await cutOutboxBatch(session, limits, compressLines), undefined, 'the outbox is empty');
    await emitSecrets(sql, orgId, 3);
    const second = await cutOutboxBatch(session, { ...limits, rowsMax: 2 }, compressLines);
    const third = await cutOutboxBatch(session, { ...limits, rowsMax: 2 }, compressLines);
    t.match([second, third], [{ batchNo: 2, rows: 2 }, { batchNo: 3, rows: 1 }]);
    const loaded = await batches.load(first?.id ?? '');
    t.equal(loaded?.payload.length, first?.bytes);
    const rows = await rowsOf(loaded?.payload ?? Buffer.alloc(0));
    t.same(rows.map((row) => row['source_seq']), [1, 2, 3, 4, 5]);
    t.match(rows[0], { org_id: orgId, producer: 'outbox', batch_id: first?.id ?? '', batch_no: 1, batch_rows: 5, retention_days: 90, event_type: 'secret_created' });
    t.equal(Object.keys(rows[0] ?? {})[0], 'org_id');
    t.match(first?.minTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    t.ok((first?.minTimestamp ?? '') < (first?.maxTimestamp ?? ''));
    t.same((await batches.pending(10)).map((batch) => batch.batchNo), [1, 2, 3], 'oldest first');
    t.same((await batches.pending(2)).map((batch) => batch.batchNo), [1, 2]);
  });

  t.test('a batch is bounded by bytes, but takes at least one row', async (t) => {
    await emitSecrets(sql, orgId, 3, 5_000);
    const cuts = [];
    for (let cut = await cutOutboxBatch(session, { ...limits, bytesMax: 1_000 }, compressLines); cut !== undefined; cut = await cutOutboxBatch(session, { ...limits, bytesMax: 1_000 }, compressLines)) cuts.push(cut.rows);
    t.same(cuts, [1, 1, 1]);
    await emitSecrets(sql, orgId, 4, 5_000);
    t.equal((await cutOutboxBatch(session, { ...limits, bytesMax: 12_000 }, compressLines))?.rows, 2);
    t.equal((await cutOutboxBatch(session, limits, compressLines))?.rows, 2);
  });

  t.test('a cut that fails leaves rows and numbers as they were', async (t) => {
    const [before] = await sql`select * from batch_counters where producer = 'outbox'`;
    await emitSecrets(sql, orgId, 2);
    await t.rejects(cutOutboxBatch(session, limits, () => Promise.reject(new Error('no memory'))), { message: 'no memory' });
    t.same(await sql`select * from batch_counters where producer = 'outbox'`, [before]);
    t.equal((await outboxBacklog(sql)).rows, 2);
    t.equal((await cutOutboxBatch(session, limits, compressLines))?.rows, 2);
  });

  t.test('a killed connection takes the lock with it, and the next cut says so', async (t) => {
    await emitSecrets(sql, orgId, 1);
    await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 3`;
    // The driver tells of the broken connection once or twice, then connects again without a word.
    const outcomes: unknown[] = [];
    do outcomes.push(await cutOutboxBatch(session, limits, compressLines).catch((error: unknown) => error));
    while (!(outcomes.at(-1) instanceof LockLostError) && outcomes.length < 5);
    t.ok(outcomes.at(-1) instanceof LockLostError && outcomes.every((outcome) => outcome instanceof Error), 'no cut without the lock');
    t.equal(await session.tryHold(), true);
    t.equal((await cutOutboxBatch(session, limits, compressLines))?.rows, 1);
  });

  t.test('only a batch that the ledger has is deleted', async (t) => {
    const waiting = await batches.pending(100);
    const [a, b] = waiting;
    await t.rejects(batches.confirm(a?.id ?? ''), { message: /the ledger does not have it/ });
    t.ok(await batches.load(a?.id ?? ''));
    await inLedger(a?.id ?? '');
    await batches.confirm(a?.id ?? '');
    t.equal(await batches.load(a?.id ?? ''), undefined);
    await batches.confirm(a?.id ?? '');
    await batches.confirm(uuidv7());
    await inLedger(b?.id ?? '');
    t.same((await batches.pending(100)).map((batch) => batch.id), waiting.slice(2).map((batch) => batch.id), 'a lost confirmation is made up for');
    t.equal(await batches.load(b?.id ?? ''), undefined);
    t.ok((await outboxBacklog(sql)).oldestMs > 0);
  });
});
