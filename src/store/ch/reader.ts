import type { AuditEvent } from '../../events/event.ts';
import type { PageRequest } from '../../query/page-request.ts';
import type { StatsBucket, StatsRequest } from '../../query/stats-request.ts';
import type { BatchCommit, LocatedEvent, ProducerLedger } from './batches.ts';
import { countBatchRows, locateEvent, readBatchRows, readProducerLedger } from './batches.ts';
import type { ClickHouse } from './connection.ts';
import type { AuditExport, ExportFormat, ExportRequest } from './export.ts';
import { startExport } from './export.ts';
import { createGate } from './gate.ts';
import type { Page } from './page.ts';
import { readPage } from './page.ts';
import { createQueryRunner } from './query-runner.ts';
import { readStats } from './stats.ts';

export type ReaderLimits = {
  /** Time and memory of one query in ClickHouse. */
  readonly queryTimeoutMs: number;
  readonly queryMemoryBytesMax: number;
  /** Queries at a time; as many as `waitingMax` more stand in line (default 10 times as many). */
  readonly queryConcurrency: number;
  readonly waitingMax?: number;
  readonly exportTimeoutMs: number;
  /** Exports at a time; further ones are refused with rate_limited, as one may last minutes. Default 4. */
  readonly exportConcurrency?: number;
};

/**
 * The only way to read the audit table. Every tenant's read takes the org first and puts it first into its SQL.
 * Errors: AppError query_too_expensive, dependency_unavailable, rate_limited, too_many_buckets; an abort gives the signal's reason.
 */
export type AuditReader = {
  page: (orgId: string, request: PageRequest, signal?: AbortSignal) => Promise<Page>;
  stats: (orgId: string, request: StatsRequest, signal?: AbortSignal) => Promise<StatsBucket[]>;
  exportStream: (orgId: string, request: ExportRequest, format: ExportFormat, signal?: AbortSignal) => AuditExport;
  locate: (orgId: string, eventId: string, signal?: AbortSignal) => Promise<LocatedEvent | undefined>;
  batchRows: <T extends BatchCommit>(orgId: string, commits: readonly T[], signal?: AbortSignal) => Promise<{ commit: T; events: AuditEvent[] }[]>;
  /** The two reads of the loss ledger look at all orgs; they serve the operator's CLI only. */
  batchRowCount: (batchId: string, minTimestamp: string, maxTimestamp: string, signal?: AbortSignal) => Promise<number>;
  producerLedger: (signal?: AbortSignal) => Promise<ProducerLedger[]>;
  load: () => { queries: { running: number; waiting: number }; exports: { running: number; waiting: number } };
};

export function createAuditReader(clickhouse: ClickHouse, limits: ReaderLimits, onError: (error: unknown) => void): AuditReader {
  const queries = createGate({ running: limits.queryConcurrency, waiting: limits.waitingMax ?? limits.queryConcurrency * 10 });
  const exports = createGate({ running: limits.exportConcurrency ?? 4, waiting: 0 });
  const memoryBytesMax = limits.queryMemoryBytesMax;
  const runner = createQueryRunner({ clickhouse, gate: queries, limits: { timeoutMs: limits.queryTimeoutMs, memoryBytesMax }, onError });
  const longRunner = createQueryRunner({ clickhouse, gate: exports, limits: { timeoutMs: limits.exportTimeoutMs, memoryBytesMax }, onError });
  const table = clickhouse.events;
  return {
    page: (orgId, request, signal) => readPage(runner, table, orgId, request, signal),
    stats: (orgId, request, signal) => readStats(runner, table, orgId, request, signal),
    exportStream: (orgId, request, format, signal) => startExport({ runner: longRunner, table, orgId, request, signal }, format),
    locate: (orgId, eventId, signal) => locateEvent(runner, table, orgId, eventId, signal),
    batchRows: (orgId, commits, signal) => readBatchRows(runner, table, orgId, commits, signal),
    batchRowCount: (batchId, min, max, signal) => countBatchRows(runner, table, batchId, min, max, signal),
    producerLedger: (signal) => readProducerLedger(longRunner, table, signal),
    load: () => ({ queries: queries.load(), exports: exports.load() }),
  };
}
