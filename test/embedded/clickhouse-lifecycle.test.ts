import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startClickHouse } from '../../src/embedded/clickhouse.ts';
import { startStack } from '../support/stack.ts';
import { errorOf, eventually, quietClient, rowsOf } from './quiet-client.ts';

const settings = { output_format_json_quote_64bit_integers: 0 } as const;

t.test('every acknowledged insert survives kill -9, each batch whole or not at all', async (t) => {
  const stack = await startStack(t, { clickhouse: true });
  const client = quietClient(stack.clickhouseUrl);
  t.teardown(() => client.close());
  await client.command({ query: 'CREATE TABLE kept (batch UInt32, n UInt32) ENGINE = MergeTree ORDER BY (batch, n) SETTINGS non_replicated_deduplication_window = 1000' });
  const rows = Array.from({ length: 500 }, (_, n) => n);
  const insert = (batch: number): Promise<unknown> => client.insert({ table: 'kept', values: rows.map((n) => ({ batch, n })), format: 'JSONEachRow', clickhouse_settings: { insert_deduplication_token: `b${batch}` } });
  let batch = 0;
  for (let round = 0; round < 5; round += 1) {
    const acknowledged: number[] = [];
    let inserting = true;
    const writers = [0, 1].map(async () => {
      while (inserting) {
        const mine = batch += 1;
        try {
          await insert(mine);
          acknowledged.push(mine);
        } catch {
          return;
        }
      }
    });
    await eventually('some batches are in', async () => acknowledged.length >= 10);
    await stack.clickhouse.kill();
    inserting = false;
    await Promise.all(writers);
    await stack.clickhouse.restart();
    const stored = await rowsOf<{ batch: number; c: number }>(client, 'SELECT batch, count() AS c FROM kept GROUP BY batch', { clickhouse_settings: settings });
    t.same(stored.filter(({ c }) => c !== rows.length), [], 'no batch in part');
    const have = new Set(stored.map((row) => row.batch));
    t.same(acknowledged.filter((id) => !have.has(id)), [], 'no acknowledged batch lost');
    // What a writer does that got no answer: the same batch again.
    for (let id = 1; id <= batch; id += 1) await insert(id);
    const [total] = await rowsOf(client, 'SELECT count() AS c, uniqExact(batch) AS b FROM kept', { clickhouse_settings: settings });
    t.same(total, { c: batch * rows.length, b: batch });
  }
});

t.test('SIGTERM: running queries finish, new ones are refused, the process ends with 0', async (t) => {
  const stack = await startStack(t, { clickhouse: true });
  const client = quietClient(stack.clickhouseUrl);
  t.teardown(() => client.close());
  const running = rowsOf(client, 'SELECT count() AS c FROM numbers(20) WHERE NOT ignore(sleepEachRow(0.1))', { clickhouse_settings: { ...settings, max_block_size: 1 } });
  await eventually('it runs', async () => (await rowsOf(client, 'SELECT query FROM system.processes')).some(({ query }) => String(query).includes('sleepEachRow')));
  process.kill(stack.clickhouse.pid, 'SIGTERM');
  t.same(await running, [{ c: 20 }]);
  t.equal(await stack.clickhouse.current.exited, 'exit code 0');
  t.match(await errorOf(rowsOf(client, 'SELECT 1')), { code: 'ECONNREFUSED' });
  await stack.clickhouse.restart();
  t.same(await rowsOf(client, 'SELECT 1 AS n'), [{ n: 1 }]);
});

t.test('SIGTERM: what does not finish in time is stopped in the engine, and its client hears of it', async (t) => {
  const stack = await startStack(t, { clickhouse: { shutdownMs: 200 } });
  const client = quietClient(stack.clickhouseUrl);
  t.teardown(() => client.close());
  const endless = errorOf(rowsOf(client, 'SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)'));
  await eventually('it runs', async () => (await rowsOf(client, 'SELECT query FROM system.processes')).some(({ query }) => String(query).includes('sipHash64(number)')));
  await stack.clickhouse.stop();
  t.equal(await stack.clickhouse.current.exited, 'exit code 0');
  t.ok(await endless instanceof Error);
});

t.test('a second server on the same directory is refused, the first goes on', async (t) => {
  const stack = await startStack(t, { clickhouse: true });
  const client = quietClient(stack.clickhouseUrl);
  t.teardown(() => client.close());
  const second = startClickHouse({ dataDir: join(stack.dir, 'clickhouse'), port: 0, logFile: join(stack.dir, 'second.log') });
  t.match((await errorOf(second)).message, /ended while starting[\s\S]*Cannot lock file/);
  t.same(await rowsOf(client, 'SELECT 1 AS n'), [{ n: 1 }]);
  t.match(await errorOf(startClickHouse({ dataDir: join(stack.dir, 'other'), port: stack.clickhouse.port, logFile: join(stack.dir, 'third.log') })), { message: `port ${stack.clickhouse.port} on 127.0.0.1 is already in use` });
  t.match(await errorOf(startClickHouse({ dataDir: join(stack.dir, 'a*b'), port: 0, logFile: join(stack.dir, 'fourth.log') })), { message: /must not contain any of/ });
});

t.test('memory is bounded: a query over the server\'s limit fails with 241 and the next one runs', async (t) => {
  const stack = await startStack(t, { clickhouse: { maxMemoryBytes: 400_000_000 } });
  const client = quietClient(stack.clickhouseUrl);
  t.teardown(() => client.close());
  t.match(await errorOf(rowsOf(client, 'SELECT groupArray(number) AS a FROM numbers(200000000)')), { code: '241', type: 'MEMORY_LIMIT_EXCEEDED' });
  t.same(await rowsOf(client, 'SELECT 1 AS n'), [{ n: 1 }]);
});

t.test('bodies left behind by a killed server are removed by the next', async (t) => {
  const stack = await startStack(t, { clickhouse: true });
  const client = quietClient(stack.clickhouseUrl);
  t.teardown(() => client.close());
  await client.command({ query: 'CREATE TABLE slow (n UInt32, d UInt8 MATERIALIZED sleepEachRow(1)) ENGINE = Memory' });
  const insert = errorOf(client.insert({ table: 'slow', values: Array.from({ length: 3 }, (_, n) => ({ n })), format: 'JSONEachRow' }));
  const spool = join(stack.dir, 'clickhouse/spool');
  await eventually('the body is on disk', async () => (await readdir(spool)).length > 0);
  await stack.clickhouse.kill();
  t.ok(await insert instanceof Error);
  t.not((await readdir(spool)).length, 0);
  await stack.clickhouse.restart();
  t.same(await readdir(spool), []);
});
