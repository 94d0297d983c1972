import { setTimeout as sleep } from 'node:timers/promises';
import { encodeLine } from '../src/events/line.ts';
import { followStream } from '../test/soak/follow-stream.ts';
import { createSampler } from './sample-events.ts';
import type { BenchStack } from './stack.ts';
import { printTable, quantile } from './table.ts';

const tickMs = 10;
const pollMs = 25;

/**
 * Time from append to visible at a steady rate: on a stream by the arrival of each event; in `/audit` by reading the first page over and over and
 * noting when a row is first seen on it (resolution: the poll of 25 ms, which counts against us).
 */
export async function measureLatency(stack: BenchStack, options: { append: (row: { line: string; timestamp: string }) => Promise<void>; rowsPerSecond: number; seconds: number }): Promise<void> {
  const sentAt = new Map<string, number>();
  const streamMs: number[] = [];
  const pageMs: number[] = [];
  const seen = new Set<string>();
  const stop = new AbortController();
  const stream = followStream({
    baseUrl: stack.dev.base_url,
    apiKey: stack.org.api_key,
    signal: stop.signal,
    received: (id) => {
      const at = sentAt.get(id);
      if (at !== undefined) streamMs.push(performance.now() - at);
    },
  });
  await stream.connected;

  async function watchPages(): Promise<void> {
    while (!stop.signal.aborted) {
      const response = await fetch(`${stack.dev.base_url}/v1/audit?limit=1000`, { headers: { authorization: `Bearer ${stack.org.api_key}` } });
      if (!response.ok) throw new Error(`/audit answered ${response.status}`);
      const { events } = (await response.json()) as { events: { id: string }[] };
      const now = performance.now();
      for (const { id } of events) {
        const at = sentAt.get(id);
        if (at === undefined || seen.has(id)) continue;
        seen.add(id);
        pageMs.push(now - at);
      }
      await sleep(pollMs);
    }
  }
  const watching = watchPages();

  const next = createSampler({ seed: 5, orgId: stack.org.org_id, startMicros: (Date.now() + 60_000) * 1000, stepMicros: 500, workspaces: 200, users: 40 });
  const total = options.rowsPerSecond * options.seconds;
  const startedAt = performance.now();
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.ceil(((performance.now() - startedAt) / 1000) * options.rowsPerSecond));
    const appends: Promise<void>[] = [];
    for (; sent < due; sent += 1) {
      const event = next();
      sentAt.set(event.id, performance.now());
      appends.push(options.append({ line: encodeLine(event, 400), timestamp: event.timestamp }));
    }
    await Promise.all(appends);
    await sleep(tickMs);
  }
  const deadline = Date.now() + 30_000;
  while (streamMs.length < total && Date.now() < deadline) await sleep(50);
  stop.abort();
  await Promise.all([watching, stream.done]);
  printTable(`Append to visible at ${options.rowsPerSecond} rows/s over ${options.seconds} s, ms`, ['where', 'rows seen', 'p50', 'p99', 'max'], [
    ['stream', `${streamMs.length} of ${total}`, ...[0.5, 0.99, 1].map((share) => quantile(streamMs, share).toFixed(0))],
    ['/audit, first page', pageMs.length, ...[0.5, 0.99, 1].map((share) => quantile(pageMs, share).toFixed(0))],
  ]);
}
