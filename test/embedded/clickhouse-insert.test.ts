import { request } from 'node:http';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { startStack } from '../support/stack.ts';
import { errorOf, eventually, quietClient, rowsOf } from './quiet-client.ts';

const stack = await startStack(t, { clickhouse: { maxBodyBytes: 8_388_608 } });
const client = quietClient(stack.clickhouseUrl);
t.teardown(() => client.close());
const numbers = { clickhouse_settings: { output_format_json_quote_64bit_integers: 0 } } as const;

async function makeTable(name: string): Promise<void> {
  await client.command({
    query: `CREATE TABLE ${name} (id UInt32, name LowCardinality(String) DEFAULT concat('n', toString(id)), at DateTime64(6, 'UTC') DEFAULT '2026-01-01 00:00:00', tags Map(LowCardinality(String), Int64),
      upper String MATERIALIZED upper(name), alias String ALIAS name) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100`,
  });
}

const post = async (query: string, body: Buffer | string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${stack.clickhouseUrl}/?query=${encodeURIComponent(query)}`, { method: 'POST', body, headers });
  return { status: response.status, text: await response.text() };
};

t.test('rows of a stream, with the table\'s defaults for what they leave out', async (t) => {
  await makeTable('streamed');
  const values = Readable.from((function* () {
    for (let id = 0; id < 20_000; id += 1) yield id % 2 === 0 ? { id } : { id, name: 'given', tags: { a: id }, at: '2026-11-20 10:00:00.123456' };
  })());
  const result = await client.insert({ table: 'streamed', values, format: 'JSONEachRow' });
  t.match(result.summary, { written_rows: '20000' });
  t.same(await rowsOf(client, 'SELECT id, name, at, tags, upper, alias FROM streamed WHERE id < 2 ORDER BY id', numbers), [
    { id: 0, name: 'n0', at: '2026-01-01 00:00:00.000000', tags: {}, upper: 'N0', alias: 'n0' },
    { id: 1, name: 'given', at: '2026-11-20 10:00:00.123456', tags: { a: 1 }, upper: 'GIVEN', alias: 'given' },
  ]);
  t.same(await rowsOf(client, 'SELECT count() AS n FROM streamed', numbers), [{ n: 20_000 }]);
});

t.test('column lists: named, in another order, all but some', async (t) => {
  await makeTable('columns');
  await client.insert({ table: 'columns', columns: ['name', 'id'], values: [['b', 2]], format: 'JSONCompactEachRow' });
  await client.insert({ table: 'columns', columns: { except: ['at', 'tags'] }, values: [[3, 'c']], format: 'JSONCompactEachRow' });
  await client.insert({ table: 'default.columns', columns: ['id'], values: Readable.from(['4\n5\n'], { objectMode: false }), format: 'CSV' });
  await client.insert({ table: '`columns`', values: Readable.from(['name,id\n"x,y",6\n'], { objectMode: false }), format: 'CSVWithNames' });
  t.same(await rowsOf(client, 'SELECT id, name FROM columns ORDER BY id'), [{ id: 2, name: 'b' }, { id: 3, name: 'c' }, { id: 4, name: 'n4' }, { id: 5, name: 'n5' }, { id: 6, name: 'x,y' }]);
  t.match(await errorOf(client.insert({ table: 'columns', columns: ['nope'], values: [[1]], format: 'JSONCompactEachRow' })), { code: '16', type: 'NO_SUCH_COLUMN_IN_TABLE' });
  t.match(await errorOf(client.insert({ table: 'columns', columns: ['upper'], values: [['x']], format: 'JSONCompactEachRow' })), { code: '44', type: 'ILLEGAL_COLUMN' });
});

t.test('the structure follows a table that is changed', async (t) => {
  await makeTable('changed');
  await client.insert({ table: 'changed', values: [{ id: 1 }], format: 'JSONEachRow' });
  await client.command({ query: 'ALTER TABLE changed ADD COLUMN extra String DEFAULT \'e\'' });
  await client.insert({ table: 'changed', values: [{ id: 2 }, { id: 3, extra: 'x' }], format: 'JSONEachRow' });
  t.same(await rowsOf(client, 'SELECT id, extra FROM changed ORDER BY id'), [{ id: 1, extra: 'e' }, { id: 2, extra: 'e' }, { id: 3, extra: 'x' }]);
});

t.test('bodies in every encoding, from the client and raw', async (t) => {
  await makeTable('encoded');
  const ndjson = Buffer.from(Array.from({ length: 5000 }, (_, id) => JSON.stringify({ id, name: `row ${id}` })).join('\n'));
  const encodings: Record<string, Buffer> = { identity: ndjson, gzip: gzipSync(ndjson), deflate: deflateSync(ndjson), br: brotliCompressSync(ndjson), zstd: zstdCompressSync(ndjson) };
  for (const [encoding, body] of Object.entries(encodings)) {
    t.match(await post('INSERT INTO encoded SETTINGS insert_deduplication_token = {token:String} FORMAT JSONEachRow'.replace('{token:String}', `'${encoding}'`), body, { 'content-encoding': encoding }), { status: 200, text: '' }, encoding);
  }
  for (const codec of ['gzip', 'zstd', 'br'] as const) {
    const compressed = quietClient(stack.clickhouseUrl, { compression: { request: { codec } } });
    await compressed.exec({ query: 'INSERT INTO encoded FORMAT JSONEachRow', values: Readable.from([ndjson], { objectMode: false }), clickhouse_settings: { insert_deduplication_token: `client ${codec}` } });
    // The client compresses the text of commands, too.
    await compressed.command({ query: 'SELECT 1' });
    await compressed.close();
  }
  t.same(await rowsOf(client, 'SELECT count() AS n, uniqExact(id) AS ids, countIf(name = concat(\'row \', toString(id))) AS right FROM encoded', numbers), [{ n: 40_000, ids: 5000, right: 40_000 }]);
  t.match(await post('INSERT INTO encoded FORMAT JSONEachRow', 'not compressed', { 'content-encoding': 'gzip' }), { status: 500, text: /^Code: 354\./ });
  t.match(await post('INSERT INTO encoded FORMAT JSONEachRow', 'not compressed', { 'content-encoding': 'zstd' }), { status: 500, text: /^Code: 354\./ });
  t.match(await post('INSERT INTO encoded FORMAT JSONEachRow', gzipSync(ndjson).subarray(0, 1000), { 'content-encoding': 'gzip' }), { status: 500, text: /^Code: 354\./ });
  t.match(await post('INSERT INTO encoded FORMAT JSONEachRow', 'x', { 'content-encoding': 'lz4' }), { status: 501, text: /^Code: 48\./ });
  t.same(await rowsOf(client, 'SELECT count() AS n FROM encoded', numbers), [{ n: 40_000 }]);
});

t.test('data is data: blank lines and SQL in it are never executed', async (t) => {
  await client.command({ query: 'CREATE TABLE raw (id UInt32, text String) ENGINE = MergeTree ORDER BY id' });
  const hostile = '6\tok\n\n\nDROP TABLE raw;\n';
  t.match(await errorOf(client.insert({ table: 'raw', values: Readable.from([hostile], { objectMode: false }), format: 'TabSeparated' })), { code: '27' });
  t.same(await rowsOf(client, 'SELECT count() AS n FROM raw', numbers), [{ n: 0 }]);
  const lines = '{"id":1,"text":"a"}\n\n\n{"id":2,"text":"\\n\\nDROP TABLE raw;"}\n\n';
  await client.exec({ query: 'INSERT INTO raw FORMAT JSONEachRow', values: Readable.from([lines], { objectMode: false }) });
  t.match(await post('', `INSERT INTO raw FORMAT JSONEachRow\n${lines}`.replaceAll('"id":', '"id":1')), { status: 200 });
  t.match(await post('', 'INSERT INTO raw VALUES (20, \'; DROP TABLE raw\'), (21, concat(\'a\', \'b\'));\n'), { status: 200 });
  t.match(await post('', 'INSERT INTO raw FORMAT CSV\n30,"two\n\nlines"\n'), { status: 200 });
  t.same(await rowsOf(client, 'SELECT id, text FROM raw ORDER BY id'), [
    { id: 1, text: 'a' }, { id: 2, text: '\n\nDROP TABLE raw;' }, { id: 11, text: 'a' }, { id: 12, text: '\n\nDROP TABLE raw;' },
    { id: 20, text: '; DROP TABLE raw' }, { id: 21, text: 'ab' }, { id: 30, text: 'two\n\nlines' },
  ]);
});

t.test('binary formats, also with NUL bytes and line ends by chance', async (t) => {
  await client.command({ query: 'CREATE TABLE binary (n UInt32, s String) ENGINE = MergeTree ORDER BY n' });
  for (const format of ['Native', 'RowBinary', 'Parquet', 'ArrowStream']) {
    const exported = await client.exec({ query: `SELECT toUInt32(number * 2570) AS n, concat(char(10, 10, 0, 13), toString(number)) AS s FROM numbers(20000) FORMAT ${format}` });
    await client.exec({ query: `INSERT INTO binary FORMAT ${format}`, values: exported.stream });
    t.same(await rowsOf(client, 'SELECT count() AS c, uniqExact(n) AS u, countIf(s = concat(char(10, 10, 0, 13), toString(n / 2570))) AS right FROM binary', numbers), [{ c: 20_000, u: 20_000, right: 20_000 }], format);
    await client.command({ query: 'TRUNCATE TABLE binary' });
  }
});

t.test('nothing is inserted of nothing, and INSERT SELECT says what it wrote', async (t) => {
  await makeTable('counted');
  t.match(await post('INSERT INTO counted FORMAT JSONEachRow', ''), { status: 200 });
  const { summary } = await client.command({ query: 'INSERT INTO counted (id) SELECT number FROM numbers(123)' });
  t.match(summary, { written_rows: '123' });
  t.same(await rowsOf(client, 'SELECT count() AS n FROM counted', numbers), [{ n: 123 }]);
});

t.test('data that does not fit: ClickHouse\'s codes, and no row of it', async (t) => {
  await makeTable('refused');
  const insert = async (body: string, settings = ''): Promise<{ status: number; text: string }> => post(`INSERT INTO refused ${settings} FORMAT JSONEachRow`, body);
  t.match(await insert('{"id":1}\n{"id":"x"}\n'), { status: 400, text: /^Code: 27\..*\(at row 2\)/s });
  t.match(await insert('{"id":1}\n{"nope":1}\n', 'SETTINGS input_format_skip_unknown_fields = 0'), { status: 400, text: /^Code: 117\..*nope.*\(at row 2\)/s });
  t.match((await insert('{"id":1}\n{"id":2', '')).text, /^Code: \d+\..* \([A-Z_]+\) \(version/s);
  t.match(await insert('garbage', ''), { status: 400, text: /^Code: \d+\./ });
  t.notMatch((await insert('{"id":"x"}')).text, 'spool', 'our files are not named');
  t.match(await post('INSERT INTO no_such_table FORMAT JSONEachRow', '{}'), { status: 404, text: /^Code: 60\./ });
  t.match(await post('INSERT INTO refused FORMAT NoSuchFormat', '{}'), { status: 404, text: /^Code: 73\./ });
  t.match(await post('INSERT INTO refused FORMAT JSONEachRow', 'x'.repeat(8_388_609)), { status: 413, text: /^Code: 229\./ });
  t.same(await rowsOf(client, 'SELECT count() AS n FROM refused', numbers), [{ n: 0 }]);
});

t.test('a token is inserted once, by setting and by clause, and also after kill -9', async (t) => {
  await makeTable('once');
  const insert = async (token: string, ids: number[]): Promise<unknown> => client.insert({ table: 'once', values: ids.map((id) => ({ id })), format: 'JSONEachRow', clickhouse_settings: { insert_deduplication_token: token } });
  const count = async (): Promise<unknown> => (await rowsOf<{ n: number }>(client, 'SELECT count() AS n FROM once', numbers))[0]?.n;
  await insert('first', [1, 2]);
  await insert('first', [1, 2]);
  t.equal(await count(), 2);
  await insert('second', [1, 2]);
  t.equal(await count(), 4, 'the same rows under another token are other rows');
  await post('INSERT INTO once SETTINGS insert_deduplication_token = \'second\' FORMAT JSONEachRow', '{"id":1}\n{"id":2}\n');
  t.equal(await count(), 4);
  await stack.clickhouse.kill();
  await stack.clickhouse.restart();
  await insert('first', [1, 2]);
  await insert('second', [1, 2]);
  t.equal(await count(), 4);
  await insert('third', [3]);
  t.equal(await count(), 5);
});

t.test('an upload that breaks off inserts nothing and leaves no file', async (t) => {
  await makeTable('broken');
  await Promise.all(Array.from({ length: 5 }, () => new Promise<void>((resolve) => {
    const upload = request(`${stack.clickhouseUrl}/?query=${encodeURIComponent('INSERT INTO broken FORMAT JSONEachRow')}`, { method: 'POST' });
    upload.on('error', () => resolve());
    upload.on('close', () => resolve());
    upload.write('{"id":1}\n'.repeat(200_000), () => upload.destroy());
  })));
  await eventually('spool is empty', async () => (await readdir(join(stack.dir, 'clickhouse/spool'))).length === 0);
  t.same(await rowsOf(client, 'SELECT count() AS n FROM broken', numbers), [{ n: 0 }]);
});
