import { TupleParam } from '@clickhouse/client';
import t from 'tap';
import { startStack } from '../support/stack.ts';
import { errorOf, quietClient, rowsOf } from './quiet-client.ts';

const stack = await startStack(t, { clickhouse: true });
const client = quietClient(stack.clickhouseUrl);
t.teardown(() => client.close());

t.test('pings, by path and by query', async (t) => {
  t.same(await client.ping(), { success: true });
  t.same(await client.ping({ select: true }), { success: true });
});

t.test('typed parameters come back as they were sent', async (t) => {
  const hostile = `it's a "\\" \t\r\n \`back\` {x:Int8} ; DROP TABLE t -- ü 🚢`;
  const cases: [string, unknown, unknown][] = [
    ['String', hostile, hostile],
    ['String', '', ''],
    ['Array(String)', ['a\'b', 'c\\d', hostile], ['a\'b', 'c\\d', hostile]],
    ['Array(UUID)', ['018f5b3c-0000-7000-8000-000000000000'], ['018f5b3c-0000-7000-8000-000000000000']],
    ['UUID', '018f5b3c-0000-7000-8000-0000000000ff', '018f5b3c-0000-7000-8000-0000000000ff'],
    ['Int64', 9_223_372_036_854_775_807n, '9223372036854775807'],
    ['Int64', '-9223372036854775808', '-9223372036854775808'],
    ['UInt32', 4_294_967_295, 4_294_967_295],
    ['Float64', 1.5, 1.5],
    ['Bool', true, true],
    ['Nullable(String)', null, null],
    ['Nullable(String)', 'NULL', 'NULL'],
    ['Map(String, Int64)', { 'a\'b': 1 }, { 'a\'b': '1' }],
    ['Array(Array(Int8))', [[1], [2, 3], []], [[1], [2, 3], []]],
    ['Tuple(Int32, String)', new TupleParam([42, hostile]), [42, hostile]],
    ['DateTime64(6, \'UTC\')', '2026-11-20 10:00:00.123456', '2026-11-20 10:00:00.123456'],
    ['DateTime64(3, \'UTC\')', new Date('2026-11-20T10:00:00.123Z'), '2026-11-20 10:00:00.123'],
    ['Date', '2026-11-20', '2026-11-20'],
    ['LowCardinality(String)', 'x', 'x'],
  ];
  for (const [type, given, expected] of cases) {
    const rows = await rowsOf(client, `SELECT {v:${type}} AS v`, { query_params: { v: given }, clickhouse_settings: { output_format_json_quote_64bit_integers: 1 } });
    t.same(rows, [{ v: expected }], type);
  }
  t.same(await rowsOf(client, 'SELECT count() AS n FROM {db:Identifier}.{table:Identifier}', { query_params: { db: 'system', table: 'one' }, clickhouse_settings: { output_format_json_quote_64bit_integers: 0 } }), [{ n: 1 }]);
});

t.test('parameters too long for a URL arrive in a multipart body', async (t) => {
  const long = Array.from({ length: 60_000 }, (_, i) => `value '${i}' \r\n--x`);
  const result = await client.query({ query: 'SELECT length({v:Array(String)}) AS n, {v:Array(String)}[60000] AS last', query_params: { v: long }, format: 'JSONEachRow', use_multipart_params_auto: true, clickhouse_settings: { output_format_json_quote_64bit_integers: 0 } });
  t.same(await result.json(), [{ n: 60_000, last: long.at(-1) }]);
});

t.test('a parameter that is missing, or not of its type, is an error and not an old value', async (t) => {
  await rowsOf(client, 'SELECT {v:String} AS v', { query_params: { v: 'from another request' } });
  t.match(await errorOf(rowsOf(client, 'SELECT {v:String} AS v')), { code: '456', type: 'UNKNOWN_QUERY_PARAMETER' });
  t.match(await errorOf(rowsOf(client, 'SELECT {v:UInt8} AS v', { query_params: { v: 'no number' } })), { code: '457' });
});

t.test('settings, the current database and temporary tables end with their request', async (t) => {
  await client.command({ query: 'CREATE DATABASE other' });
  t.match(await errorOf(rowsOf(client, 'SELECT * FROM numbers(10)', { clickhouse_settings: { max_result_rows: '5' } })), { code: '396' });
  await client.command({ query: 'SET max_result_rows = 5' });
  await client.command({ query: 'SET readonly = 1' });
  await client.command({ query: 'USE other' });
  await client.command({ query: 'CREATE TEMPORARY TABLE passing (n Int8)' });
  for (let i = 0; i < 20; i += 1) {
    const [row] = await rowsOf(client, `SELECT currentDatabase() AS db, (SELECT count() FROM numbers(10)) AS n, getSetting('max_result_rows') AS rows, getSetting('readonly') AS readonly`, { clickhouse_settings: { output_format_json_quote_64bit_integers: 0 } });
    t.same(row, { db: 'default', n: 10, rows: 0, readonly: 0 });
  }
  t.match(await errorOf(rowsOf(client, 'SELECT * FROM passing')), { code: '60' });
  const inOther = quietClient(stack.clickhouseUrl, { database: 'other' });
  t.teardown(() => inOther.close());
  t.same(await rowsOf(inOther, 'SELECT currentDatabase() AS db'), [{ db: 'other' }]);
  const inNone = quietClient(stack.clickhouseUrl, { database: 'no_such' });
  t.teardown(() => inNone.close());
  t.match(await errorOf(rowsOf(inNone, 'SELECT 1')), { code: '81', type: 'UNKNOWN_DATABASE' });
});

t.test('errors carry the codes, types and statuses of ClickHouse', async (t) => {
  const cases: [string, string, number, Record<string, string>?][] = [
    ['SELECT * FROM no_such_table', '60', 404],
    ['SELECT no_such_column', '47', 404],
    ['SELECT noSuchFunction(1)', '46', 404],
    ['SELEC 1', '62', 400],
    ['hello', '62', 400],
    ['', '62', 400],
    ['SELECT 1; SELECT 2', '62', 400],
    ['SELECT 1 FORMAT NoSuchFormat', '73', 404],
    ['SELECT toInt32(\'abc\')', '6', 400],
    ['SELECT sum(sipHash64(number)) FROM numbers(100000000000)', '159', 408, { max_execution_time: '1' }],
    ['SELECT groupArray(number) FROM numbers(100000000)', '241', 500, { max_memory_usage: '100000000' }],
    ['SELECT 1', '115', 404, { no_such_setting: '1' }],
    ['SELECT 1', '115', 404, { 'x = 1, max_threads': '1' }],
  ];
  for (const [query, code, status, settings = {}] of cases) {
    const url = new URL(stack.clickhouseUrl);
    for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value);
    const response = await fetch(url, { method: 'POST', body: query });
    const text = await response.text();
    t.same([response.headers.get('x-clickhouse-exception-code'), response.status], [code, status], query);
    t.match(text, new RegExp(`^Code: ${code}\\. DB::Exception: [\\s\\S]+ \\([A-Z_]+\\) \\(version [\\d.]+\\)\\n$`), query);
  }
  t.match(await errorOf(client.query({ query: 'SELECT * FROM no_such_table' })), { code: '60', type: 'UNKNOWN_TABLE' });
});

t.test('never more than one statement', async (t) => {
  await client.command({ query: 'CREATE TABLE victim (n Int8) ENGINE = Memory' });
  const attempts = [
    'SELECT 1; DROP TABLE victim', 'SHOW TABLES; DROP TABLE victim', 'SELECT 1 /* ; */; DROP TABLE victim', 'SELECT \'\\\'\'; DROP TABLE victim -- \'',
    'SELECT 1 #! \'\n; DROP TABLE victim -- \'', 'SELECT `\\``; DROP TABLE victim -- `', 'INSERT INTO victim VALUES (1); DROP TABLE victim',
    'INSERT INTO victim SELECT 1; DROP TABLE victim', 'INSERT INTO victim FORMAT TSV\n1\n\nDROP TABLE victim', 'SET max_threads = 1; DROP TABLE victim', 'SELECT $$ $$; DROP TABLE victim',
    'EXPLAIN SELECT 1; DROP TABLE victim', 'CREATE TABLE other.x (n Int8) ENGINE = Memory; DROP TABLE victim', 'SELECT 1\0; DROP TABLE victim', ';DROP TABLE victim', 'SELECT 1 FORMAT JSON; DROP TABLE victim', 'SELECT 1 INTO OUTFILE \'x\'; DROP TABLE victim',
  ];
  for (const sql of attempts) {
    for (const format of ['JSONEachRow', 'JSON', 'Parquet']) {
      await fetch(`${stack.clickhouseUrl}/?default_format=${format}`, { method: 'POST', body: sql }).then((response) => response.text());
      await fetch(`${stack.clickhouseUrl}/?default_format=${format}&wait_end_of_query=1&query=${encodeURIComponent(sql)}`, { method: 'POST' }).then((response) => response.text());
    }
    // `;DROP` is one statement behind an empty one, for ClickHouse too.
    if (sql.startsWith(';')) continue;
    t.same(await rowsOf(client, 'EXISTS TABLE victim'), [{ result: 1 }], sql);
  }
});

t.test('one semicolon at the end, comments and long texts are no second statement', async (t) => {
  for (const sql of ['SELECT 1 AS n;', 'SELECT 1 AS n -- ; end', '/* ; */ SELECT 1 AS n ;\n-- x\n', '(SELECT 1 AS n)', 'WITH 1 AS x SELECT x AS n', `SELECT 1 AS n FROM system.one WHERE '${'x;'.repeat(50_000)}' != ''`]) {
    for (const format of ['JSONEachRow', 'JSON']) {
      const response = await fetch(`${stack.clickhouseUrl}/?default_format=${format}`, { method: 'POST', body: sql });
      t.match(await response.text(), /"n": ?1/, `${format} ${sql.slice(0, 60)}`);
    }
  }
});

t.test('no way out to files, programs and other servers', async (t) => {
  const attempts = [
    'SELECT * FROM file(\'/etc/passwd\', LineAsString)', 'SELECT file(\'/etc/hostname\')', 'SELECT * FROM \'/etc/passwd\'', 'SELECT * FROM `/etc/passwd`', 'SELECT * FROM url(\'http://127.0.0.1/\', TSV)',
    'SELECT * FROM `file`(\'/etc/passwd\', LineAsString)', 'SELECT 1 INTO OUTFILE \'/tmp/x\'', 'CREATE TABLE f (a String) ENGINE = File(TSV)', 'CREATE TABLE f (a String) ENGINE URL(\'http://127.0.0.1/\', TSV)',
    'INSERT INTO FUNCTION file(\'/tmp/x\', TSV, \'a String\') SELECT 1', 'CREATE DATABASE d ENGINE = Filesystem(\'/\')', 'SELECT * FROM executable(\'id\', TSV, \'a String\')', 'SYSTEM SHUTDOWN',
    'INSERT INTO victim VALUES (length(file(\'/etc/hostname\')))', 'SELECT * FROM remote(\'127.0.0.1\', system.one)',
  ];
  for (const sql of attempts) t.match(await errorOf(client.exec({ query: sql })), { code: '497', type: 'ACCESS_DENIED' }, sql);
  const byName = client.query({ query: 'SELECT * FROM {t:Identifier}', query_params: { t: '/etc/passwd' } });
  t.match(await errorOf(byName), { code: '497' });
});

t.test('formats as documents and as streams, headers once', async (t) => {
  const text = async (format: 'CSVWithNames' | 'TSVWithNamesAndTypes' | 'JSON' | 'CSV' | 'JSONCompactEachRowWithNames', rows: number): Promise<string> => {
    const result = await client.query({ query: `SELECT number AS "a\nb", toString(number) AS c FROM numbers(${rows})`, format: format as 'CSV', clickhouse_settings: { max_block_size: '1000' } });
    return result.text();
  };
  t.same((await text('CSVWithNames', 5000)).match(/"a\nb","c"/g)?.length, 1);
  t.same((await text('CSVWithNames', 0)), '"a\nb","c"\n');
  t.same((await text('CSV', 5000)).trim().split('\n').length, 5000);
  t.same((await text('TSVWithNamesAndTypes', 5000)).trim().split('\n').length, 5002);
  t.same((await text('JSONCompactEachRowWithNames', 5000)).trim().split('\n').length, 5001);
  const json = JSON.parse(await text('JSON', 5000)) as { rows: number; data: unknown[]; meta: unknown[] };
  t.same([json.rows, json.data.length, json.meta.length], [5000, 5000, 2]);
  const parquet = await client.exec({ query: 'SELECT number FROM numbers(300000) FORMAT Parquet' });
  const chunks: Buffer[] = [];
  for await (const chunk of parquet.stream as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  t.equal(bytes.subarray(0, 4).toString(), 'PAR1');
  t.equal(bytes.subarray(-4).toString(), 'PAR1');
  t.equal(bytes.toString('latin1').match(/PAR1/g)?.length, 2);
});

t.test('answers name query, format and type', async (t) => {
  const url = `${stack.clickhouseUrl}/?query_id=abc-1&query=${encodeURIComponent('SELECT 1 AS n')}`;
  const get = await fetch(url);
  t.equal(await get.text(), '1\n');
  t.match(Object.fromEntries(get.headers), { 'x-clickhouse-query-id': 'abc-1', 'x-clickhouse-format': 'TabSeparated', 'content-type': 'text/tab-separated-values; charset=UTF-8' });
  const json = await fetch(`${url}&default_format=JSONEachRow`);
  t.match(Object.fromEntries(json.headers), { 'x-clickhouse-format': 'JSONEachRow', 'content-type': 'application/x-ndjson; charset=UTF-8' });
  await json.text();
  const made = await fetch(`${stack.clickhouseUrl}/?query=SELECT%201`);
  t.match(made.headers.get('x-clickhouse-query-id'), /^[0-9a-f-]{36}$/);
  await made.text();
});

t.test('GET changes nothing', async (t) => {
  const response = await fetch(`${stack.clickhouseUrl}/?query=${encodeURIComponent('DROP TABLE victim')}`);
  t.match(await response.text(), /^Code: 164\./);
});

t.test('compressed answers for who asks', async (t) => {
  for (const codec of ['gzip', 'zstd'] as const) {
    const compressed = quietClient(stack.clickhouseUrl, { compression: { response: { codec } } });
    const result = await compressed.query({ query: 'SELECT number FROM numbers(200000)', format: 'JSONEachRow' });
    t.equal(result.response_headers['content-encoding'], codec);
    t.equal((await result.json()).length, 200_000);
    t.match(await errorOf(compressed.query({ query: 'SELECT * FROM no_such_table' })), { code: '60' });
    await compressed.close();
  }
});

t.test('many queries at a time, each with its own answer', async (t) => {
  const answers = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
    const [row] = await rowsOf<{ v: string; n: number }>(client, `SELECT {v:String} AS v, getSetting('max_threads') AS t, sum(number) AS n FROM numbers({n:UInt32})`, { query_params: { v: `v${i}`, n: i + 1 }, clickhouse_settings: { max_threads: String(1 + i % 7), output_format_json_quote_64bit_integers: 0 } });
    return row;
  }));
  t.same(answers, Array.from({ length: 200 }, (_, i) => ({ v: `v${i}`, t: 1 + i % 7, n: i * (i + 1) / 2 })));
});
