import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { SealedBatch } from '../../src/queue/batch.ts';
import { decompressPayload } from '../../src/queue/payload.ts';
import { createDeadLetterStore } from '../../src/store/pg/dead-letters.ts';
import { createOutboxBatches } from '../../src/store/pg/outbox-batches.ts';
import { splitLines, sliceByOrg } from '../../workers/batch-lines.ts';
import { replayDeadLetters, unstampedLine } from '../../workers/replay.ts';
import { storeBatch } from '../../workers/dead-letter.ts';
import type { Insert } from '../../workers/dead-letter.ts';
import { openDatabase } from '../store/pg/database.ts';
import { startStack } from '../support/stack.ts';
import { decision, openAuditRig, refusal, sealBatch } from './audit-rig.ts';

t.test('dead letters', async (t) => {
  const stack = await startStack(t, { postgres: true, clickhouse: true });
  const sql = await openDatabase(t, stack);
  const rig = await openAuditRig(t, stack);
  const deadLetters = createDeadLetterStore(sql);
  const orgId = uuidv7();
  let batchNo = 0;

  const events = (count: number) => Array.from({ length: count }, (_, index) => decision(orgId, index));
  const seal = (count: number, spoil: (line: string, index: number) => string = (line) => line) => {
    batchNo += 1;
    return sealBatch(events(count), { batchNo, spoil });
  };
  async function store(batch: SealedBatch, insert: Insert = rig.insert): Promise<number[]> {
    const lines = splitLines(await decompressPayload(batch.payload, 100_000_000));
    return [...await storeBatch({ insert, refusal, deadLetters }, batch, lines, batch.payload)].sort((a, b) => a - b);
  }
  const badNumber = (line: string): string => line.replace('"latency_ms":12', '"latency_ms":"soon"');

  t.test('a sound batch is stored as a whole', async (t) => {
    const batch = await seal(20);
    t.same(await store(batch), []);
    t.equal((await rig.rows([batch.id])).length, 20);
    t.same(await store(batch), [], 'again');
    t.equal((await rig.rows([batch.id])).length, 20, 'a repeated insert is dropped');
  });

  t.test('refused rows of every kind go to the dead letters, the rest is stored once', async (t) => {
    const spoilers = new Map<number, (line: string) => string>([
      [3, badNumber],
      [4, (line) => line.slice(0, 60)],
      [50, (line) => line.replace('"path":', '"unheard_of":')],
      [99, (line) => `{"id":"${uuidv7()}",${line.slice(1)}`],
    ]);
    const batch = await seal(100, (line, index) => spoilers.get(index)?.(line) ?? line);
    t.same(await store(batch), [3, 4, 50, 99]);
    const rows = await rig.rows([batch.id]);
    t.equal(rows.length, 96);
    t.equal(new Set(rows.map((row) => row.id)).size, 96);
    const letters = (await deadLetters.list({ limit: 100 })).filter((letter) => letter.batchId === batch.id);
    t.same(letters.map((letter) => letter.lineNo), [3, 4, 50, 99]);
    t.match(letters[0], { producer: 'proxy:test', batchNo: batch.batchNo, orgId, replayedAt: undefined });
    t.match(letters[0]?.line.toString(), /"latency_ms":"soon"/);
    t.match(letters[0]?.errorCode, /^\d+$/);
    t.equal(letters[3]?.errorCode, 'no_org');
    t.same(await store(batch), [3, 4, 50, 99], 'a repeat finds the same');
    t.equal((await rig.rows([batch.id])).length, 96, 'and stores nothing twice');
    t.equal((await deadLetters.list({ limit: 100 })).filter((letter) => letter.batchId === batch.id).length, 4);
  });

  t.test('a batch of one refused row, and a batch of refused rows only', async (t) => {
    const one = await seal(1, badNumber);
    t.same(await store(one), [0]);
    const all = await seal(5, badNumber);
    t.same(await store(all), [0, 1, 2, 3, 4]);
    t.equal((await rig.rows([one.id, all.id])).length, 0);
  });

  t.test('whatever is not the rows\' fault is thrown, and nothing is given up', async (t) => {
    const batch = await seal(10);
    await stack.clickhouse.kill();
    await t.rejects(store(batch), { name: 'ClickHouseUnavailableError' });
    t.same(await deadLetters.lineNumbers(batch.id), []);
    await stack.clickhouse.restart();
    t.same(await store(batch), []);
    t.equal((await rig.rows([batch.id])).length, 10);
  });

  t.test('killed before or after any insert of a bisected batch: counts stay exact', async (t) => {
    for (const when of ['before', 'after'] as const) {
      const batch = await seal(16, (line, index) => (index === 5 || index === 6 ? badNumber(line) : line));
      let finished = false;
      for (let survive = 0; !finished; survive += 1) {
        let inserts = 0;
        const dying: Insert = async (one) => {
          inserts += 1;
          const last = inserts > survive % 6;
          if (last && when === 'before') throw new Error('killed');
          await rig.insert(one);
          if (last) throw new Error('killed');
        };
        finished = await store(batch, dying).then(() => true, (error: unknown) => {
          if (!(error instanceof Error) || error.message !== 'killed') throw error;
          return false;
        });
        if (survive > 12) finished = await store(batch).then(() => true);
      }
      const rows = await rig.rows([batch.id]);
      t.same(rows.map((row) => Number(row.source_seq)), [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15], `killed ${when}`);
      t.same(await deadLetters.lineNumbers(batch.id), [5, 6]);
    }
  });

  t.test('a schema mended in between does not double the halves that are stored', async (t) => {
    const batch = await seal(8, (line, index) => (index === 6 ? line.replace('"path":', '"path2":') : line));
    let inserts = 0;
    await t.rejects(store(batch, async (one) => {
      inserts += 1;
      if (inserts === 3) throw new Error('killed');
      await rig.insert(one);
    }), { message: 'killed' });
    t.equal((await rig.rows([batch.id])).length, 4, 'one half is stored');
    await rig.execute('ALTER TABLE customhouse.audit_events ADD COLUMN path2 String');
    await store(batch);
    await rig.execute('ALTER TABLE customhouse.audit_events DROP COLUMN path2');
    t.same((await rig.rows([batch.id])).map((row) => Number(row.source_seq)), [0, 1, 2, 3, 4, 5, 6, 7]);
  });

  t.test('replay: mended rows go the way of every batch, once; what cannot be read stays', async (t) => {
    await sql`delete from dead_letters`;
    const batch = await seal(6, (line, index) => (index === 1 ? line.replace('"path":', '"path3":') : index === 4 ? line.slice(0, 50) : line));
    t.same(await store(batch), [1, 4]);
    t.equal(await deadLetters.countWaiting(), 2);
    await rig.execute('ALTER TABLE customhouse.audit_events ADD COLUMN path3 String');

    const [first, second] = await Promise.all([replayDeadLetters(deadLetters), replayDeadLetters(deadLetters)]);
    t.equal(first.replayed + second.replayed, 1, 'two replays at once send a letter once');
    t.match([...first.problems, ...second.problems][0], { problem: 'not a line of JSON in UTF-8' });
    t.equal(await deadLetters.countWaiting(), 1);
    const outbox = createOutboxBatches(sql);
    const [pointer] = await outbox.pending(10);
    t.match(pointer, { producer: 'replay', batchNo: 1, rows: 1 });
    const sent = await outbox.load(pointer?.id ?? '');
    if (sent === undefined) throw new Error('the replay batch is gone');
    t.same(await store(sent), []);
    await rig.execute('ALTER TABLE customhouse.audit_events DROP COLUMN path3');
    const rows = await rig.rows([batch.id, sent.id]);
    t.same(rows.map((row) => Number(row.source_seq)).sort(), [0, 1, 2, 3, 5]);
    t.match(rows.find((row) => row.batch_id === sent.id), { producer: 'replay', source_seq: '1' });
    const letter = (await deadLetters.list({ limit: 10 })).find((one) => one.lineNo === 1);
    t.match(letter, { replayBatchId: sent.id });
    t.same(await replayDeadLetters(deadLetters, [letter?.id ?? 0]), { batches: [], replayed: 0, problems: [] }, 'a replayed letter is not sent again');
  });

  t.test('lines that cannot be replayed say why', async (t) => {
    const problem = (text: string): unknown => unstampedLine(Buffer.from(text));
    t.same(problem('[1]'), { problem: 'not a JSON object' });
    t.same(problem('{"org_id":5}'), { problem: 'org_id: not an id' });
    t.same(problem(`{"org_id":"${orgId}","timestamp":"2026-02-30 10:00:00.000000"}`), { problem: 'timestamp: not a date and time' });
    t.same(unstampedLine(Buffer.from([0x7b, 0xff, 0x7d])), { problem: 'not a line of JSON in UTF-8' });
    t.same(problem(`{"batch_no":1,"timestamp":"2026-02-20 10:00:00.000001","org_id":"${orgId}","producer":"p"}`),
      { line: `{"org_id":"${orgId}","timestamp":"2026-02-20 10:00:00.000001"}`, timestamp: '2026-02-20T10:00:00.000001Z' });
  });

  t.test('slices name each org once, count without dead lines, and leave out long texts', async (t) => {
    const other = uuidv7();
    const batch = await sealBatch([decision(orgId, 1), decision(other, 2), decision(orgId, 3), decision(orgId, 4)], { batchNo: 1 });
    const lines = splitLines(await decompressPayload(batch.payload, 1_000_000));
    const slices = sliceByOrg(lines, new Set([2]), 1_000_000);
    t.match(slices, [{ orgId, rows: 2 }, { orgId: other, rows: 1 }]);
    t.same(slices[0]?.lines?.map((line) => (JSON.parse(line) as { source_seq: number }).source_seq), [1, 4]);
    t.same(sliceByOrg(lines, new Set(), 1_500).map((slice) => slice.lines?.length), [undefined, 1]);
    t.throws(() => sliceByOrg(splitLines(Buffer.from('{"id":1}\n')), new Set(), 10), { message: /names no org/ });
  });
});
