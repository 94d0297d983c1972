import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import fc from 'fast-check';
import { AppError } from '../../../src/kernel/errors.ts';
import { parseActivityRequest, parsePageRequest } from '../../../src/query/page-request.ts';
import { parseStatsRequest } from '../../../src/query/stats-request.ts';
import { createGate } from '../../../src/store/ch/gate.ts';
import { SqlParams } from '../../../src/query/sql.ts';
import { createQueryRunner } from '../../../src/store/ch/query-runner.ts';
import { createAuditReader } from '../../../src/store/ch/reader.ts';
import { connect, limits, openAuditTable } from './audit-table.ts';
import { startRelay } from './relay.ts';
import { orgA, randomEvents } from './random-events.ts';

const everything = { predicate: true, key: 'all' } as const;
const first = parsePageRequest(orgA, everything, {});
const heavy = parseStatsRequest(everything, { group_by: 'path,task_id', metric: 'p99:latency_ms', top: '10:path' });

type Asserts = Pick<typeof t, 'ok' | 'notMatch'>;

/** Fails unless the error may be shown to a caller and says nothing of ClickHouse's own. */
function assertPublic(t: Asserts, error: unknown): void {
  t.ok(error instanceof AppError);
  t.notMatch(String((error as Error).message) + JSON.stringify((error as AppError).details ?? {}), /DB::|Code:|SELECT|audit_events|param|Exception/);
}

t.test('time and memory limits, cancellation', async (t) => {
  const table = await openAuditTable(t);
  const errors: unknown[] = [];
  const runner = (timeoutMs: number, memoryBytesMax: number) => createQueryRunner({ clickhouse: table.clickhouse, gate: createGate({ running: 1, waiting: 1 }), limits: { timeoutMs, memoryBytesMax }, onError: (error) => errors.push(error) });
  const endless = { sql: 'SELECT sleepEachRow(0.05) FROM numbers(100000)', params: new SqlParams(), settings: { max_block_size: '1' } };
  const large = { sql: 'SELECT length(groupArray(number)) FROM numbers(20000000)', params: new SqlParams() };

  const late: unknown = await runner(200, 1e9).rows(endless, undefined).catch((error: unknown) => error);
  t.match(late, { code: 'query_too_expensive', status: 503 });
  assertPublic(t, late);
  const cramped: unknown = await runner(15_000, 20_000_000).rows(large, undefined).catch((error: unknown) => error);
  t.match(cramped, { code: 'query_too_expensive' });
  assertPublic(t, cramped);

  const running = async () => Number((await table.rows<{ n: number }>(`SELECT count() AS n FROM system.processes WHERE query LIKE '%sleepEachRow(0.05)%' AND query NOT LIKE '%system.processes%'`))[0]?.n);
  const reaches = async (wanted: number): Promise<boolean> => {
    for (let look = 0; look < 200; look += 1) {
      if (await running() === wanted) return true;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return false;
  };
  const patient = runner(60_000, 1e9);
  const controller = new AbortController();
  const cancelled = patient.rows(endless, controller.signal);
  cancelled.catch(() => undefined);
  t.ok(await reaches(1), 'it runs');
  const inLine = patient.rows(endless, controller.signal);
  inLine.catch(() => undefined);
  controller.abort(new Error('the caller left'));
  await t.rejects(cancelled, { message: 'the caller left' });
  await t.rejects(inLine, { message: 'the caller left' }, 'and one that waited for its turn');
  t.ok(await reaches(0), 'ClickHouse has stopped it, too');

  const chunks = patient.rowChunks(endless, undefined);
  await chunks.next();
  await chunks.return(undefined);
  t.ok(await reaches(0), 'a generator that is left early stops its query');
  t.same(await patient.rows({ sql: 'SELECT 1 AS one', params: new SqlParams() }, undefined), [{ one: 1 }], 'and the place is free again');
  t.same(errors, []);
  await t.rejects(table.reader.page(orgA, first, AbortSignal.abort(new Error('gone before'))), { message: 'gone before' });
});

t.test('a query that nobody waits for is killed by its id, as closing the connection is not always enough', async (t) => {
  const table = await openAuditTable(t);
  const relay = await startRelay(t, table.stack.clickhouseUrl);
  const clickhouse = connect(relay.url);
  t.teardown(() => clickhouse.close());
  const runner = createQueryRunner({ clickhouse, gate: createGate({ running: 2, waiting: 0 }), limits: { timeoutMs: 60_000, memoryBytesMax: 1e9 }, onError: (error) => t.fail(String(error)) });
  const endless = { sql: 'SELECT sleepEachRow(0.05) FROM numbers(100000)', params: new SqlParams(), settings: { max_block_size: '1' } };
  const idOf = (path: string, name: string) => new URL(path, relay.url).searchParams.get(name);
  const kills = () => relay.seen.filter(({ body }) => body.startsWith('KILL QUERY')).map(({ path }) => idOf(path, 'param_id'));
  const queries = () => relay.seen.filter(({ body }) => body.startsWith('SELECT sleepEachRow')).map(({ path }) => idOf(path, 'query_id'));
  const soon = async (holds: () => boolean): Promise<boolean> => {
    for (let look = 0; look < 200 && !holds(); look += 1) await new Promise((resolve) => setTimeout(resolve, 25));
    return holds();
  };

  const controller = new AbortController();
  const aborted = runner.rows(endless, controller.signal);
  aborted.catch(() => undefined);
  t.ok(await soon(() => queries().length === 1));
  controller.abort(new Error('gone'));
  await t.rejects(aborted, { message: 'gone' });
  t.ok(await soon(() => kills().length === 1));
  const chunks = runner.rowChunks(endless, undefined);
  await chunks.next();
  await chunks.return(undefined);
  t.ok(await soon(() => kills().length === 2));
  t.same(kills(), queries());
  await runner.rows({ sql: 'SELECT 1', params: new SqlParams() }, undefined);
  t.equal(kills().length, 2, 'a query that came to its end is not');
});

t.test('nobody there, wrong password, not migrated, silence: dependency_unavailable without a detail of it', async (t) => {
  const table = await openAuditTable(t);
  const mute = createServer();
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  t.teardown(() => mute.close());
  const targets = { nobody: connect('http://127.0.0.1:9'), unmigrated: connect(table.stack.clickhouseUrl, 'elsewhere') };
  for (const [name, clickhouse] of Object.entries(targets)) {
    t.teardown(() => clickhouse.close());
    const reader = createAuditReader(clickhouse, limits, () => undefined);
    for (const read of [() => reader.page(orgA, first), () => reader.stats(orgA, heavy), () => reader.locate(orgA, randomEvents(1, { seed: 1, orgId: orgA })[0]?.id ?? '')]) {
      const error: unknown = await read().catch((caught: unknown) => caught);
      t.match(error, { code: 'dependency_unavailable', status: 503, details: { dependency: 'clickhouse' } }, name);
      assertPublic(t, error);
    }
  }
  const silent = connect(`http://127.0.0.1:${(mute.address() as AddressInfo).port}`);
  t.teardown(() => silent.close());
  await t.rejects(createAuditReader(silent, { ...limits, queryTimeoutMs: 10 }, () => undefined).page(orgA, first), { code: 'dependency_unavailable' }, 'a server that never answers');
  await t.rejects(targets.nobody.ping(AbortSignal.timeout(2000)));
  await t.resolves(table.clickhouse.ping(AbortSignal.timeout(5000)));
});

t.test('reads cannot write', async (t) => {
  const table = await openAuditTable(t);
  const statement = { query: `INSERT INTO ${table.clickhouse.events} (id) SELECT generateUUIDv4()`, clickhouse_settings: { readonly: '2' } };
  await t.rejects(table.clickhouse.client.command(statement), { code: '164' }, 'the setting that every read carries');
});

t.test('the gate: so many at a time, so many in line, in order', async (t) => {
  const gate = createGate({ running: 2, waiting: 2 });
  const leave = [await gate.enter(), await gate.enter()];
  const order: number[] = [];
  const waiting = [1, 2].map((name) => gate.enter().then((out) => {
    order.push(name);
    return out;
  }));
  await t.rejects(gate.enter(), { code: 'rate_limited', status: 429 });
  t.same(gate.load(), { running: 2, waiting: 2 });
  leave[0]?.();
  leave[0]?.();
  await waiting[0];
  t.same([order, gate.load()], [[1], { running: 2, waiting: 1 }], 'leaving twice frees one place');
  const controller = new AbortController();
  const aborted = gate.enter(controller.signal);
  controller.abort(new Error('no longer wanted'));
  await t.rejects(aborted, { message: 'no longer wanted' });
  t.same(gate.load(), { running: 2, waiting: 1 });
  leave[1]?.();
  for (const out of await Promise.all(waiting)) out();
  t.same(gate.load(), { running: 0, waiting: 0 });
});

t.test('hostile texts in every parameter: a 400 or a correct answer, and the table stays', async (t) => {
  const table = await openAuditTable(t);
  const events = randomEvents(30, { seed: 9, orgId: orgA });
  await table.insert(events);
  const hostile = fc.oneof(
    fc.constantFrom("'", "''", "\\'", '`', '"', ';', '--', '/*', '*/', '{p0:String}', '{', '}', '\\', '\\N', '%00', '\u0000', '\n\nDROP TABLE customhouse.audit_events;\n', "') OR 1=1 --", "'; DROP TABLE customhouse.audit_events; --", ') UNION ALL SELECT * FROM system.tables --', '1); SELECT 1; --', '${1}', '\ud800', '\u202e', '🚀'.repeat(50), 'sleepEachRow(3)', "counter' , '"),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  const filter = fc.tuple(fc.constantFrom('decision', 'path', 'counter', 'workspace_id', ''), fc.constantFrom('=', '!='), hostile).map((parts) => parts.join(''));
  const maybe = fc.option(hostile, { nil: undefined });
  let answered = 0;
  let refused = 0;
  await fc.assert(fc.asyncProperty(fc.record({
    filter: fc.array(filter, { maxLength: 2 }), metric: fc.option(hostile.map((text) => `sum:${text}`), { nil: undefined }), bucket_by: fc.option(hostile.map((text) => `debits.${text}:1,2`), { nil: undefined }),
    group_by: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(undefined, 'path', 'counter') }, { weight: 1, arbitrary: hostile }), task_id: hostile, cursor: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: maybe }),
  }), async (raw) => {
    const reads = [
      async () => (await table.reader.page(orgA, parsePageRequest(orgA, everything, { filter: raw.filter, cursor: raw.cursor, limit: 1000 }))).events.every((event) => event.org_id === orgA),
      async () => Array.isArray(await table.reader.stats(orgA, parseStatsRequest(everything, { filter: raw.filter, metric: raw.metric, bucket_by: raw.bucket_by, group_by: raw.group_by }))),
      async () => (await table.reader.page(orgA, parseActivityRequest(orgA, everything, { task_id: raw.task_id, event_type: raw.task_id }))).events.length === 0,
    ];
    for (const read of reads) {
      try {
        if (!await read()) throw new Error('a wrong answer');
        answered += 1;
      } catch (error) {
        if (!(error instanceof AppError) || error.status !== 400) throw error;
        refused += 1;
      }
    }
  }), { numRuns: 60 });
  for (const orgId of ["' OR 1=1 --", `${orgA}' OR '1'='1`, '%', '']) t.same((await table.reader.page(orgId, first)).events, [], 'an org is a value, too');
  t.ok(answered > 40 && refused > 20, `${answered} answered, ${refused} refused`);
  t.equal((await table.reader.page(orgA, first)).events.length, 30, 'all rows are still there');
});
