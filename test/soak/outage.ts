import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { Redis } from 'ioredis';
import { startWorker } from '../../workers/worker.ts';
import { createSampler } from '../../bench/sample-events.ts';
import { migrate } from '../../src/cli/migrate.ts';
import { readSettings } from '../../src/config/settings.ts';
import { encodeLine } from '../../src/events/line.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { createBatchQueue } from '../../src/queue/batch-queue.ts';
import { createShipper } from '../../src/queue/shipper.ts';
import type { Stack, Teardown } from '../support/stack.ts';
import { startStack } from '../support/stack.ts';

export type Outage = 'clickhouse down' | 'redis full';
export type OutageResult = { sent: number; stored: number; distinct: number; waitedOnDisk: number };

const orgId = '01a1fc34-0496-7000-ae3c-56143e211365';

async function begin(stack: Stack, redis: Redis, outage: Outage): Promise<void> {
  if (outage === 'clickhouse down') return stack.clickhouse.kill();
  // 64 KiB above what is used: a few batches fit, then every write is refused with OOM.
  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', String(used + 65_536));
}

async function end(stack: Stack, redis: Redis, outage: Outage): Promise<void> {
  if (outage === 'clickhouse down') return stack.clickhouse.restart();
  await redis.config('SET', 'maxmemory', '0');
}

/** Lets rows flow through journal, queue and worker, takes a dependency away for `downMs` in the middle, and counts what is stored in the end. */
export async function runOutage(t: Teardown, options: { outage: Outage; downMs: number; rowsPerSecond: number }): Promise<OutageResult> {
  const stack = await startStack(t, { postgres: true, redis: true, clickhouse: true });
  const settings = readSettings({ CUSTOMHOUSE_ENV: 'test', LOG_LEVEL: 'silent', WORKER_ADMIN_PORT: '0', POSTGRES_URL: stack.postgresUrl, REDIS_URL: stack.redisUrl, CLICKHOUSE_URL: stack.clickhouseUrl, WRITER_RETRY_MS_MAX: '2000' });
  await migrate(settings, { dryRun: false });
  const redis = new Redis(stack.redisUrl);
  const worker = await startWorker(settings);
  const onError = (): void => undefined; // what fails during the outage is what the run is about; the end state is what counts
  const journal = await openJournal({ dir: join(stack.dir, 'journal'), producer: 'import:outage', sealMs: 200, sealRows: 2_000, sealBytes: 8_388_608, diskBytesMax: 1_073_741_824, fsync: 'interval', onError });
  const queue = createBatchQueue({ redisUrl: stack.redisUrl, payloadBytesMax: 268_435_456, onError });
  const shipper = createShipper({ source: journal.source, queue, pollMs: 100, inFlightMax: 16, onError });
  journal.onSealed(() => shipper.poke());
  const next = createSampler({ seed: 21, orgId, startMicros: Date.now() * 1000, stepMicros: 500, workspaces: 20, users: 5 });
  let sent = 0;
  let waitedOnDisk = 0;
  async function flow(ms: number): Promise<void> {
    const until = performance.now() + ms;
    const from = sent;
    const startedAt = performance.now();
    while (performance.now() < until) {
      const due = from + Math.ceil(((performance.now() - startedAt) / 1000) * options.rowsPerSecond);
      const appends: Promise<void>[] = [];
      for (; sent < due; sent += 1) {
        const event = next();
        appends.push(journal.append(encodeLine(event, 400), event.timestamp));
      }
      await Promise.all(appends);
      waitedOnDisk = Math.max(waitedOnDisk, journal.stats().rows);
      await sleep(20);
    }
  }
  try {
    await flow(1_500);
    await begin(stack, redis, options.outage);
    await flow(options.downMs);
    await end(stack, redis, options.outage);
    await flow(1_500);
    await journal.seal();
    if (!(await shipper.drained(120_000))) throw new Error('not all batches were confirmed two minutes after the outage');
    const client = createClient({ url: stack.clickhouseUrl, database: 'customhouse', log: { level: ClickHouseLogLevel.ERROR } });
    const [row] = await (await client.query({ query: 'SELECT count() AS stored, uniqExact(id) AS distinct FROM audit_events WHERE org_id = {org:String}', query_params: { org: orgId }, format: 'JSONEachRow' })).json<{ stored: string; distinct: string }>();
    await client.close();
    return { sent, stored: Number(row?.stored), distinct: Number(row?.distinct), waitedOnDisk };
  } finally {
    await shipper.stop();
    await queue.close();
    await journal.close();
    await worker.stop();
    redis.disconnect();
  }
}
