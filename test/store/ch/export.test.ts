import { createHash } from 'node:crypto';
import { buffer, text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import t from 'tap';
import { columns } from '../../../src/events/columns.ts';
import type { AuditEvent } from '../../../src/events/event.ts';
import { parsePageRequest } from '../../../src/query/page-request.ts';
import { csvHeader, csvLine } from '../../../src/store/ch/csv.ts';
import { exportFormats } from '../../../src/store/ch/export.ts';
import { parquetRows } from '../../../src/store/ch/parquet-footer.ts';
import { createAuditReader } from '../../../src/store/ch/reader.ts';
import { connect, limits, openAuditTable } from './audit-table.ts';
import { startRelay } from './relay.ts';
import { byTriple, orgA, orgB, randomEvents, trickyTexts } from './random-events.ts';

const everything = { predicate: true, key: 'all' } as const;
const asc = parsePageRequest(orgA, everything, { order: 'asc' });
const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** RFC 4180, enough to read back what we write. */
function parseCsv(csv: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === '\r\n') rows.push([]);
  }
  return rows.filter((row) => row.length > 1);
}

t.test('exports', async (t) => {
  const table = await openAuditTable(t);
  const events = randomEvents(700, { seed: 21, orgId: orgA });
  const sorted = events.toSorted(byTriple);
  for (let part = 0; part < 3; part += 1) await table.insert(events.filter((_, index) => index % 3 === part), { batchNo: part + 1 });
  await table.insert(events.slice(0, 50), { batchNo: 4 });
  await table.insert(randomEvents(50, { seed: 22, orgId: orgB }), { batchNo: 5 });

  t.test('NDJSON is the API form, in order, each row once', async (t) => {
    const { stream, manifest } = table.reader.exportStream(orgA, asc, 'ndjson');
    const out = await text(stream);
    t.same(out.trimEnd().split('\n').map((line) => JSON.parse(line) as unknown), sorted);
    t.same(await manifest, { rows: 700, bytes: Buffer.byteLength(out), sha256: sha256(out) });
  });

  t.test('filters, visibility and order are those of a page', async (t) => {
    const request = parsePageRequest(orgA, { predicate: { in: 'category', values: ['audit'] }, key: '' }, { filter: ['decision=deny'], from: sorted[100]?.timestamp });
    const expected = sorted.filter((event) => event.category === 'audit' && event.decision === 'deny' && event.timestamp >= String(sorted[100]?.timestamp)).toReversed();
    for (const format of ['ndjson', 'csv'] as const) {
      const { stream, manifest } = table.reader.exportStream(orgA, request, format);
      const out = await text(stream);
      const ids = format === 'ndjson' ? out.trimEnd().split('\n').map((line) => (JSON.parse(line) as AuditEvent).id) : parseCsv(out).slice(1).map(([id]) => id);
      t.same(ids, expected.map(({ id }) => id));
      t.equal((await manifest).rows, expected.length);
    }
  });

  t.test('CSV reads back, and no cell is a formula', async (t) => {
    const { stream, manifest } = table.reader.exportStream(orgA, asc, 'csv');
    const out = await text(stream);
    const [header, ...rows] = parseCsv(out);
    t.same(header, columns.map(({ name }) => name));
    t.equal(rows.length, 700);
    t.equal((await manifest).sha256, sha256(out));
    t.notOk(rows.some((row) => row.some((cell) => /^[=+\-@\t\r]/.test(cell))));
    rows.forEach((row, index) => {
      const event = sorted[index] as unknown as Record<string, unknown>;
      const cells = columns.map(({ name }) => event[name] === undefined ? '' : typeof event[name] === 'string' ? event[name] : JSON.stringify(event[name]));
      if (JSON.stringify(row) !== JSON.stringify(cells.map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell)))) t.fail(`row ${index}`, { row, cells });
    });
  });

  t.test('Parquet reads back in the engine, in order, with absent values as NULL', async (t) => {
    const { stream, manifest } = table.reader.exportStream(orgA, parsePageRequest(orgA, everything, { order: 'asc' }), 'parquet');
    const file = await buffer(stream);
    const { rows, sha256: digest, bytes } = await manifest;
    t.equal(bytes, file.length);
    t.equal(digest, sha256(file));
    // The copies that no merge has folded yet are still in a native export; rows are never missing.
    t.ok(rows >= 700 && rows <= 750, String(rows));
    t.equal(parquetRows(file), rows);
    const types = 'n UInt32, id String, org_id String, user_id String, timestamp DateTime64(6), source_seq Int64, destination Nullable(String), latency_ms Nullable(UInt32), debits Map(String, Int64), auth_used Array(String), detail Nullable(String)';
    await table.clickhouse.client.command({ query: `CREATE TABLE back (${types.replace('n UInt32, ', '')}) ENGINE = Memory` });
    await table.clickhouse.client.exec({ query: 'INSERT INTO back SETTINGS input_format_skip_unknown_fields = 1 FORMAT Parquet', values: Readable.from([file], { objectMode: false }) }).then(({ stream }) => text(stream));
    const back = await table.rows<Record<string, unknown>>('SELECT * FROM back');
    t.equal(back.length, rows);
    const unique = back.filter((row, index) => row['id'] !== back[index - 1]?.['id']);
    t.same(unique.map(({ id }) => id), sorted.map(({ id }) => id));
    unique.forEach((row, index) => {
      const event = sorted[index] as AuditEvent;
      const expected = { org_id: orgA, destination: event.destination ?? null, latency_ms: event.latency_ms ?? null, debits: event.debits ?? {}, auth_used: event.auth_used ?? [], detail: event.detail === undefined ? null : JSON.stringify(event.detail) };
      const debits = Object.fromEntries(Object.entries(row['debits'] as object).map(([key, value]) => [key, Number(value)]));
      if (JSON.stringify({ ...expected }) !== JSON.stringify({ org_id: row['org_id'], destination: row['destination'], latency_ms: row['latency_ms'], debits, auth_used: row['auth_used'], detail: row['detail'] })) t.fail(`row ${index}`, { row, expected });
    });
  });

  t.test('an empty export is whole as well', async (t) => {
    for (const format of exportFormats) {
      const { stream, manifest } = table.reader.exportStream(orgA, parsePageRequest(orgA, everything, { filter: ['path=/nowhere'] }), format);
      const out = await buffer(stream);
      t.match(await manifest, { rows: 0, sha256: sha256(out) }, format);
      if (format === 'csv') t.equal(out.toString(), csvHeader);
    }
    const nothing = table.reader.exportStream(orgA, { predicate: false, order: 'asc' }, 'parquet');
    t.equal(parquetRows(await buffer(nothing.stream)), 0);
  });

  t.test('one that is aborted says so, and gives its place back', async (t) => {
    for (const format of exportFormats) {
      const controller = new AbortController();
      const aborted = table.reader.exportStream(orgA, asc, format, controller.signal);
      controller.abort();
      await t.rejects(buffer(aborted.stream), { name: 'AbortError' });
      await t.rejects(aborted.manifest, { name: 'AbortError' });
    }
    t.equal(table.reader.load().exports.running, 0);
    t.same(table.errors, []);
  });

  t.test('an answer that is cut off anywhere is an error, never a short export', async (t) => {
    const relay = await startRelay(t, table.stack.clickhouseUrl);
    const clickhouse = connect(relay.url);
    t.teardown(() => clickhouse.close());
    const reader = createAuditReader(clickhouse, limits, () => undefined);
    const sizes = new Map(await Promise.all(exportFormats.map(async (format) => {
      const whole = reader.exportStream(orgA, asc, format);
      return [format, (await buffer(whole.stream)).length] as const;
    })));
    for (const format of exportFormats) {
      for (const share of [0.01, 0.5, 0.98]) {
        for (relay.then of format === 'parquet' ? ['break', 'end'] as const : ['break'] as const) {
          relay.passBytes = Math.floor((sizes.get(format) ?? 0) * share);
          const cut = reader.exportStream(orgA, asc, format);
          await t.rejects(buffer(cut.stream), { code: 'dependency_unavailable' }, `${format} at ${share}, ${relay.then}`);
          await t.rejects(cut.manifest, { code: 'dependency_unavailable' });
        }
      }
    }
    t.equal(reader.load().exports.running, 0);
  });
});

t.test('a long export that runs out of time or is abandoned', async (t) => {
  const table = await openAuditTable(t);
  await table.clickhouse.client.command({ query: `INSERT INTO ${table.clickhouse.events} (id, org_id, user_id, timestamp, source_seq, event_type, detail, ingested_at, batch_id, retention_days) SELECT generateUUIDv7(), '${orgA}', 'me', now64(6), number, 'tool_call', concat('{"n":"', hex(randomString(10)), '"}'), now64(3), generateUUIDv7(), 400 FROM numbers(150000) SETTINGS insert_deduplication_token = 'bulk'` });
  const hasty = createAuditReader(table.clickhouse, { ...limits, exportTimeoutMs: 20 }, (error) => table.errors.push(error));
  for (const format of exportFormats) {
    const late = hasty.exportStream(orgA, asc, format);
    await t.rejects(buffer(late.stream), { code: 'query_too_expensive' }, `${format} out of time`);
    await t.rejects(late.manifest, { code: 'query_too_expensive' });
    const abandoned = table.reader.exportStream(orgA, asc, format);
    for await (const _chunk of abandoned.stream) break;
    await t.rejects(abandoned.manifest, { name: 'AbortError' }, `${format} abandoned`);
  }
  t.equal(hasty.load().exports.running + table.reader.load().exports.running, 0);
  t.same(table.errors, []);
  await t.resolves(table.reader.page(orgA, asc), 'the engine goes on serving');
});

t.test('every tricky text survives a CSV cell', async (t) => {
  for (const path of [...trickyTexts, '-1', '+1', '@x', '\t=1', '""', '"', ',', '\r\n']) {
    const event = { ...randomEvents(1, { seed: 1, orgId: orgA })[0], path } as AuditEvent;
    const [row] = parseCsv(csvHeader + csvLine(event)).slice(1);
    const cell = row?.[columns.findIndex(({ name }) => name === 'path')];
    t.ok(cell === path || cell === `'${path}`, JSON.stringify(path));
    t.notMatch(cell, /^[=+\-@\t\r]/);
  }
});
