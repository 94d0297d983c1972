import type { Micros } from '../kernel/clock.ts';
import { uuidv7 } from '../kernel/ids.ts';
import type { JournalRecord } from './record.ts';
import type { SegmentFile } from './segment-file.ts';

/**
 * A segment that takes rows: its file, and the same rows in memory until it is sealed, so that sealing reads nothing back.
 * Bounded by the sealing limits.
 */
export type Segment = {
  readonly batchNo: number;
  readonly file: SegmentFile;
  readonly lines: readonly string[];
  /** Batch id, made with the first row: its time is the age of the batch. */
  readonly id: () => string;
  readonly range: () => { minMicros: Micros; maxMicros: Micros };
  readonly add: (record: JournalRecord) => void;
};

export function createSegment(batchNo: number, file: SegmentFile): Segment {
  const lines: string[] = [];
  let id: string | undefined;
  let minMicros = Number.POSITIVE_INFINITY;
  let maxMicros = Number.NEGATIVE_INFINITY;
  return {
    batchNo,
    file,
    lines,
    id: () => (id ??= uuidv7()),
    range: () => ({ minMicros, maxMicros }),
    add({ kind, line, micros }) {
      if (kind === 'intent') return;
      id ??= uuidv7();
      lines.push(line);
      minMicros = Math.min(minMicros, micros);
      maxMicros = Math.max(maxMicros, micros);
    },
  };
}

/** The rows that count only when nothing settles them, by intent id. */
export type OpenIntents = Map<string, JournalRecord>;

export function trackIntent(intents: OpenIntents, record: JournalRecord): void {
  if (record.kind === 'intent') intents.set(record.intentId, record);
  else if (record.intentId !== '') intents.delete(record.intentId);
}
