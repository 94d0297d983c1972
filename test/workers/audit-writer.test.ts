import { Redis } from 'ioredis';
import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { SealedBatch } from '../../src/queue/batch.ts';
import { createBatchQueue } from '../../src/queue/batch-queue.ts';
import { createLockSession } from '../../src/store/pg/advisory-lock.ts';
import { createBatchLedger } from '../../src/store/pg/batches.ts';
import { createDeadLetterStore } from '../../src/store/pg/dead-letters.ts';
import { streamKey } from '../../src/stream/entry.ts';
import { createStreamPublisher } from '../../src/stream/publisher.ts';
import { DamagedBatchError, createBatchHandler } from '../../workers/audit-writer.ts';
import type { HandleBatch } from '../../workers/audit-writer.ts';
import { createCommitter } from '../../workers/commit.ts';
import { openDatabase } from '../store/pg/database.ts';
import { startStack } from '../support/stack.ts';
import { decision, openAuditRig, refusal, sealBatch } from './audit-rig.ts';

/** The places where a worker may be killed, in order; see the list in audit-writer.ts. */
const steps = ['before the insert', 'after the insert', 'before publishing', 'after publishing', 'before the done mark', 'after the done mark'] as const;
type Step = (typeof steps)[number];

t.test('audit writer', async (t) => {
  const stack = await startStack(t, { postgres: true, redis: true, clickhouse: true });
  const sql = await openDatabase(t, stack);
  const rig = await openAuditRig(t, stack);
  const redis = new Redis(stack.redisUrl);
  t.teardown(() => redis.disconnect());
  const queue = createBatchQueue({ redisUrl: stack.redisUrl, payloadBytesMax: 100_000_000, onError: () => undefined });
  t.teardown(() => queue.close());
  const publisher = createStreamPublisher({ redisUrl: stack.redisUrl, onError: () => undefined });
  t.teardown(() => publisher.close());
  const ledger = createBatchLedger(sql);
  const deadLetters = createDeadLetterStore(sql);
  let batchNo = 0;

  /** A worker of its own that is killed at the first of the given steps; each step kills once. */
  function worker(kills = new Set<Step>()): HandleBatch {
    const session = createLockSession({ url: stack.postgresUrl, applicationName: 'test' }, 'commit');
    t.teardown(() => session.close());
    async function around<T>(before: Step, after: Step, work: () => Promise<T>): Promise<T> {
      if (kills.delete(before)) throw new Error(`killed ${before}`);
      const result = await work();
      if (kills.delete(after)) throw new Error(`killed ${after}`);
      return result;
    }
    return createBatchHandler({
      queue: { payload: (id) => queue.payload(id), finish: (id) => around('before the done mark', 'after the done mark', () => queue.finish(id)) },
      ledger,
      deadLetters,
      refusal,
      insert: (batch) => around('before the insert', 'after the insert', () => rig.insert(batch)),
      committer: createCommitter({ session, publisher: { publish: (one) => around('before publishing', 'after publishing', () => publisher.publish(one)) } }),
    });
  }
  async function queued(orgs: readonly string[], spoil?: (line: string, index: number) => string): Promise<SealedBatch> {
    batchNo += 1;
    const batch = await sealBatch(orgs.map((orgId, index) => decision(orgId, index)), { batchNo, ...(spoil === undefined ? {} : { spoil }) });
    await queue.enqueue(batch);
    return batch;
  }
  const streamed = async (orgId: string): Promise<string[]> => (await redis.xrange(streamKey(orgId), '-', '+')).map(([, fields]) => fields[fields.indexOf('batch_id') + 1] ?? '');
  const ledgerRows = async (id: string): Promise<number> => (await sql`select 1 from audit_batches where batch_id = ${id} and published`).length;

  for (const step of steps) {
    t.test(`killed ${step}: nothing lost, nothing twice`, async (t) => {
      const [orgA, orgB] = [uuidv7(), uuidv7()];
      const batch = await queued([orgA, orgB, orgA, orgB, orgB]);
      await t.rejects(worker(new Set([step]))(batch), { message: `killed ${step}` });
      await worker()(batch);
      t.equal((await rig.rows([batch.id])).length, 5);
      t.equal(await ledgerRows(batch.id), 1);
      t.same([await streamed(orgA), await streamed(orgB)], [[batch.id], [batch.id]]);
      t.same(await queue.areDone([batch.id]), [true]);
      t.equal(await queue.payload(batch.id), undefined);
    });
  }

  t.test('killed at every step in turn, with poisoned rows: counts are exact', async (t) => {
    const orgId = uuidv7();
    const batch = await queued(Array.from({ length: 9 }, () => orgId), (line, index) => (index === 2 ? line.replace('"latency_ms":12', '"latency_ms":"x"') : line));
    const kills = new Set(steps);
    const handle = worker(kills);
    for (let tries = 0; kills.size > 0 && tries < 20; tries += 1) await handle(batch).catch(() => undefined);
    await handle(batch);
    t.same((await rig.rows([batch.id])).map((row) => Number(row.source_seq)), [0, 1, 3, 4, 5, 6, 7, 8]);
    t.same(await deadLetters.lineNumbers(batch.id), [2]);
    t.same(await streamed(orgId), [batch.id]);
    t.match(await sql`select rows, org_ids, org_rows from audit_batches where batch_id = ${batch.id}`, [{ rows: 9, org_ids: [orgId], org_rows: [8] }]);
  });

  t.test('the same batch at two workers at once, and again afterwards', async (t) => {
    const orgId = uuidv7();
    const batch = await queued([orgId, orgId]);
    await Promise.all([worker()(batch), worker()(batch)]);
    await queue.enqueue(batch);
    await worker()(batch);
    t.equal((await rig.rows([batch.id])).length, 2);
    t.same(await streamed(orgId), [batch.id]);
    t.equal(await queue.payload(batch.id), undefined, 'what was sent again is cleared away');
  });

  t.test('a pointer without payload ends without a done mark, so that the source sends it again', async (t) => {
    const orgId = uuidv7();
    const batch = await sealBatch([decision(orgId, 1)], { batchNo: 900 });
    await worker()(batch);
    t.same(await queue.areDone([batch.id]), [false]);
    t.equal(await ledger.find(batch.id), undefined);
  });

  t.test('bytes that do not fit their pointer are refused before anything is stored', async (t) => {
    const orgId = uuidv7();
    const batch = await queued([orgId, orgId]);
    await t.rejects(worker()({ ...batch, rows: 3 }), DamagedBatchError);
    await redis.set(`ch:batch:${batch.id}`, batch.payload.subarray(0, -3));
    await t.rejects(worker()(batch), { name: 'DamagedBatchError', message: /cannot be decompressed/ });
    t.equal((await rig.rows([batch.id])).length, 0);
  });

  t.test('a batch of refused rows only is committed without rows, and is done', async (t) => {
    const orgId = uuidv7();
    const batch = await queued([orgId], () => 'no line of ours');
    await worker()(batch);
    t.same(await queue.areDone([batch.id]), [true]);
    t.match(await sql`select rows, org_ids from audit_batches where batch_id = ${batch.id}`, [{ rows: 1, org_ids: [] }]);
    t.same(await streamed(orgId), []);
  });
});
