import type { AuditEvent } from '../../src/events/event.ts';
import { batchSuffix, encodeLine, stampLine } from '../../src/events/line.ts';
import { formatTimestamp, nowMicros } from '../../src/kernel/clock.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { SealedBatch } from '../../src/queue/batch.ts';
import { compressLines } from '../../src/queue/payload.ts';
import { connectClickHouse } from '../../src/store/ch/connection.ts';
import { ClickHouseDataError } from '../../src/store/ch/errors.ts';
import { migrateClickHouse } from '../../src/store/ch/migrate.ts';
import { createAuditReader } from '../../src/store/ch/reader.ts';
import type { AuditReader } from '../../src/store/ch/reader.ts';
import { createAuditWriter } from '../../src/store/ch/writer.ts';
import type { Insert, Refusal } from '../../workers/dead-letter.ts';
import { limits, migrationsDir } from '../store/ch/audit-table.ts';
import { sampleEvent } from '../support/sample-events.ts';
import type { Stack, Teardown } from '../support/stack.ts';

export type StoredRow = { id: string; batch_id: string; batch_no: string | number; producer: string; source_seq: string | number; org_id: string };

export type AuditRig = {
  readonly insert: Insert;
  readonly reader: AuditReader;
  /** All rows, also doubled ones that a merge has not yet removed. */
  readonly rows: (batchIds?: readonly string[]) => Promise<StoredRow[]>;
  readonly execute: (statement: string) => Promise<void>;
};

export function refusal(error: unknown): Refusal | undefined {
  return error instanceof ClickHouseDataError ? { code: String(error.code), message: error.message } : undefined;
}

/** The migrated audit table of the stack's ClickHouse. */
export async function openAuditRig(t: Teardown, stack: Stack): Promise<AuditRig> {
  const clickhouse = connectClickHouse({ url: stack.clickhouseUrl, user: 'default', password: '', database: 'customhouse' });
  t.teardown(() => clickhouse.close());
  await migrateClickHouse(clickhouse, { dir: migrationsDir, withLock: (work) => work() });
  const writer = createAuditWriter(clickhouse, { timeoutMs: 30_000 });
  return {
    insert: ({ token, payload }) => writer.insertBatch({ token, ndjson: payload, encoding: 'zstd' }),
    reader: createAuditReader(clickhouse, limits, () => undefined),
    async rows(batchIds) {
      const where = batchIds === undefined ? '' : ` WHERE batch_id IN (${batchIds.map((id) => `'${id}'`).join(',')})`;
      const result = await clickhouse.client.query({ query: `SELECT id, org_id, batch_id, batch_no, producer, source_seq FROM customhouse.audit_events${where} ORDER BY batch_no, source_seq`, format: 'JSONEachRow' });
      return result.json<StoredRow>();
    },
    async execute(statement) {
      await clickhouse.client.command({ query: statement });
    },
  };
}

export function decision(orgId: string, seq: number): AuditEvent {
  return sampleEvent('policy_decision', { org_id: orgId, source_seq: seq, timestamp: formatTimestamp(nowMicros()) });
}

/** Cuts a batch as a source does; `spoil` changes final lines. */
export async function sealBatch(events: readonly AuditEvent[], options: { producer?: string; batchNo: number; spoil?: (line: string, index: number) => string }): Promise<SealedBatch> {
  const producer = options.producer ?? 'proxy:test';
  const id = uuidv7();
  const suffix = batchSuffix({ ingestedAtMs: Date.now(), producer, batchId: id, batchNo: options.batchNo, batchRows: events.length });
  const lines = events.map((event, index) => {
    const line = stampLine(encodeLine(event, 400), suffix);
    return options.spoil?.(line, index) ?? line;
  });
  const payload = await compressLines(lines);
  const times = events.map((event) => event.timestamp).sort();
  return { id, producer, batchNo: options.batchNo, rows: events.length, bytes: payload.length, minTimestamp: times[0] ?? '', maxTimestamp: times.at(-1) ?? '', payload };
}
