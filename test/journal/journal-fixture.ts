import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeLine } from '../../src/events/line.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import type { Journal, JournalOptions } from '../../src/journal/journal.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { platformOrgId, uuidv7 } from '../../src/kernel/ids.ts';
import { formatTimestamp, nowMicros } from '../../src/kernel/clock.ts';
import type { BatchSource, SealedBatch } from '../../src/queue/batch.ts';
import { decompressPayload } from '../../src/queue/payload.ts';

type Teardown = { teardown(fn: () => Promise<void>): unknown };

export async function tempDir(t: Teardown): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-journal-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** A journal that seals only when told to, unless `options` says otherwise. */
export function open(dir: string, options: Partial<JournalOptions> = {}): Promise<Journal> {
  return openJournal({ dir, producer: 'proxy:test', sealMs: 600_000, sealRows: 10_000, sealBytes: 1_048_576, diskBytesMax: 1_073_741_824, fsync: 'interval', ...options });
}

/** One row as its producer would append it; `filler` makes it longer. */
export function row(name: string, filler = 0): { id: string; line: string; timestamp: string } {
  const id = uuidv7();
  const timestamp = formatTimestamp(nowMicros());
  const event: AuditEvent = { id, org_id: platformOrgId, user_id: 'system', timestamp, source_seq: 1, event_type: 'policy_decision', category: 'policy', actor: 'agent', destination: name, ...(filler > 0 ? { detail: { filler: 'ä"'.repeat(filler / 3) } } : {}) } as unknown as AuditEvent;
  return { id, line: encodeLine(event, 30), timestamp };
}

export type StampedRow = { id: string; destination: string; producer: string; batch_id: string; batch_no: number; batch_rows: number; ingested_at: string; retention_days: number; timestamp: string };

export async function batchRows(batch: SealedBatch): Promise<StampedRow[]> {
  const text = (await decompressPayload(batch.payload, 100_000_000)).toString();
  return text.split('\n').slice(0, -1).map((line) => JSON.parse(line) as StampedRow);
}

/** Every pending batch, loaded, oldest first. */
export async function batches(source: BatchSource): Promise<SealedBatch[]> {
  const loaded: SealedBatch[] = [];
  for (const { id } of await source.pending(1_000_000)) {
    const batch = await source.load(id);
    if (batch === undefined) throw new Error(`pending batch ${id} cannot be loaded`);
    loaded.push(batch);
  }
  return loaded;
}

export async function names(source: BatchSource): Promise<string[]> {
  const rows: StampedRow[] = [];
  for (const batch of await batches(source)) rows.push(...await batchRows(batch));
  return rows.map((stamped) => stamped.destination);
}

export async function files(dir: string, ending: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => name.endsWith(ending)).sort();
}
