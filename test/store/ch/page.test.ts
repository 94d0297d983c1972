import t from 'tap';
import fc from 'fast-check';
import type { AuditEvent } from '../../../src/events/event.ts';
import { formatTimestamp } from '../../../src/kernel/clock.ts';
import { uuidv7 } from '../../../src/kernel/ids.ts';
import type { Order } from '../../../src/query/cursor.ts';
import { compileMatcher } from '../../../src/query/match.ts';
import type { RawPageParams } from '../../../src/query/page-request.ts';
import { parsePageRequest, rowKey } from '../../../src/query/page-request.ts';
import { pageStatement } from '../../../src/store/ch/page.ts';
import type { AuditTable } from './audit-table.ts';
import { openAuditTable } from './audit-table.ts';
import { byTriple, createRandom, orgA, orgB, randomEvents, startMicros, stored } from './random-events.ts';

const everything = { predicate: true, key: 'all' } as const;

async function walk(table: AuditTable, orgId: string, raw: RawPageParams, betweenPages?: () => Promise<unknown>): Promise<AuditEvent[]> {
  const found: AuditEvent[] = [];
  let cursor: string | undefined;
  do {
    const request = parsePageRequest(orgId, everything, { ...raw, cursor });
    const page = await table.reader.page(orgId, request);
    found.push(...page.events);
    if ((page.cursor !== undefined) !== (page.events.length === request.limit)) throw new Error('a cursor must be there exactly when the page is full');
    cursor = page.cursor;
    await betweenPages?.();
  } while (cursor !== undefined);
  return found;
}

t.test('pages', async (t) => {
  const table = await openAuditTable(t);
  const events = randomEvents(900, { seed: 3, orgId: orgA });
  const sorted = events.toSorted(byTriple);
  // Several parts, with the rows of one moment spread over them.
  for (let part = 0; part < 5; part += 1) await table.insert(events.filter((_, index) => index % 5 === part), { batchNo: part + 1 });
  await table.insert(randomEvents(300, { seed: 4, orgId: orgB }));

  t.test('rows come back in the form they were given in, and only those of the org', async (t) => {
    const { events: page, cursor } = await table.reader.page(orgA, parsePageRequest(orgA, everything, { order: 'asc', limit: 10_000 }));
    t.same(page, sorted);
    t.equal(cursor, undefined);
    t.ok(page.every((event) => Object.values(event).every((value) => value !== null && value !== '')), 'absent columns are left out');
    t.ok(sorted.some((event, index) => event.timestamp === sorted[index + 1]?.timestamp && event.source_seq === sorted[index + 1]?.source_seq), 'there are ties on timestamp and source_seq');
  });

  t.test('pages set side by side are the full scan, in both orders, whatever the limit and filter', async () => {
    await fc.assert(fc.asyncProperty(
      fc.constantFrom<Order>('asc', 'desc'), fc.integer({ min: 40, max: 950 }),
      fc.constantFrom<string[]>([], ['decision=deny'], ['destination!=a', 'counter=tokens'], ['path!='], ['counter!=requests,tokens'], ['workspace_id=ws_1,ws_2', 'event_type!=tool_call']),
      fc.constantFrom(undefined, sorted[200]?.timestamp), fc.constantFrom(undefined, sorted[700]?.timestamp),
      async (order, limit, filter, from, to) => {
        const raw: RawPageParams = { order, limit, filter, from, to };
        const expected = sorted.filter(compileMatcher(parsePageRequest(orgA, everything, raw).predicate));
        const found = await walk(table, orgA, raw);
        if (JSON.stringify(found) !== JSON.stringify(order === 'asc' ? expected : expected.toReversed())) throw new Error(`${found.length} rows, expected ${expected.length}`);
      },
    ), { numRuns: 40 });
  });

  t.test('one row at a time, through every tie', async (t) => {
    const few = { from: sorted[100]?.timestamp, to: sorted[140]?.timestamp, limit: 1 };
    const expected = sorted.filter((event) => event.timestamp >= String(few.from) && event.timestamp < String(few.to)).map(({ id }) => id);
    t.ok(expected.length > 30);
    t.same((await walk(table, orgA, { ...few, order: 'asc' })).map(({ id }) => id), expected);
    t.same((await walk(table, orgA, { ...few, order: 'desc' })).map(({ id }) => id), expected.toReversed());
  });

  t.test('a predicate that nothing can fulfil needs no query', async (t) => {
    const request = parsePageRequest(orgA, { predicate: false, key: 'none' }, {});
    const aborted = AbortSignal.abort();
    t.same(await table.reader.page(orgA, request, aborted), { events: [] });
  });
});

t.test('while rows arrive, nothing is doubled and nothing but late rows is missed', async (t) => {
  for (const order of ['asc', 'desc'] as const) {
    const table = await openAuditTable(t);
    const random = createRandom(5);
    const before = randomEvents(400, { seed: 6, orgId: orgA });
    await table.insert(before);
    let batches = 0;
    const arrived: AuditEvent[] = [];
    const found = await walk(table, orgA, { order, limit: 37 }, async () => {
      if (batches >= 12) return;
      batches += 1;
      // Half of them late: with times anywhere in the range that is being read.
      const rows = randomEvents(20, { seed: 100 + batches, orgId: orgA }).map((event, index) => (index % 2 === 0 ? event : { ...event, timestamp: formatTimestamp(startMicros + 7_200_000_000 + batches * 1000 + Math.floor(random() * 1000)) }));
      arrived.push(...rows);
      await table.insert(rows, { batchNo: batches + 1 });
    });
    const ids = found.map(({ id }) => id);
    t.equal(new Set(ids).size, ids.length, 'nothing doubled');
    t.ok(before.every(({ id }) => ids.includes(id)), 'every row that was there at the start');
    t.same(found, order === 'asc' ? found.toSorted(byTriple) : found.toSorted(byTriple).toReversed(), 'in order');
    if (order === 'asc') t.ok(arrived.filter(({ timestamp }) => timestamp >= formatTimestamp(startMicros + 7_200_000_000)).every(({ id }) => ids.includes(id)), 'and every row that came in ahead of the cursor');
    t.ok(ids.length > before.length);
  }
});

t.test('a row stored twice is answered once, and a page is still full', async (t) => {
  const table = await openAuditTable(t);
  await table.clickhouse.client.command({ query: `SYSTEM STOP MERGES ${table.clickhouse.events}` });
  const events = randomEvents(120, { seed: 7, orgId: orgA });
  for (const batchNo of [1, 2, 3]) await table.insert(events, { batchNo });
  const [stats] = await table.rows<{ n: number }>(`SELECT count() AS n FROM ${table.clickhouse.events}`);
  t.equal(Number(stats?.n), 360, 'three copies are stored');
  for (const limit of [1, 7, 50, 119, 120, 121, 1000]) {
    const found = await walk(table, orgA, { order: 'asc', limit });
    t.same(found.map(({ id }) => id), events.toSorted(byTriple).map(({ id }) => id), `limit ${limit}`);
  }
});

t.test('a page at any depth reads as little as the first', async (t) => {
  const table = await openAuditTable(t);
  const count = 200_000;
  await table.clickhouse.client.command({
    query: `INSERT INTO ${table.clickhouse.events} (id, org_id, user_id, timestamp, source_seq, event_type, category, ingested_at, producer, batch_id, batch_no, batch_rows, retention_days)
      SELECT generateUUIDv7(), if(number % 4 = 0, '${orgB}', '${orgA}'), 'me', fromUnixTimestamp64Micro(${startMicros} + intDiv(number, 8) * 1000, 'UTC'), number % 3, 'policy_decision', 'audit', now64(3), 'p', generateUUIDv7(), 1, 1, 400
      FROM numbers(${count}) SETTINGS insert_deduplication_token = '${uuidv7()}'`,
  });
  await table.clickhouse.client.command({ query: `OPTIMIZE TABLE ${table.clickhouse.events} FINAL` });

  async function granules(order: Order, after: AuditEvent | undefined): Promise<number> {
    const statement = pageStatement(table.clickhouse.events, orgA, { predicate: true, order, limit: 100, after: after === undefined ? undefined : rowKey(after) });
    const result = await table.clickhouse.client.query({ query: `EXPLAIN indexes = 1 ${statement.sql}`, query_params: statement.params.values, format: 'TabSeparatedRaw' });
    const plan = await result.text();
    const primary = /PrimaryKey[\s\S]*?Granules: (\d+)\/(\d+)/.exec(plan);
    t.match(plan, /ReadType: In(Reverse)?Order|Read type: In(Reverse)?Order/i, 'reads in the order of the key');
    return Number(primary?.[1]);
  }

  async function rowsRead(order: Order, after: AuditEvent | undefined): Promise<number> {
    const statement = pageStatement(table.clickhouse.events, orgA, { predicate: true, order, limit: 100, after: after === undefined ? undefined : rowKey(after) });
    const result = await table.clickhouse.client.query({ query: statement.sql, query_params: statement.params.values, format: 'JSON' });
    return (await result.json()).statistics?.rows_read ?? Number.NaN;
  }

  for (const order of ['asc', 'desc'] as const) {
    const firstGranules = await granules(order, undefined);
    const firstRows = await rowsRead(order, undefined);
    t.ok(firstGranules > 50, 'the org has many granules');
    for (const depth of [0.1, 0.5, 0.99]) {
      const at = Math.floor((order === 'asc' ? depth : 1 - depth) * (count * 3 / 4));
      const [row] = await table.rows<Record<string, unknown>>(`SELECT * FROM ${table.clickhouse.events} WHERE org_id = '${orgA}' ORDER BY timestamp, source_seq, toUInt128(id) LIMIT 1 OFFSET ${at}`);
      const after = { ...stored({ ...(row as unknown as AuditEvent), timestamp: `${String(row?.['timestamp']).replace(' ', 'T')}Z`, detail: {}, budget_state: {} }) };
      t.ok(await granules(order, after) <= firstGranules * 1.5, `granules at ${depth} ${order}`);
      const rows = await rowsRead(order, after);
      t.ok(rows <= firstRows * 1.5, `rows read at ${depth} ${order}: ${rows}, first page ${firstRows}`);
    }
  }
});
