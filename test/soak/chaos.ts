import { setTimeout as sleep } from 'node:timers/promises';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { Redis } from 'ioredis';
import { join } from 'node:path';
import { createRandom, createSampler } from '../../bench/sample-events.ts';
import type { DevFile, ProcessName } from '../../src/cli/dev-file.ts';
import { encodeLine } from '../../src/events/line.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { createBatchQueue } from '../../src/queue/batch-queue.ts';
import { createShipper } from '../../src/queue/shipper.ts';
import { followStream } from './follow-stream.ts';

export type ChaosOptions = { rows: number; rowsPerSecond: number; kills: number; killEveryMs: number; seed: number };
export type ChaosResult = { sent: Set<string>; stored: Map<string, number>; streamed: Map<string, number>; kills: Record<string, number>; wipes: number };

const victims: readonly ProcessName[] = ['api', 'worker', 'redis', 'clickhouse'];
const settleMs = 180_000;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid > 0;
  } catch {
    return false;
  }
}

/** Kills one process at a time with SIGKILL at random moments, each once it is up again, and wipes Redis once in the middle. */
async function disturb(dev: () => DevFile, options: ChaosOptions, kills: Record<string, number>, stop: AbortSignal): Promise<number> {
  const random = createRandom(options.seed);
  let wipes = 0;
  let next: ProcessName[] = [];
  for (let count = 0; count < options.kills && !stop.aborted; ) {
    await sleep(options.killEveryMs * (0.5 + random()));
    // Each of them before any comes again, in a random order.
    if (next.length === 0) next = victims.map((victim) => ({ victim, key: random() })).toSorted((a, b) => a.key - b.key).map(({ victim }) => victim);
    const name = next[0] as ProcessName;
    const pid = dev().pids[name];
    if (!isRunning(pid)) continue;
    process.kill(pid, 'SIGKILL');
    next.shift();
    kills[name] = (kills[name] ?? 0) + 1;
    count += 1;
    if (count === Math.ceil(options.kills / 2)) wipes += await wipeRedis(dev());
  }
  return wipes;
}

async function wipeRedis(dev: DevFile): Promise<number> {
  const redis = new Redis(dev.redis_url, { maxRetriesPerRequest: 60 });
  redis.on('error', () => undefined);
  try {
    await redis.flushall();
    return 1;
  } finally {
    redis.disconnect();
  }
}

/** How often each id is in the table, read without FINAL: a doubled row shows. */
async function storedIds(dev: DevFile, orgId: string): Promise<Map<string, number>> {
  const client = createClient({ url: dev.clickhouse_url, database: 'customhouse', request_timeout: 120_000, log: { level: ClickHouseLogLevel.ERROR } });
  try {
    const result = await client.query({ query: 'SELECT toString(id) AS id, count() AS times FROM audit_events WHERE org_id = {org:String} GROUP BY id', query_params: { org: orgId }, format: 'JSONEachRow' });
    return new Map((await result.json<{ id: string; times: string }>()).map((row) => [row.id, Number(row.times)]));
  } finally {
    await client.close();
  }
}

/**
 * Sends `rows` rows through a journal of its own into a running stack while its processes are killed, follows the org's live stream
 * with reconnects all the while, and answers what was sent, what is stored and what the stream delivered.
 */
export async function runChaos(stack: { dataDir: string; dev: () => DevFile }, options: ChaosOptions): Promise<ChaosResult> {
  const other = stack.dev().orgs[1];
  if (other === undefined) throw new Error('no second org');
  const orgId = other.org_id;
  const failures: unknown[] = [];
  const onError = (error: unknown): void => {
    if (failures.push(error) > 100) failures.shift();
  };
  const journal = await openJournal({ dir: join(stack.dataDir, 'journal', 'chaos'), producer: 'import:chaos', sealMs: 200, sealRows: 2_000, sealBytes: 8_388_608, diskBytesMax: 1_073_741_824, fsync: 'interval', onError });
  const queue = createBatchQueue({ redisUrl: stack.dev().redis_url, payloadBytesMax: 268_435_456, onError });
  const shipper = createShipper({ source: journal.source, queue, pollMs: 100, inFlightMax: 16, onError });
  journal.onSealed(() => shipper.poke());

  const stop = new AbortController();
  const kills: Record<string, number> = {};
  const streamed = new Map<string, number>();
  const following = followStream({ baseUrl: stack.dev().base_url, apiKey: other.api_key, signal: stop.signal, received: (id) => streamed.set(id, (streamed.get(id) ?? 0) + 1) });
  await following.connected;
  const disturbing = disturb(stack.dev, options, kills, stop.signal);

  const next = createSampler({ seed: options.seed, orgId, startMicros: Date.now() * 1000, stepMicros: 1_000, workspaces: 20, users: 5 });
  const sent = new Set<string>();
  const startedAt = performance.now();
  while (sent.size < options.rows) {
    const due = Math.min(options.rows, Math.ceil(((performance.now() - startedAt) / 1000) * options.rowsPerSecond));
    const appends: Promise<void>[] = [];
    while (sent.size < due) {
      const event = { ...next(), source_seq: journal.nextSeq() };
      sent.add(event.id);
      appends.push(journal.append(encodeLine(event, 400), event.timestamp));
    }
    await Promise.all(appends);
    await sleep(20);
  }
  const wipes = await disturbing;
  await journal.seal();
  if (!(await shipper.drained(settleMs))) throw new Error(`not all batches were confirmed ${settleMs / 1000} s after the last kill; last failure: ${String(failures.at(-1))}`);
  const deadline = Date.now() + settleMs;
  while (streamed.size < sent.size && Date.now() < deadline) await sleep(200);
  // A doubled delivery may come late: the stream is watched a little longer than needed for the last row.
  await sleep(2_000);
  stop.abort();
  await following.done;
  await shipper.stop();
  await queue.close();
  await journal.close();
  const stored = await storedIds(stack.dev(), orgId);
  return { sent, stored: new Map([...stored].filter(([id]) => sent.has(id))), streamed: new Map([...streamed].filter(([id]) => sent.has(id))), kills, wipes };
}

/** The three sets must be the same, each id once. Answers a list of differences, empty when all is well. */
export function differences(result: ChaosResult): string[] {
  const problems: string[] = [];
  for (const [name, seen] of [['stored', result.stored], ['streamed', result.streamed]] as const) {
    const missing = [...result.sent].filter((id) => !seen.has(id));
    const doubled = [...seen].filter(([, times]) => times > 1);
    if (missing.length > 0) problems.push(`${name}: ${missing.length} of ${result.sent.size} rows missing, the first ${missing[0]}`);
    if (doubled.length > 0) problems.push(`${name}: ${doubled.length} rows more than once, the first ${doubled[0]?.[0]}`);
  }
  return problems;
}
