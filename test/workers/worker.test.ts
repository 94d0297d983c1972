import { Redis } from 'ioredis';
import t from 'tap';
import { readSettings } from '../../src/config/settings.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createBatchQueue } from '../../src/queue/batch-queue.ts';
import { createBatchLedger } from '../../src/store/pg/batches.ts';
import { createLedgerReader } from '../../src/store/pg/ledger.ts';
import { createOrgStore } from '../../src/store/pg/orgs.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { createOutboxBatches, outboxBacklog } from '../../src/store/pg/outbox-batches.ts';
import { inOrg } from '../../src/store/pg/scope.ts';
import { streamKey } from '../../src/stream/entry.ts';
import { verifyLedger } from '../../workers/ledger.ts';
import type { LedgerReport } from '../../workers/ledger.ts';
import { startWorker } from '../../workers/worker.ts';
import { openDatabase } from '../store/pg/database.ts';
import { startStack } from '../support/stack.ts';
import { decision, openAuditRig, sealBatch } from './audit-rig.ts';
import { until } from './until.ts';

t.test('the worker role over the real stores', async (t) => {
  const stack = await startStack(t, { postgres: true, redis: true, clickhouse: true });
  const sql = await openDatabase(t, stack);
  const rig = await openAuditRig(t, stack);
  const redis = new Redis(stack.redisUrl);
  redis.on('error', () => undefined);
  t.teardown(() => redis.disconnect());
  const queue = createBatchQueue({ redisUrl: stack.redisUrl, payloadBytesMax: 100_000_000, onError: () => undefined });
  t.teardown(() => queue.close());
  const ledger = createBatchLedger(sql);
  const org = await createOrgStore(sql).create({ name: 'a' });
  const outbox = createOutbox({ mode: 'refuse', retentionDays: 400 });
  const settings = readSettings({
    CUSTOMHOUSE_ENV: 'test', POSTGRES_URL: stack.postgresUrl, REDIS_URL: stack.redisUrl, CLICKHOUSE_URL: stack.clickhouseUrl,
    WORKER_ADMIN_PORT: '0', WRITER_RETRY_MS_MAX: '200', OUTBOX_POLL_MS: '20', LOG_LEVEL: 'silent',
  });
  const log = createLog('worker', 'silent');
  const workers = [await startWorker(settings, log), await startWorker(settings, log)];
  t.teardown(async () => { await Promise.all(workers.map((worker) => worker.stop())); });
  const adminUrl = workers[0]?.adminUrl ?? '';
  let batchNo = 0;
  let emitted = 0;

  async function emit(count: number): Promise<void> {
    emitted += count;
    await inOrg(sql, org.id, (tx) => outbox.append(tx, Array.from({ length: count }, (_, index) => ({
      event_type: 'secret_created' as const, org_id: org.id, user_id: 'u', detail: { resource_id: `s${index}`, name: `s${index}` },
    }))));
  }
  async function send(rows: number): Promise<string> {
    batchNo += 1;
    const batch = await sealBatch(Array.from({ length: rows }, (_, index) => decision(org.id, index)), { batchNo });
    await queue.enqueue(batch);
    return batch.id;
  }
  const verify = async (): Promise<LedgerReport> => verifyLedger({
    ledger: createLedgerReader(sql, 400),
    stored: () => rig.reader.producerLedger(),
    countBatchRows: (id, min, max) => rig.reader.batchRowCount(id, min, max),
    inFlight: () => createOutboxBatches(sql).pending(1000),
  });
  const committed = (id: string) => async (): Promise<boolean> => (await ledger.find(id).catch(() => undefined))?.published === true;
  const outboxEmpty = async (): Promise<boolean> => {
    const { rows, batches } = await outboxBacklog(sql);
    return rows + batches === 0;
  };

  t.test('rows of a mutation and a batch of the queue reach ClickHouse, ledger and stream', async (t) => {
    await emit(5);
    const id = await send(7);
    await until('the batch is committed', committed(id));
    await until('the outbox is empty', outboxEmpty);
    await until('done', async () => (await queue.areDone([id]))[0] === true);
    const rows = await rig.rows();
    t.equal(rows.filter((row) => row.producer === 'outbox').length, 5);
    t.equal(rows.filter((row) => row.batch_id === id).length, 7);
    const commits = await ledger.commitsAfter(org.id, 0, undefined, 100);
    const entries = (await redis.xrange(streamKey(org.id), '-', '+')).map(([entry]) => Number(entry.split('-')[0]));
    t.same(entries, commits.map((commit) => commit.seq), 'the stream has what the ledger has, in its order');
    t.match(await verify(), { sound: true });
    t.same(await queue.depth(), { batches: 0, bytes: 0 });
  });

  t.test('health, readiness and metrics', async (t) => {
    t.equal((await fetch(`${adminUrl}/healthz`)).status, 200);
    t.equal((await fetch(`${adminUrl}/readyz`)).status, 200);
    const text = (await Promise.all(workers.map(async (worker) => (await fetch(`${worker.adminUrl}/metrics`)).text()))).join('\n');
    for (const name of ['customhouse_queue_batches 0', 'customhouse_queue_bytes 0', 'customhouse_outbox_oldest_unconfirmed_seconds 0', 'customhouse_dead_letters_waiting 0', 'customhouse_outbox_relay_leads 1']) t.ok(text.includes(`${name}\n`), name);
    const stored = [...text.matchAll(/^customhouse_stored_rows_total (\d+)$/gm)].reduce((total, match) => total + Number(match[1]), 0);
    t.equal(stored, 12);
    t.match(text, /^customhouse_insert_seconds_count [1-9]/m);
    t.match(text, /^customhouse_commit_seconds_count [1-9]/m);
  });

  t.test('ClickHouse away: readiness names it, batches wait and are stored once when it is back', async (t) => {
    await stack.clickhouse.kill();
    await emit(3);
    const id = await send(4);
    await until('readiness names ClickHouse', async () => {
      const response = await fetch(`${adminUrl}/readyz`);
      const body = await response.json() as { down?: Record<string, string> };
      return response.status === 503 && Object.keys(body.down ?? {}).join() === 'clickhouse';
    });
    t.equal(await ledger.find(id), undefined);
    await stack.clickhouse.restart();
    await until('the batch is committed', committed(id));
    await until('the outbox is empty', outboxEmpty);
    t.equal((await rig.rows([id])).length, 4);
    t.equal((await rig.rows()).filter((row) => row.producer === 'outbox').length, emitted);
    t.match(await verify(), { sound: true });
  });

  t.test('Redis wiped while batches wait: the outbox sends its own again', async (t) => {
    await stack.clickhouse.kill();
    await emit(6);
    await until('a batch waits in Redis', async () => (await queue.depth()).batches > 0);
    await redis.flushall();
    await stack.clickhouse.restart();
    await until('the outbox is empty', outboxEmpty);
    t.equal((await rig.rows()).filter((row) => row.producer === 'outbox').length, emitted);
    t.match(await verify(), { sound: true });
  });

  t.test('Postgres killed: everything goes on where it was', async (t) => {
    const id = await send(3);
    await stack.postgres.kill();
    const later = await send(2);
    await stack.postgres.restart();
    await until('both are committed', async () => await committed(id)() && await committed(later)());
    await emit(2);
    await until('the outbox is empty', async () => outboxEmpty().catch(() => false));
    t.equal((await rig.rows([id, later])).length, 5);
    t.match(await verify(), { sound: true });
  });

  t.test('a worker that stops leaves its work to the other', async (t) => {
    await workers[0]?.stop();
    const id = await send(3);
    await emit(4);
    await until('the batch is committed', committed(id));
    await until('the outbox is empty', outboxEmpty);
    t.equal((await rig.rows()).filter((row) => row.producer === 'outbox').length, emitted);
    await t.rejects(fetch(`${adminUrl}/healthz`), 'its admin port is closed');
  });
});

t.test('a taken admin port is an error, and nothing keeps running', async (t) => {
  const stack = await startStack(t, { postgres: true, redis: true });
  await openDatabase(t, stack);
  const env = { POSTGRES_URL: stack.postgresUrl, REDIS_URL: stack.redisUrl, LOG_LEVEL: 'silent', WORKER_ADMIN_PORT: String(stack.redis.port) };
  await t.rejects(startWorker(readSettings(env)), { code: 'EADDRINUSE' });
});
