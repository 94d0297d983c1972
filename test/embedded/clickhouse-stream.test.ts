import { connect } from 'node:net';
import t from 'tap';
import { startStack } from '../support/stack.ts';
import { errorOf, eventually, quietClient, rowsOf } from './quiet-client.ts';

const stack = await startStack(t, { clickhouse: { sessions: 4 } });
const client = quietClient(stack.clickhouseUrl);
t.teardown(() => client.close());

/** Queries of others in the engine whose text contains the marker. */
async function running(marker: string): Promise<number> {
  const rows = await rowsOf<{ query: string }>(client, 'SELECT query FROM system.processes');
  return rows.filter(({ query }) => query.includes(marker) && !query.includes('system.processes')).length;
}

t.test('a long result arrives whole and in order', async (t) => {
  const result = await client.query({ query: 'SELECT number AS n FROM numbers(1000000)', format: 'JSONEachRow', clickhouse_settings: { output_format_json_quote_64bit_integers: 0 } });
  let expected = 0;
  for await (const rows of result.stream<{ n: number }>()) {
    for (const row of rows) {
      if (row.json().n !== expected) throw new Error(`row ${expected} is ${row.text}`);
      expected += 1;
    }
  }
  t.equal(expected, 1_000_000);
});

t.test('a client that does not read holds the engine back, and others go on', async (t) => {
  const result = await client.query({ query: 'SELECT \'slow reader\', repeat(\'x\', 1000) FROM numbers(100000000)', format: 'CSV' });
  const before = Number((await rowsOf(client, 'SELECT value FROM system.metrics WHERE metric = \'MemoryTracking\''))[0]?.['value']);
  t.equal(await running('slow reader'), 1);
  for (let i = 0; i < 50; i += 1) t.same(await rowsOf(client, 'SELECT 1 AS n'), [{ n: 1 }]);
  const after = Number((await rowsOf(client, 'SELECT value FROM system.metrics WHERE metric = \'MemoryTracking\''))[0]?.['value']);
  // 100 GB would have been made by now if nothing held it.
  t.ok(after < before + 1_000_000_000, `${before} ${after}`);
  result.close();
  await eventually('the engine has stopped', async () => await running('slow reader') === 0);
});

t.test('an aborted request stops the engine: while it computes, while it streams, and for whole documents', async (t) => {
  const queries = [
    ['computes', 'SELECT \'computes\', sum(sipHash64(number)) FROM numbers(1000000000000)', 'JSONEachRow'],
    ['streams', 'SELECT \'streams\', number FROM numbers(1000000000000)', 'CSV'],
    ['document', 'SELECT \'document\', sum(sipHash64(number)) FROM numbers(1000000000000)', 'JSON'],
  ] as const;
  for (const [marker, query, format] of queries) {
    const controller = new AbortController();
    const call = client.query({ query, format, abort_signal: controller.signal }).then(async (result) => {
      if (marker !== 'streams') return;
      await eventually('first rows', async () => await running(marker) === 1);
      result.close();
    });
    await eventually(`${marker} runs`, async () => await running(marker) === 1);
    controller.abort();
    await call.catch(() => undefined);
    await eventually(`${marker} has stopped`, async () => await running(marker) === 0);
    t.pass(marker);
  }
  t.same(await rowsOf(client, 'SELECT 1 AS n'), [{ n: 1 }]);
});

t.test('a query whose client left while it waited is never started', async (t) => {
  const blockers = Array.from({ length: 4 }, () => new AbortController());
  const blocked = blockers.map((controller) => client.query({ query: 'SELECT \'blocker\', sum(sipHash64(number)) FROM numbers(1000000000000)', abort_signal: controller.signal }).catch(() => undefined));
  const log = quietClient(stack.clickhouseUrl);
  const waiting = new AbortController();
  const call = errorOf(log.command({ query: 'CREATE TABLE never (n Int8) ENGINE = Memory', abort_signal: waiting.signal }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  waiting.abort();
  await call;
  for (const controller of blockers) controller.abort();
  await Promise.all(blocked);
  await log.close();
  await eventually('slots are free', async () => await running('blocker') === 0);
  t.same(await rowsOf(client, 'EXISTS TABLE never'), [{ result: 0 }]);
});

t.test('an error in mid-stream is an error for the client, never a short answer', async (t) => {
  const query = 'SELECT number, throwIf(number = 500000, \'broke off\') AS ok FROM numbers(1000000)';
  const streamed = async (): Promise<number> => {
    let rows = 0;
    const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: { max_block_size: '10000', max_threads: 1 } });
    for await (const some of result.stream()) rows += some.length;
    return rows;
  };
  t.match(await errorOf(streamed()), { code: '395', type: 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO', message: /broke off/ });
  const text = client.query({ query, format: 'CSV', clickhouse_settings: { max_block_size: '10000', max_threads: 1 } }).then((result) => result.text());
  t.ok(await errorOf(text) instanceof Error);
  for (const codec of ['gzip', 'zstd'] as const) {
    const compressed = quietClient(stack.clickhouseUrl, { compression: { response: { codec } } });
    const rows = compressed.query({ query, format: 'JSONEachRow', clickhouse_settings: { max_block_size: '10000', max_threads: 1 } }).then((result) => result.json());
    t.ok(await errorOf(rows) instanceof Error, codec);
    await compressed.close();
  }
  t.match(await errorOf(client.query({ query, format: 'JSON' })), { code: '395' }, 'a document fails with its status');
  t.match(await errorOf(client.query({ query, format: 'JSONEachRow', clickhouse_settings: { wait_end_of_query: 1 } })), { code: '395' });
});

t.test('on the wire: the exception block under the announced tag, and no closing chunk', async (t) => {
  const sql = 'SELECT number, throwIf(number = 500000) FROM numbers(1000000) SETTINGS max_block_size = 10000, max_threads = 1';
  const bytes = await new Promise<string>((resolve, reject) => {
    const socket = connect(stack.clickhouse.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('end', () => resolve(text));
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${sql.length}\r\n\r\n${sql}`);
  });
  const tag = /x-clickhouse-exception-tag: (\w{16})\r\n/i.exec(bytes)?.[1] ?? 'none';
  const block = new RegExp(`\r\n__exception__\r\n${tag}\r\n(Code: 395\\. DB::Exception: [\\s\\S]*\n)(\\d+) ${tag}\r\n__exception__\r\n\r\n$`).exec(bytes);
  t.ok(block, bytes.slice(-600));
  t.equal(Number(block?.[2]), block?.[1]?.length);
});

t.test('over the queue\'s bound: code 202', async (t) => {
  const small = await startStack(t, { clickhouse: { sessions: 1 } });
  const busy = quietClient(small.clickhouseUrl, { max_open_connections: 400 });
  t.teardown(() => busy.close());
  const controller = new AbortController();
  const refused: { code?: string; type?: string }[] = [];
  const calls = Array.from({ length: 300 }, async () => {
    const error = await errorOf(busy.query({ query: 'SELECT sum(sipHash64(number)) FROM numbers(1000000000000)', abort_signal: controller.signal }));
    if (!controller.signal.aborted) refused.push(error);
  });
  // One runs, 256 wait.
  await eventually('the others are refused', async () => refused.length === 300 - 1 - 256);
  for (const error of refused) t.match(error, { code: '202', type: 'TOO_MANY_SIMULTANEOUS_QUERIES' });
  controller.abort();
  await Promise.all(calls);
  t.same(await rowsOf(busy, 'SELECT 1 AS n'), [{ n: 1 }]);
});
