import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { BatchPointer, SealedBatch } from '../../src/queue/batch.ts';
import { decompressPayload } from '../../src/queue/payload.ts';
import { createLockSession } from '../../src/store/pg/advisory-lock.ts';
import { insertCommit } from '../../src/store/pg/batches.ts';
import { createDeadLetterStore } from '../../src/store/pg/dead-letters.ts';
import { createLedgerReader } from '../../src/store/pg/ledger.ts';
import { createOrgStore } from '../../src/store/pg/orgs.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { createOutboxBatches, cutOutboxBatch } from '../../src/store/pg/outbox-batches.ts';
import { inOrg } from '../../src/store/pg/scope.ts';
import { compressLines } from '../../src/queue/payload.ts';
import { sliceByOrg, splitLines } from '../../workers/batch-lines.ts';
import { storeBatch } from '../../workers/dead-letter.ts';
import { verifyLedger } from '../../workers/ledger.ts';
import type { Accepted, LedgerReport, ProducerReport } from '../../workers/ledger.ts';
import { openDatabase } from '../store/pg/database.ts';
import { startStack } from '../support/stack.ts';
import { decision, openAuditRig, refusal, sealBatch } from './audit-rig.ts';

t.test('loss ledger', async (t) => {
  const stack = await startStack(t, { postgres: true, clickhouse: true });
  const sql = await openDatabase(t, stack);
  const rig = await openAuditRig(t, stack);
  const deadLetters = createDeadLetterStore(sql);
  const commitSession = createLockSession({ url: stack.postgresUrl, applicationName: 'test' }, 'commit');
  t.teardown(() => commitSession.close());
  const org = await createOrgStore(sql).create({ name: 'a', retentionDays: 30 });
  let seq = 0;

  async function store(batch: SealedBatch): Promise<Set<number>> {
    return storeBatch({ insert: rig.insert, refusal, deadLetters }, batch, splitLines(await decompressPayload(batch.payload, 100_000_000)), batch.payload);
  }
  async function enter(batch: SealedBatch, dead = new Set<number>()): Promise<void> {
    const lines = splitLines(await decompressPayload(batch.payload, 100_000_000));
    const orgs = sliceByOrg(lines, dead, 0).map(({ orgId, rows }) => ({ orgId, rows }));
    await commitSession.exclusively(() => insertCommit(commitSession, { ...batch, orgs }));
  }
  const seal = (producer: string, batchNo: number, spoil?: (line: string, index: number) => string) =>
    sealBatch(Array.from({ length: 3 }, () => decision(org.id, seq++)), { producer, batchNo, ...(spoil === undefined ? {} : { spoil }) });
  async function verify(inFlight: readonly BatchPointer[] = [], accepted: readonly Accepted[] = []): Promise<LedgerReport> {
    return verifyLedger({
      ledger: createLedgerReader(sql, 400),
      stored: () => rig.reader.producerLedger(),
      countBatchRows: (id, min, max) => rig.reader.batchRowCount(id, min, max),
      inFlight: async () => inFlight,
      accepted: async () => accepted,
    });
  }
  const of = (report: LedgerReport, producer: string): ProducerReport | undefined => report.producers.find((one) => one.producer === producer);

  t.test('nothing yet', async (t) => {
    t.same(await verify(), { producers: [], sound: true });
  });

  t.test('a sound producer with a dead letter and a batch in flight adds up', async (t) => {
    for (const no of [1, 2, 4]) {
      const batch = await seal('proxy:a', no, no === 2 ? (line, index) => (index === 0 ? line.replace('"latency_ms":12', '"latency_ms":"x"') : line) : undefined);
      await enter(batch, await store(batch));
    }
    const waiting = await seal('proxy:a', 3);
    const report = await verify([waiting, waiting]);
    t.equal(report.sound, true);
    t.match(of(report, 'proxy:a'), { acceptedBatches: 4, acceptedRows: 12, committedBatches: 3, storedRows: 8, deadRows: 1, inFlightBatches: 1, inFlightRows: 3, holes: [] });
    await enter(waiting, await store(waiting));
    t.match(of(await verify([waiting]), 'proxy:a'), { acceptedRows: 12, storedRows: 11, inFlightBatches: 0, holes: [] }, 'a batch that was committed meanwhile counts once');
  });

  t.test('a batch that vanished is named, also the last one', async (t) => {
    for (const no of [1, 3, 4, 6]) {
      const batch = await seal('proxy:b', no);
      await enter(batch, await store(batch));
    }
    const report = await verify([], [{ producer: 'proxy:b', batches: 8 }]);
    t.equal(report.sound, false);
    t.same(of(report, 'proxy:b')?.holes, [{ kind: 'lost', from: 2, to: 2 }, { kind: 'lost', from: 5, to: 5 }, { kind: 'lost', from: 7, to: 8 }]);
    t.same(of(report, 'proxy:a')?.holes, [], 'others stay sound');
  });

  t.test('a committed batch whose rows were removed from ClickHouse is named', async (t) => {
    const batches = await Promise.all([1, 2, 3].map((no) => seal('proxy:c', no)));
    for (const batch of batches) await enter(batch, await store(batch));
    await rig.execute(`ALTER TABLE customhouse.audit_events DELETE WHERE batch_id = '${batches[1]?.id}' SETTINGS mutations_sync = 1`);
    const some = await rig.rows([batches[2]?.id ?? '']);
    await rig.execute(`ALTER TABLE customhouse.audit_events DELETE WHERE id = '${some[0]?.id}' SETTINGS mutations_sync = 1`);
    const report = of(await verify(), 'proxy:c');
    t.same(report?.holes, [
      { kind: 'not_stored', from: 2, to: 2, batchId: batches[1]?.id, expectedRows: 3, foundRows: 0 },
      { kind: 'short', from: 3, to: 3, batchId: batches[2]?.id, expectedRows: 3, foundRows: 2 },
    ]);
    t.match(report, { acceptedRows: 9, storedRows: 5 });
    await sql`update audit_batches set committed_at = now() - interval '31 days' where producer = 'proxy:c'`;
    t.same(of(await verify(), 'proxy:c')?.holes, [], 'after the retention of its org that is as it should be');
  });

  t.test('rows that are stored but in no ledger, and surplus rows', async (t) => {
    const [first, second] = [await seal('proxy:d', 1), await seal('proxy:d', 2)];
    await store(first);
    await enter(second, await store(second));
    t.same(of(await verify(), 'proxy:d')?.holes, [{ kind: 'uncommitted', from: 1, to: 1 }]);
    t.same(of(await verify([first]), 'proxy:d')?.holes, [], 'its source still has it');
    await enter(first);
    const extra = await sealBatch([decision(org.id, seq++)], { producer: 'proxy:d', batchNo: 2, spoil: (line) => line.replace(/"batch_id":"[^"]+"/, `"batch_id":"${second.id}"`).replace('"batch_rows":1', '"batch_rows":3') });
    await rig.insert({ token: uuidv7(), payload: extra.payload });
    // The added row lies after the batch's time range, so the count within that range is right, and the table's own count is not.
    await sql`update audit_batches set max_timestamp = now() + interval '1 hour' where batch_id = ${second.id}`;
    t.same(of(await verify(), 'proxy:d')?.holes, [{ kind: 'surplus', from: 2, to: 2, batchId: second.id, expectedRows: 3, foundRows: 4 }]);
  });

  t.test('a producer that counted from 1 again', async (t) => {
    const [one, again] = [await seal('proxy:e', 1), await seal('proxy:e', 1)];
    await enter(one, await store(one));
    await enter(again, await store(again));
    t.same(of(await verify(), 'proxy:e')?.holes, [{ kind: 'reused', from: 1, to: 1, batchId: again.id }]);
  });

  t.test('the outbox is held against its own counters', async (t) => {
    const session = createLockSession({ url: stack.postgresUrl, applicationName: 'test' }, 'outbox');
    t.teardown(() => session.close());
    await session.tryHold();
    const outbox = createOutbox({ mode: 'refuse', retentionDays: 400 });
    const source = createOutboxBatches(sql);
    for (const name of ['x', 'y']) {
      await inOrg(sql, org.id, (tx) => outbox.append(tx, [{ event_type: 'secret_created', org_id: org.id, user_id: 'u', detail: { resource_id: name, name } }]));
      await cutOutboxBatch(session, { rowsMax: 10, bytesMax: 1_000_000 }, compressLines);
    }
    const pending = await source.pending(10);
    t.match(of(await verify(pending), 'outbox'), { acceptedBatches: 2, acceptedRows: 2, inFlightRows: 2, storedRows: 0, holes: [] });
    const first = await source.load(pending[0]?.id ?? '');
    if (first === undefined) throw new Error('no batch');
    await enter(first, await store(first));
    t.match(of(await verify(pending), 'outbox'), { acceptedRows: 2, inFlightRows: 1, storedRows: 1, holes: [] });
    await sql`delete from outbox_batches where batch_id = ${pending[1]?.id ?? ''}`;
    t.same(of(await verify(), 'outbox')?.holes, [{ kind: 'lost', from: 2, to: 2 }]);
    await sql`update batch_counters set accepted_rows = 5, last_batch_no = 1 where producer = 'outbox'`;
    t.same(of(await verify(), 'outbox')?.holes, [{ kind: 'uncounted', from: 1, to: 1, expectedRows: 5, foundRows: 1 }]);
  });
});
