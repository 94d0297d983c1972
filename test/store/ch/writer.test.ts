import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { uuidv7 } from '../../../src/kernel/ids.ts';
import { parsePageRequest } from '../../../src/query/page-request.ts';
import { ClickHouseDataError, ClickHouseUnavailableError } from '../../../src/store/ch/errors.ts';
import { createAuditWriter } from '../../../src/store/ch/writer.ts';
import { connect, ndjsonOf, openAuditTable } from './audit-table.ts';
import { byTriple, orgA, randomEvents } from './random-events.ts';

const all = parsePageRequest(orgA, { predicate: true, key: 'all' }, { order: 'asc', limit: 10_000 });

t.test('a batch is stored once, however often and in whatever way it is sent', async (t) => {
  const table = await openAuditTable(t);
  const count = async () => Number((await table.rows<{ n: number }>(`SELECT count() AS n FROM ${table.clickhouse.events}`))[0]?.n);
  const events = randomEvents(500, { seed: 31, orgId: orgA });
  const id = uuidv7();
  const bytes = ndjsonOf(events, { id });
  for (let time = 0; time < 3; time += 1) {
    await table.writer.insertBatch({ token: id, ndjson: bytes });
    t.equal(await count(), 500, `sent ${time + 1} times`);
  }
  await table.writer.insertBatch({ token: id, ndjson: zstdCompressSync(bytes), encoding: 'zstd' });
  await table.writer.insertBatch({ token: id, ndjson: gzipSync(bytes), encoding: 'gzip' });
  await table.writer.insertBatch({ token: id, ndjson: Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)], { objectMode: false }) });
  t.equal(await count(), 500, 'compressed and streamed');
  t.same((await table.reader.page(orgA, all)).events, events.toSorted(byTriple));

  t.test('also when its rows fall into several partitions', async (t) => {
    const half = (retentionDays: number, seed: number) => ndjsonOf(randomEvents(200, { seed, orgId: orgA }), { id: 'b0000000-0000-7000-8000-000000000000', retentionDays });
    const mixed = Buffer.concat([half(30, 32), half(90, 33), half(30, 34)]);
    for (let time = 0; time < 3; time += 1) await table.writer.insertBatch({ token: 'mixed', ndjson: mixed });
    t.equal(await count(), 1100);
    t.equal((await table.rows(`SELECT DISTINCT partition FROM system.parts WHERE table = 'audit_events' AND active`)).length, 3);
  });

  t.test('and other batches in between, and an engine that was killed, do not make it forget', async (t) => {
    for (let batchNo = 2; batchNo < 12; batchNo += 1) await table.insert(randomEvents(10, { seed: 40 + batchNo, orgId: orgA }), { batchNo });
    const before = await count();
    await table.stack.clickhouse.kill();
    await t.rejects(table.writer.insertBatch({ token: id, ndjson: bytes }), ClickHouseUnavailableError, 'while it is down');
    await table.stack.clickhouse.restart();
    await table.writer.insertBatch({ token: id, ndjson: bytes });
    t.equal(await count(), before);
  });

  t.test('the largest batch is one block, so that its token covers all of it', async (t) => {
    const before = await count();
    const large = ndjsonOf(randomEvents(10_000, { seed: 60, orgId: orgA }), { id: uuidv7() });
    for (let time = 0; time < 3; time += 1) await table.writer.insertBatch({ token: 'large', ndjson: large });
    t.equal(await count(), before + 10_000);
  });
});

t.test('refused rows are told from everything else', async (t) => {
  const table = await openAuditTable(t);
  const good = randomEvents(3, { seed: 35, orgId: orgA });
  const lines = ndjsonOf(good, { id: uuidv7() }).toString().trimEnd().split('\n');
  const parsed = JSON.parse(lines[1] ?? '') as Record<string, unknown>;
  const poisoned: Record<string, string> = {
    'not JSON': 'this is not JSON',
    'a broken object': String(lines[1]).slice(0, 50),
    'an unknown column': JSON.stringify({ ...parsed, surprise: 1 }),
    'a text for a number': JSON.stringify({ ...parsed, source_seq: 'many' }),
    'an impossible time': JSON.stringify({ ...parsed, timestamp: 'yesterday' }),
    'an id that is none': JSON.stringify({ ...parsed, id: 'x' }),
    'a list for a text': JSON.stringify({ ...parsed, user_id: [1] }),
    'a list for a map': JSON.stringify({ ...parsed, debits: [1, 2] }),
    'a text in a map of integers': JSON.stringify({ ...parsed, debits: { tokens: 'many' } }),
  };
  for (const [name, line] of Object.entries(poisoned)) {
    const ndjson = Buffer.from(`${[lines[0], line, lines[2]].join('\n')}\n`);
    await t.rejects(table.writer.insertBatch({ token: uuidv7(), ndjson }), ClickHouseDataError, name);
    t.equal((await table.reader.page(orgA, all)).events.length, 0, 'and nothing of the batch is stored');
  }
  await t.rejects(table.writer.insertBatch({ token: uuidv7(), ndjson: Buffer.from(lines.join('\n\n;\nDROP TABLE x;\n')) }), ClickHouseDataError, 'text between rows is data, not SQL');

  const nowhere = connect('http://127.0.0.1:9');
  t.teardown(() => nowhere.close());
  await t.rejects(createAuditWriter(nowhere, { timeoutMs: 1000 }).insertBatch({ token: 'x', ndjson: Buffer.from(lines.join('\n')) }), ClickHouseUnavailableError, 'nobody there');
  const unmigrated = connect(table.stack.clickhouseUrl, 'nothing_here');
  t.teardown(() => unmigrated.close());
  await t.rejects(createAuditWriter(unmigrated, { timeoutMs: 1000 }).insertBatch({ token: 'x', ndjson: Buffer.from(lines.join('\n')) }), ClickHouseUnavailableError, 'no such table');
  await t.rejects(table.writer.insertBatch({ token: 'x', ndjson: Buffer.from('no zstd at all'), encoding: 'zstd' }), ClickHouseUnavailableError, 'damaged on the way');
  const controller = new AbortController();
  controller.abort(new Error('shutting down'));
  await t.rejects(table.writer.insertBatch({ token: 'x', ndjson: Buffer.from(lines.join('\n')) }, controller.signal), { message: 'shutting down' });
  await table.writer.insertBatch({ token: uuidv7(), ndjson: Buffer.from(`${lines.join('\n')}\n`) });
  t.equal((await table.reader.page(orgA, all)).events.length, 3, 'the sound rows go in afterwards');
});
