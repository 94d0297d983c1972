import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { batchSuffix, encodeLine, stampLine } from '../src/events/line.ts';
import { uuidv7 } from '../src/kernel/ids.ts';
import { openJournal } from '../src/journal/journal.ts';
import { createBatchQueue } from '../src/queue/batch-queue.ts';
import { createShipper } from '../src/queue/shipper.ts';
import { createSampler } from './sample-events.ts';
import { measureLatency } from './ingest-latency.ts';
import type { BenchStack } from './stack.ts';
import { residentMiB, withStack } from './stack.ts';
import { median, printTable, timed } from './table.ts';

const rowsPerRound = 100_000;
const batchRows = 10_000;
const rounds = 3;

type Row = { line: string; timestamp: string };

function makeRows(orgId: string, seed: number): Row[] {
  const next = createSampler({ seed, orgId, startMicros: Date.now() * 1000, stepMicros: 500, workspaces: 200, users: 40 });
  return Array.from({ length: rowsPerRound }, () => {
    const event = next();
    return { line: encodeLine(event, 400), timestamp: event.timestamp };
  });
}

/** The baseline: the same lines in batches of 10,000 by an unmodified client into a twin of the table, without even the cost of encoding rows. */
async function plainInsert(stack: BenchStack, rows: readonly Row[]): Promise<void> {
  for (let from = 0; from < rows.length; from += batchRows) {
    const batchId = uuidv7();
    const suffix = batchSuffix({ ingestedAtMs: Date.now(), producer: 'bench', batchId, batchNo: 1, batchRows });
    const lines = rows.slice(from, from + batchRows).map((row) => `${stampLine(row.line, suffix)}\n`);
    const { stream } = await stack.clickhouse.exec({ query: 'INSERT INTO audit_events_twin FORMAT JSONEachRow', values: Readable.from([lines.join('')], { objectMode: false }), clickhouse_settings: { insert_deduplication_token: batchId } });
    await finished(stream.resume());
  }
}

async function count(stack: BenchStack, table: string): Promise<number> {
  const result = await stack.clickhouse.query({ query: `SELECT count() AS n FROM ${table}`, format: 'JSONEachRow' });
  const [row] = await result.json<{ n: string }>();
  return Number(row?.n ?? 0);
}

/** `npm run bench -- ingest`. */
export async function run(): Promise<void> {
  await withStack(async (stack) => {
    await stack.clickhouse.command({ query: 'CREATE TABLE audit_events_twin AS audit_events' });
    const onError = (error: unknown): void => console.error(error);
    const journal = await openJournal({ dir: join(stack.dataDir, 'journal', 'bench'), producer: 'import:bench', sealMs: 200, sealRows: batchRows, sealBytes: 8_388_608, diskBytesMax: 10_737_418_240, fsync: 'interval', onError });
    const queue = createBatchQueue({ redisUrl: stack.dev.redis_url, payloadBytesMax: 268_435_456, onError });
    const shipper = createShipper({ source: journal.source, queue, pollMs: 50, inFlightMax: 16, onError });
    journal.onSealed(() => shipper.poke());

    async function throughPipeline(rows: readonly Row[]): Promise<void> {
      const before = await count(stack, 'audit_events');
      for (let from = 0; from < rows.length; from += 2_000) await Promise.all(rows.slice(from, from + 2_000).map((row) => journal.append(row.line, row.timestamp)));
      await journal.seal();
      while ((await count(stack, 'audit_events')) < before + rows.length) await sleep(20);
    }

    const plain: number[] = [];
    const pipeline: number[] = [];
    const memory: string[][] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const rows = makeRows(stack.org.org_id, 100 + round);
      const plainMs = await timed(() => plainInsert(stack, rows));
      const pipelineMs = await timed(() => throughPipeline(rows));
      if (round > 0) {
        plain.push(plainMs);
        pipeline.push(pipelineMs);
      }
      memory.push([`after ${(round + 1) * rowsPerRound} rows`, ...(['api', 'worker', 'proxy', 'clickhouse', 'redis'] as const).map((name) => String(residentMiB(stack.dev.pids[name])))]);
    }
    await shipper.drained(60_000);
    const rate = (ms: readonly number[]): number => Math.round(rowsPerRound / (median(ms) / 1000));
    printTable(`Ingest, ${rowsPerRound} rows a round, median of ${rounds} rounds in turn`, ['path', 'rows/s', 'of plain'], [
      ['plain client insert, JSONEachRow, 10,000 a batch', rate(plain), '1.00'],
      ['journal append to queryable', rate(pipeline), (median(plain) / median(pipeline)).toFixed(2)],
    ]);
    printTable('Resident memory, MiB', ['', 'api', 'worker', 'proxy', 'clickhouse', 'redis'], memory);

    await measureLatency(stack, { append: (row) => journal.append(row.line, row.timestamp), rowsPerSecond: 1_000, seconds: 20 });
    await shipper.stop();
    await queue.close();
    await journal.close();
  });
}
