import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** What waits: in Redis, in Postgres, and as dead letters. Asked for when metrics are. */
export type Backlog = {
  readonly queue: () => Promise<{ batches: number; bytes: number }>;
  readonly outbox: () => Promise<{ rows: number; batches: number; oldestMs: number }>;
  readonly deadLetters: () => Promise<number>;
  readonly relayLeads: () => boolean;
};

export type WorkerMetrics = {
  readonly registry: Registry;
  readonly stored: (batch: { rows: number; insertMs: number; commitMs: number }) => void;
  readonly retried: () => void;
  readonly deadLettered: () => void;
  readonly published: (batches: number) => void;
};

/** Several gauges of one scrape share one question. */
function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= read().finally(() => { running = undefined; });
    return running;
  };
}

/** Metrics of the worker role (design 5). Times in seconds, as Prometheus has them. */
export function createWorkerMetrics(backlog: Backlog): WorkerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
  const batchRows = new Histogram({ name: 'customhouse_batch_rows', help: 'Rows of stored batches', buckets: [1, 10, 50, 100, 500, 1_000, 5_000, 10_000, 50_000], registers });
  const insertSeconds = new Histogram({ name: 'customhouse_insert_seconds', help: 'Time to store one batch in ClickHouse', buckets: seconds, registers });
  const commitSeconds = new Histogram({ name: 'customhouse_commit_seconds', help: 'Time of the commit step of one batch: ledger and streams', buckets: seconds, registers });
  const rows = new Counter({ name: 'customhouse_stored_rows_total', help: 'Rows of batches that this process stored and committed', registers });
  const retries = new Counter({ name: 'customhouse_batch_retries_total', help: 'Tries to store a batch beyond the first', registers });
  const deadLetters = new Counter({ name: 'customhouse_dead_letters_total', help: 'Rows that ClickHouse refused', registers });
  const published = new Counter({ name: 'customhouse_published_batches_total', help: 'Batches published to the streams', registers });

  const queue = shared(backlog.queue);
  const outbox = shared(backlog.outbox);
  const gauge = <T>(name: string, help: string, read: () => Promise<T>, value: (answer: T) => number): void => {
    new Gauge({
      name, help, registers,
      // What cannot be asked at the moment stays as it was; readiness says what is down.
      async collect() { await read().then((answer) => this.set(value(answer)), () => undefined); },
    });
  };
  gauge('customhouse_queue_batches', 'Batches in Redis that are not yet stored', queue, (depth) => depth.batches);
  gauge('customhouse_queue_bytes', 'Bytes of batches in Redis that are not yet stored', queue, (depth) => depth.bytes);
  gauge('customhouse_outbox_rows', 'Rows of mutations not yet cut into a batch', outbox, (waiting) => waiting.rows);
  gauge('customhouse_outbox_batches', 'Batches cut from the outbox and not yet committed', outbox, (waiting) => waiting.batches);
  gauge('customhouse_outbox_oldest_unconfirmed_seconds', 'Age of the oldest row or batch of the outbox that is not yet committed', outbox, (waiting) => waiting.oldestMs / 1000);
  gauge('customhouse_dead_letters_waiting', 'Refused rows that were not replayed', backlog.deadLetters, (count) => count);
  new Gauge({ name: 'customhouse_outbox_relay_leads', help: '1 on the process that cuts the outbox', registers, collect() { this.set(backlog.relayLeads() ? 1 : 0); } });

  return {
    registry,
    stored: (batch) => {
      batchRows.observe(batch.rows);
      insertSeconds.observe(batch.insertMs / 1000);
      commitSeconds.observe(batch.commitMs / 1000);
      rows.inc(batch.rows);
    },
    retried: () => retries.inc(),
    deadLettered: () => deadLetters.inc(),
    published: (batches) => published.inc(batches),
  };
}
