import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { request } from 'node:http';
import { createParser } from 'eventsource-parser';
import { encodeLine } from '../src/events/line.ts';
import type { AuditEvent } from '../src/events/event.ts';
import { openJournal } from '../src/journal/journal.ts';
import { createBatchQueue } from '../src/queue/batch-queue.ts';
import { createShipper } from '../src/queue/shipper.ts';
import { filterPredicate, parseFilters } from '../src/query/filter.ts';
import { compileMatcher } from '../src/query/match.ts';
import { createSampler } from './sample-events.ts';
import type { BenchStack } from './stack.ts';
import { residentMiB, withStack } from './stack.ts';
import { printTable, quantile } from './table.ts';

const clients = 500;
const rowsPerSecond = 1_000;
const seconds = 20;

/** Different filters, from none to one that matches little; each client gets one of them. */
function filterOf(index: number, sample: readonly AuditEvent[]): string {
  const row = sample[index % sample.length];
  const path = row?.path ?? '/v1/none';
  return ['decision=deny', `workspace_id=${row?.workspace_id ?? ''}`, `path=${path}`, 'event_type=task_submitted,task_completed', `task_id=${row?.task_id ?? ''}`][index % 5] ?? 'decision=deny';
}

type Client = { filter: string; received: number; close: () => void };

function connect(stack: BenchStack, filter: string, onEvent: (client: Client, id: string) => void): Promise<Client> {
  return new Promise((resolve, reject) => {
    const url = new URL('/v1/audit/stream', stack.dev.base_url);
    url.searchParams.set('filter', filter);
    const call = request(url, { headers: { authorization: `Bearer ${stack.org.api_key}` } }, (response) => {
      if (response.statusCode !== 200) {
        reject(new Error(`stream answered ${response.statusCode}`));
        return;
      }
      const client: Client = { filter, received: 0, close: () => call.destroy() };
      const parser = createParser({ onEvent: (event) => onEvent(client, event.id ?? '') });
      response.setEncoding('utf8').on('data', (text: string) => parser.feed(text)).on('error', () => undefined);
      resolve(client);
    });
    call.on('error', reject);
    call.end();
  });
}

/** `npm run bench -- stream`: 500 clients with different filters at 1,000 rows/s. */
export async function run(): Promise<void> {
  await withStack(async (stack) => {
    const sampler = { seed: 3, orgId: stack.org.org_id, stepMicros: 500, workspaces: 100, users: 20 };
    const probe = createSampler({ ...sampler, startMicros: Date.now() * 1000 });
    const sample = Array.from({ length: clients }, () => probe());
    const idleMiB = residentMiB(stack.dev.pids.api);
    const sentAt = new Map<string, number>();
    const delays: number[] = [];
    const all: Client[] = [];
    for (let index = 0; index < clients; index += 1) {
      all.push(await connect(stack, filterOf(index, sample), (client, id) => {
        client.received += 1;
        const at = sentAt.get(id);
        if (at !== undefined) delays.push(performance.now() - at);
      }));
    }
    const connectedMiB = residentMiB(stack.dev.pids.api);

    const onError = (error: unknown): void => console.error(error);
    const journal = await openJournal({ dir: join(stack.dataDir, 'journal', 'bench'), producer: 'import:bench', sealMs: 200, sealRows: 10_000, sealBytes: 8_388_608, diskBytesMax: 1_073_741_824, fsync: 'interval', onError });
    const queue = createBatchQueue({ redisUrl: stack.dev.redis_url, payloadBytesMax: 268_435_456, onError });
    const shipper = createShipper({ source: journal.source, queue, pollMs: 50, inFlightMax: 16, onError });
    journal.onSealed(() => shipper.poke());

    const matchers = new Map([...new Set(all.map((client) => client.filter))].map((filter) => [filter, compileMatcher(filterPredicate(parseFilters([filter])))]));
    const expectedBy = new Map<string, number>();
    const next = createSampler({ ...sampler, startMicros: Date.now() * 1000 });
    const total = rowsPerSecond * seconds;
    const startedAt = performance.now();
    for (let sent = 0; sent < total; ) {
      const due = Math.min(total, Math.ceil(((performance.now() - startedAt) / 1000) * rowsPerSecond));
      const appends: Promise<void>[] = [];
      for (; sent < due; sent += 1) {
        const event = next();
        for (const [filter, matches] of matchers) if (matches(event)) expectedBy.set(filter, (expectedBy.get(filter) ?? 0) + 1);
        sentAt.set(event.id, performance.now());
        appends.push(journal.append(encodeLine(event, 400), event.timestamp));
      }
      await Promise.all(appends);
      await sleep(10);
    }
    const expected = all.reduce((sum, client) => sum + (expectedBy.get(client.filter) ?? 0), 0);
    const delivered = (): number => all.reduce((sum, client) => sum + client.received, 0);
    const deadline = Date.now() + 30_000;
    while (delivered() < expected && Date.now() < deadline) await sleep(100);
    await sleep(1_000);
    const busyMiB = residentMiB(stack.dev.pids.api);
    const wrong = all.filter((client) => client.received !== (expectedBy.get(client.filter) ?? 0)).length;
    printTable(`${clients} clients, ${matchers.size} different filters, ${rowsPerSecond} rows/s for ${seconds} s`, ['figure', 'value'], [
      ['rows expected over all clients', expected],
      ['rows delivered', delivered()],
      ['clients with a wrong number', wrong],
      ['append to client p50, ms', quantile(delays, 0.5).toFixed(0)],
      ['append to client p99, ms', quantile(delays, 0.99).toFixed(0)],
      ['api idle / clients connected / under load, MiB', `${idleMiB} / ${connectedMiB} / ${busyMiB}`],
      ['memory per connected client, KiB', Math.round(((connectedMiB - idleMiB) * 1024) / clients)],
    ]);
    for (const client of all) client.close();
    await shipper.stop();
    await queue.close();
    await journal.close();
  });
}
