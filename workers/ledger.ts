import type { BatchPointer } from '../src/queue/batch.ts';
import type { LedgerReader, NumberRange } from '../src/store/pg/ledger.ts';
import type { ProducerLedger } from '../src/store/ch/batches.ts';

/**
 * A place where the numbers do not add up:
 * `lost`         batches that are neither committed, in flight, nor stored
 * `uncommitted`  stored, but neither in the ledger nor in flight: nobody will put them on the streams
 * `not_stored`   committed, but ClickHouse has none of the rows, and retention does not explain it
 * `short`, `surplus`  fewer or more rows stored than the batch has, dead letters counted
 * `reused`       several batches of one number: the producer lost its journal and counted from 1 again
 * `uncounted`    the producer's own count differs from committed plus in flight
 */
export type Hole = {
  readonly kind: 'lost' | 'uncommitted' | 'not_stored' | 'short' | 'surplus' | 'reused' | 'uncounted';
  /** Batch numbers, both ends included. */
  readonly from: number;
  readonly to: number;
  readonly batchId?: string;
  readonly expectedRows?: number;
  readonly foundRows?: number;
};

export type ProducerReport = {
  readonly producer: string;
  readonly acceptedBatches: number;
  readonly acceptedRows: number;
  readonly committedBatches: number;
  /** Rows of committed batches that are in ClickHouse, or were until their retention ended. */
  readonly storedRows: number;
  readonly deadRows: number;
  readonly inFlightBatches: number;
  readonly inFlightRows: number;
  /** In order of number, at most 1000. */
  readonly holes: readonly Hole[];
};

export type LedgerReport = { readonly producers: readonly ProducerReport[]; readonly sound: boolean };

/** What a producer counts itself, for those that can be asked. */
export type Accepted = { readonly producer: string; readonly batches: number; readonly rows?: number };

export type LedgerDeps = {
  readonly ledger: LedgerReader;
  /** ClickHouse's side, per producer. */
  readonly stored: () => Promise<readonly ProducerLedger[]>;
  readonly countBatchRows: (batchId: string, minTimestamp: string, maxTimestamp: string) => Promise<number>;
  /** Every batch that a source still holds or the queue knows. A source that is not asked makes its waiting batches look lost. */
  readonly inFlight: () => Promise<readonly BatchPointer[]>;
  readonly accepted?: () => Promise<readonly Accepted[]>;
};

const holesMax = 1000;

/**
 * Proves for each producer that stored + dead-lettered + in flight = accepted, and names the hole where it is not (design 5). It runs
 * beside a working pipeline, so the order of reads matters: a batch moves from its source to ClickHouse to the ledger. What is missing
 * in one look is therefore looked up again downstream before it is called a hole.
 */
export async function verifyLedger(deps: LedgerDeps): Promise<LedgerReport> {
  // Counters before commits: what is committed later than it was counted is no surplus.
  const counted = new Map<string, Accepted>([...await deps.ledger.accepted()].map(([producer, count]) => [producer, { producer, ...count }]));
  for (const count of (await deps.accepted?.()) ?? []) counted.set(count.producer, count);
  // Commits after what was in flight: a batch between the two looks is in one of them, perhaps in both, never in none.
  const inFlight = await stillWaiting(deps, await deps.inFlight());
  const committed = new Map((await deps.ledger.committed()).map((row) => [row.producer, row]));
  const deadRows = await deps.ledger.deadRows();
  const stored = new Map((await deps.stored()).map((row) => [row.producer, row]));
  const names = [...new Set([...committed.keys(), ...stored.keys(), ...counted.keys(), ...inFlight.map((batch) => batch.producer)])].sort();

  const producers: ProducerReport[] = [];
  for (const producer of names) {
    const commits = committed.get(producer);
    const waiting = inFlight.filter((batch) => batch.producer === producer);
    const count = counted.get(producer);
    const last = Math.max(count?.batches ?? 0, commits?.lastBatchNo ?? 0, stored.get(producer)?.lastBatchNo ?? 0, ...waiting.map((batch) => batch.batchNo));
    const inFlightRows = sum(waiting.map((batch) => batch.rows));
    const committedRows = commits?.rows ?? 0;
    const holes = [...await missingNumbers(deps, producer, last, stored.get(producer)), ...await unevenBatches(deps, producer, stored.get(producer), commits?.lastBatchNo ?? 0)];
    for (const { batchNo, batchIds } of await deps.ledger.reused(producer, holesMax)) {
      for (const batchId of batchIds.slice(1)) holes.push({ kind: 'reused', from: batchNo, to: batchNo, batchId });
    }
    // Counters were read first: more may be committed by now, never less.
    if (count?.rows !== undefined && committedRows + inFlightRows < count.rows && holes.every((hole) => hole.kind !== 'lost')) {
      holes.push({ kind: 'uncounted', from: 1, to: count.batches, expectedRows: count.rows, foundRows: committedRows + inFlightRows });
    }
    const dead = deadRows.get(producer) ?? 0;
    const absent = sum(holes.filter((hole) => hole.kind === 'not_stored' || hole.kind === 'short').map((hole) => (hole.expectedRows ?? 0) - (hole.foundRows ?? 0)));
    producers.push({
      producer,
      acceptedBatches: last,
      acceptedRows: Math.max(count?.rows ?? 0, committedRows + inFlightRows),
      committedBatches: commits?.batches ?? 0,
      storedRows: committedRows - dead - absent,
      deadRows: dead,
      inFlightBatches: waiting.length,
      inFlightRows,
      holes: holes.sort((a, b) => a.from - b.from).slice(0, holesMax),
    });
  }
  return { producers, sound: producers.every((producer) => producer.holes.length === 0) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Batches in flight that the ledger does not have by now, each once: the queue and the source may both name one. */
async function stillWaiting(deps: LedgerDeps, batches: readonly BatchPointer[]): Promise<BatchPointer[]> {
  const waiting = new Map<string, BatchPointer>();
  for (const batch of batches) {
    const committed = await deps.ledger.between(batch.producer, { from: batch.batchNo, to: batch.batchNo }, 10);
    if (!committed.some((one) => one.batchId === batch.id)) waiting.set(batch.id, batch);
  }
  return [...waiting.values()];
}

/** Numbers up to `last` that are not committed, were not in flight afterwards, and are not committed after that either. */
async function missingNumbers(deps: LedgerDeps, producer: string, last: number, stored: ProducerLedger | undefined): Promise<Hole[]> {
  const candidates = await deps.ledger.gaps(producer, last, holesMax);
  if (candidates.length === 0) return [];
  const waiting = (await deps.inFlight()).filter((batch) => batch.producer === producer).map((batch) => batch.batchNo);
  const gaps = await deps.ledger.gaps(producer, last, holesMax);
  const holes: Hole[] = [];
  for (const range of gaps.flatMap((gap) => without(gap, waiting))) {
    for (const { from, to, inside } of split(range, storedRanges(stored))) holes.push({ kind: inside ? 'uncommitted' : 'lost', from, to });
  }
  return holes;
}

/** The range without some numbers, as the ranges that remain. */
function without(range: NumberRange, numbers: readonly number[]): NumberRange[] {
  const left: NumberRange[] = [];
  let from = range.from;
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    if (number < from || number > range.to) continue;
    if (number > from) left.push({ from, to: number - 1 });
    from = number + 1;
  }
  if (from <= range.to) left.push({ from, to: range.to });
  return left;
}

/** Numbers of which ClickHouse has rows. */
function storedRanges(stored: ProducerLedger | undefined): NumberRange[] {
  if (stored === undefined) return [];
  const ranges: NumberRange[] = [];
  let from = stored.firstBatchNo;
  for (const gap of stored.missing) {
    ranges.push({ from, to: gap.from - 1 });
    from = gap.to + 1;
  }
  ranges.push({ from, to: stored.lastBatchNo });
  return ranges;
}

function split(range: NumberRange, ranges: readonly NumberRange[]): { from: number; to: number; inside: boolean }[] {
  const parts: { from: number; to: number; inside: boolean }[] = [];
  let from = range.from;
  for (const one of ranges) {
    if (one.to < from || one.from > range.to) continue;
    if (one.from > from) parts.push({ from, to: one.from - 1, inside: false });
    const start = Math.max(from, one.from);
    const end = Math.min(range.to, one.to);
    parts.push({ from: start, to: end, inside: true });
    from = end + 1;
  }
  if (from <= range.to) parts.push({ from, to: range.to, inside: false });
  return parts;
}

/** Committed batches whose rows in ClickHouse are not what they should be; every suspect is counted again before it is named. */
async function unevenBatches(deps: LedgerDeps, producer: string, stored: ProducerLedger | undefined, lastCommitted: number): Promise<Hole[]> {
  const suspects: NumberRange[] = stored === undefined
    ? [{ from: 1, to: lastCommitted }]
    : [{ from: 1, to: stored.firstBatchNo - 1 }, ...stored.missing, { from: stored.lastBatchNo + 1, to: lastCommitted }, ...stored.uneven.map(({ batchNo }) => ({ from: batchNo, to: batchNo }))];
  const holes: Hole[] = [];
  for (const range of suspects.filter(({ from, to }) => from <= to)) {
    for (const batch of await deps.ledger.between(producer, range, holesMax)) {
      const expectedRows = batch.rows - batch.deadRows;
      if (batch.expired || expectedRows === 0) continue;
      const foundRows = await deps.countBatchRows(batch.batchId, batch.minTimestamp, batch.maxTimestamp);
      if (foundRows === expectedRows) continue;
      const kind = foundRows === 0 ? 'not_stored' : foundRows < expectedRows ? 'short' : 'surplus';
      holes.push({ kind, from: batch.batchNo, to: batch.batchNo, batchId: batch.batchId, expectedRows, foundRows });
    }
  }
  return holes;
}
