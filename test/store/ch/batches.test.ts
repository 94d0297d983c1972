import t from 'tap';
import { uuidv7 } from '../../../src/kernel/ids.ts';
import { openAuditTable } from './audit-table.ts';
import { byTriple, orgA, orgB, randomEvents } from './random-events.ts';

const range = (events: readonly { timestamp: string }[]) => {
  const times = events.map(({ timestamp }) => timestamp).toSorted();
  return { minTimestamp: String(times[0]), maxTimestamp: String(times.at(-1)) };
};

t.test('batches: the rows of a commit, a row by its id, and the ledger', async (t) => {
  const table = await openAuditTable(t);
  const batches = await Promise.all([1, 2, 3].map(async (batchNo) => {
    const events = [...randomEvents(60, { seed: batchNo, orgId: orgA }), ...randomEvents(20, { seed: 10 + batchNo, orgId: orgB })];
    return { events, commit: { seq: batchNo, batchId: await table.insert(events, { batchNo, producer: 'proxy:one' }), ...range(events) } };
  }));
  const commits = batches.map(({ commit }) => commit);

  t.test('batchRows gives one list per commit, in the order asked, each in delivery order, of the org only', async (t) => {
    for (const orgId of [orgA, orgB]) {
      const asked = commits.toReversed();
      const answers = await table.reader.batchRows(orgId, asked);
      t.same(answers.map(({ commit }) => commit), asked, 'the commits come back as they were given');
      answers.forEach(({ commit, events }) => {
        const batch = batches.find((one) => one.commit === commit);
        t.same(events, batch?.events.filter((event) => event.org_id === orgId).toSorted(byTriple));
      });
    }
    t.same(await table.reader.batchRows(orgA, []), []);
    t.same((await table.reader.batchRows(orgA, [{ batchId: uuidv7(), ...range(batches[0]?.events ?? []) }])).map(({ events }) => events), [[]], 'an unknown batch has no rows');
    t.same((await table.reader.batchRows('01900000-0000-7000-8000-0000000000ff', commits)).flatMap(({ events }) => events), [], 'another org sees none of them');
  });

  t.test('the batch index keeps a batch read small', async (t) => {
    const explain = await table.clickhouse.client.query({ query: `EXPLAIN indexes = 1 SELECT id FROM ${table.clickhouse.events} WHERE org_id = '${orgA}' AND batch_id IN ['${uuidv7()}']`, format: 'TabSeparatedRaw' });
    const plan = await explain.text();
    t.match(plan, /Name: ix_batch[\s\S]*?Granules: 0\/\d/);
  });

  t.test('locate finds the batch of a row, also of an imported one, and only within the org', async (t) => {
    for (const { events, commit } of batches) {
      const event = events.find(({ org_id }) => org_id === orgA);
      t.same(await table.reader.locate(orgA, String(event?.id)), { batchId: commit.batchId, timestamp: event?.timestamp, sourceSeq: event?.source_seq });
      t.equal(await table.reader.locate(orgB, String(event?.id)), undefined);
    }
    const [fresh] = randomEvents(1, { seed: 50, orgId: orgA });
    const now = { ...fresh, timestamp: `${new Date().toISOString().slice(0, 23)}000Z` } as NonNullable<typeof fresh>;
    const batchId = await table.insert([now], { batchNo: 4, producer: 'proxy:one' });
    t.equal((await table.reader.locate(orgA, now.id))?.batchId, batchId, 'near the time in the id');
    for (const odd of [uuidv7(), 'nonsense', '', "' OR 1=1 --", now.id.toUpperCase()]) t.equal(await table.reader.locate(orgA, odd), undefined, odd);
  });

  t.test('batchRowCount counts the rows of all orgs', async (t) => {
    for (const { events, commit } of batches) t.equal(await table.reader.batchRowCount(commit.batchId, commit.minTimestamp, commit.maxTimestamp), events.length);
    t.equal(await table.reader.batchRowCount(uuidv7(), '2026-11-20T00:00:00.000000Z', '2026-11-21T00:00:00.000000Z'), 0);
  });

  t.test('the ledger names holes and short batches', async (t) => {
    const rows = (seed: number) => randomEvents(5, { seed, orgId: orgA });
    for (const batchNo of [1, 2, 5, 6, 9]) await table.insert(rows(batchNo + 100), { batchNo, producer: 'outbox' });
    const short = await table.insert(rows(120), { batchNo: 10, producer: 'outbox', rows: 8 });
    t.same(await table.reader.producerLedger(), [
      { producer: 'outbox', firstBatchNo: 1, lastBatchNo: 10, batches: 6, rows: 30, expectedRows: 33, missing: [{ from: 3, to: 4 }, { from: 7, to: 8 }], uneven: [{ batchNo: 10, batchId: short, rows: 5, expected: 8 }] },
      { producer: 'proxy:one', firstBatchNo: 1, lastBatchNo: 4, batches: 4, rows: 241, expectedRows: 241, missing: [], uneven: [] },
    ]);
  });
});
