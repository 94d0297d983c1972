import { join } from 'node:path';
import type { AuditEvent } from '../../../src/events/event.ts';
import { batchSuffix, encodeLine, stampLine } from '../../../src/events/line.ts';
import { uuidv7 } from '../../../src/kernel/ids.ts';
import type { ClickHouse } from '../../../src/store/ch/connection.ts';
import { connectClickHouse } from '../../../src/store/ch/connection.ts';
import { migrateClickHouse } from '../../../src/store/ch/migrate.ts';
import type { AuditReader, ReaderLimits } from '../../../src/store/ch/reader.ts';
import { createAuditReader } from '../../../src/store/ch/reader.ts';
import type { AuditWriter } from '../../../src/store/ch/writer.ts';
import { createAuditWriter } from '../../../src/store/ch/writer.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack, Teardown } from '../../support/stack.ts';

export const migrationsDir = join(import.meta.dirname, '../../../clickhouse');
export const limits: ReaderLimits = { queryTimeoutMs: 15_000, queryMemoryBytesMax: 1_000_000_000, queryConcurrency: 4, exportTimeoutMs: 60_000 };

export type Batch = { id?: string; producer?: string; batchNo?: number; rows?: number; ingestedAtMs?: number; retentionDays?: number };

export type AuditTable = {
  readonly stack: Stack;
  readonly clickhouse: ClickHouse;
  readonly reader: AuditReader;
  readonly writer: AuditWriter;
  /** Errors that the reader met outside a caller's query. */
  readonly errors: unknown[];
  /** Stores the rows as one batch and answers its id. */
  insert: (events: readonly AuditEvent[], batch?: Batch) => Promise<string>;
  /** Rows of a statement of the test's own. */
  rows: <T>(sql: string) => Promise<T[]>;
};

export function ndjsonOf(events: readonly AuditEvent[], batch: Batch & { id: string }): Buffer {
  const stamp = { ingestedAtMs: batch.ingestedAtMs ?? Date.now(), producer: batch.producer ?? 'proxy:test', batchId: batch.id, batchNo: batch.batchNo ?? 1, batchRows: batch.rows ?? events.length };
  const suffix = batchSuffix(stamp);
  return Buffer.from(events.map((event) => `${stampLine(encodeLine(event, batch.retentionDays ?? 400), suffix)}\n`).join(''));
}

export function connect(url: string, database = 'customhouse'): ClickHouse {
  return connectClickHouse({ url, user: 'default', password: '', database });
}

/** A real engine with the migrated audit table, gone when the test ends. */
export async function openAuditTable(t: Teardown, readerLimits: Partial<ReaderLimits> = {}): Promise<AuditTable> {
  const stack = await startStack(t, { clickhouse: true });
  const clickhouse = connectClickHouse({ url: stack.clickhouseUrl, user: 'default', password: '', database: 'customhouse' });
  t.teardown(() => clickhouse.close());
  await migrateClickHouse(clickhouse, { dir: migrationsDir, withLock: (work) => work() });
  const writer = createAuditWriter(clickhouse, { timeoutMs: 30_000 });
  const errors: unknown[] = [];
  return {
    stack,
    clickhouse,
    writer,
    errors,
    reader: createAuditReader(clickhouse, { ...limits, ...readerLimits }, (error) => errors.push(error)),
    async insert(events, batch = {}) {
      const id = batch.id ?? uuidv7();
      await writer.insertBatch({ token: id, ndjson: ndjsonOf(events, { ...batch, id }) });
      return id;
    },
    async rows<T>(sql: string): Promise<T[]> {
      const result = await clickhouse.client.query({ query: sql, format: 'JSONEachRow' });
      return result.json<T>();
    },
  };
}
