import type { Settings } from '../src/config/settings.ts';
import type { AdminServer } from '../src/kernel/admin-server.ts';
import { startAdminServer } from '../src/kernel/admin-server.ts';
import { createLog, throttledErrors } from '../src/kernel/log.ts';
import type { Logger } from '../src/kernel/log.ts';
import { createBatchConsumer } from '../src/queue/batch-consumer.ts';
import { createBatchQueue } from '../src/queue/batch-queue.ts';
import { createShipper } from '../src/queue/shipper.ts';
import { connectClickHouse } from '../src/store/ch/connection.ts';
import { ClickHouseDataError } from '../src/store/ch/errors.ts';
import { createAuditWriter } from '../src/store/ch/writer.ts';
import { createLockSession } from '../src/store/pg/advisory-lock.ts';
import { createBatchLedger } from '../src/store/pg/batches.ts';
import { connectPostgres } from '../src/store/pg/connect.ts';
import { createDeadLetterStore } from '../src/store/pg/dead-letters.ts';
import { createOutboxBatches, outboxBacklog } from '../src/store/pg/outbox-batches.ts';
import { rowSecurityBinds } from '../src/store/pg/scope.ts';
import { createStreamPublisher } from '../src/stream/publisher.ts';
import { createBatchHandler } from './audit-writer.ts';
import { createCommitter } from './commit.ts';
import { startLeftoverSweep } from './leftover-sweep.ts';
import type { WorkerMetrics } from './metrics.ts';
import { createWorkerMetrics } from './metrics.ts';
import { startOutboxRelay } from './outbox-relay.ts';

export type Worker = {
  /** Of /healthz, /readyz and /metrics. */
  readonly adminUrl: string;
  readonly metrics: WorkerMetrics;
  /** Lets running batches finish for at most `shutdownMs`; what is cut off then is done again by the next worker. */
  stop(): Promise<void>;
};

/** ClickHouse answers a batch of 10,000 rows in 0.2 s; a merge storm or a cold disk may take much longer. */
const insertTimeoutMs = 60_000;
/** Outbox batches in Redis at a time. */
const inFlightMax = 16;

/**
 * The worker role: queue → ClickHouse → ledger → streams, and the outbox relay. Any number of workers may run. It starts while its
 * dependencies are down, and works when they are there; only an admin port that is taken makes it reject.
 */
export async function startWorker(settings: Settings, log: Logger = createLog('worker', settings.logLevel)): Promise<Worker> {
  const connection = { url: settings.postgresUrl, applicationName: 'customhouse-worker' };
  const sql = connectPostgres({ ...connection, poolMax: settings.postgresPoolMax });
  const clickhouse = connectClickHouse({
    url: settings.clickhouseUrl, user: settings.clickhouseUser, password: settings.clickhousePassword,
    database: settings.clickhouseDatabase, cluster: settings.clickhouseCluster, connectionsMax: settings.writerConcurrency + 2,
  });
  const queue = createBatchQueue({ redisUrl: settings.redisUrl, payloadBytesMax: settings.queuePayloadBytesMax, onError: throttledErrors(log, 'queue') });
  const publisher = createStreamPublisher({ redisUrl: settings.redisUrl, onError: throttledErrors(log, 'stream publisher') });
  const batches = createOutboxBatches(sql);
  const deadLetters = createDeadLetterStore(sql);
  const metrics = createWorkerMetrics({
    queue: () => queue.depth(),
    outbox: () => outboxBacklog(sql),
    deadLetters: () => deadLetters.countWaiting(),
    relayLeads: () => relay.leading(),
  });

  const commitSession = createLockSession(connection, 'commit');
  const committer = createCommitter({ session: commitSession, publisher, onPublished: metrics.published });
  const writer = createAuditWriter(clickhouse, { timeoutMs: insertTimeoutMs });
  const handle = createBatchHandler({
    queue,
    ledger: createBatchLedger(sql),
    committer,
    deadLetters,
    insert: ({ token, payload }) => writer.insertBatch({ token, ndjson: payload, encoding: 'zstd' }),
    refusal: (error) => (error instanceof ClickHouseDataError ? { code: String(error.code), message: error.message } : undefined),
    onDeadLetter: metrics.deadLettered,
    observe: metrics.stored,
  });

  const onShipError = throttledErrors(log, 'outbox shipper');
  const relay = startOutboxRelay({
    sql, batches, session: createLockSession(connection, 'outbox'), pollMs: settings.outboxPollMs,
    onCut: () => shipper.poke(), onError: throttledErrors(log, 'outbox relay'),
  });
  const shipper = createShipper({ source: relay.source, queue, pollMs: settings.outboxPollMs, inFlightMax, onError: onShipError });
  const consumer = createBatchConsumer({
    redisUrl: settings.redisUrl,
    concurrency: settings.writerConcurrency,
    retryMsMax: settings.writerRetryMsMax,
    handle: (pointer, attempt) => {
      if (attempt > 1) metrics.retried();
      return handle(pointer);
    },
    onError: throttledErrors(log, 'batch'),
  });
  const sweep = startLeftoverSweep({ sql, committer, onError: throttledErrors(log, 'leftover sweep') });
  void warnUnlessBound().catch((err: unknown) => log.warn({ err }, 'row-level security could not be checked'));

  async function warnUnlessBound(): Promise<void> {
    if (!await rowSecurityBinds(sql)) log.warn('the Postgres role is a superuser or has BYPASSRLS: row-level security does not bind it');
  }

  /** In the order of the flow: first what brings new work, last what running work needs. */
  async function close(): Promise<void> {
    await Promise.all([relay.stop(), shipper.stop()]);
    await Promise.all([consumer.close(), sweep.stop()]);
    await Promise.allSettled([publisher.close(), queue.close(), commitSession.close(), clickhouse.close(), sql.end({ timeout: 1 })]);
  }
  async function stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => { timer = setTimeout(() => resolve('late'), settings.shutdownMs); });
    const outcome = await Promise.race([close(), late]);
    clearTimeout(timer);
    if (outcome === 'late') log.warn('work was cut off at the end of the shutdown time; it is done again by the next worker');
    await admin.close();
  }

  let admin: AdminServer;
  try {
    admin = await startAdminServer({
      host: settings.host,
      port: settings.workerAdminPort,
      registry: metrics.registry,
      checks: {
        postgres: async () => { await sql`select commit_seq from audit_batches limit 1`; return undefined; },
        redis: async () => { await queue.depth(); return undefined; },
        clickhouse: async () => { await clickhouse.ping(AbortSignal.timeout(2_500)); return undefined; },
      },
    });
  } catch (error) {
    await close();
    throw error;
  }
  log.info({ url: admin.url }, 'worker runs');
  let stopping: Promise<void> | undefined;
  return { adminUrl: admin.url, metrics, stop: () => (stopping ??= stop()) };
}
