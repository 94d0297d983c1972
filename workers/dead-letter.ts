import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import type { DeadLetterStore } from '../src/store/pg/dead-letters.ts';
import type { BatchLines } from './batch-lines.ts';

const compress = promisify(zstdCompress);

export type BatchName = { readonly id: string; readonly producer: string; readonly batchNo: number };

/** Why the store refuses the rows of an insert; anything else that goes wrong is no refusal and is tried again. */
export type Refusal = { readonly code: string; readonly message: string };

export type Insert = (batch: { readonly token: string; readonly payload: Buffer }) => Promise<void>;

export type StoreDeps = {
  readonly insert: Insert;
  /** undefined for errors that say nothing about the rows (unreachable, overloaded, timed out). */
  readonly refusal: (error: unknown) => Refusal | undefined;
  readonly deadLetters: Pick<DeadLetterStore, 'keep' | 'lineNumbers' | 'refusedRanges' | 'markRefused'>;
  readonly onDeadLetter?: () => void;
};

const noOrg: Refusal = { code: 'no_org', message: 'the line does not begin with its org_id' };

/**
 * Stores a batch: as a whole with the batch id as token, or, when the store refuses it, in halves with tokens `<id>:<first>-<last>`,
 * down to the single lines that are refused, which go to the dead letters. Answers their line numbers. Crash points:
 *
 *   after an insert            the same range is inserted again with the same token, and dropped
 *   after a refusal is marked  the range is never tried as a whole again: were the schema mended meanwhile, it would be accepted, and
 *                              its halves that are stored already would be there twice
 *   before a letter is kept    the single line is tried again
 */
export async function storeBatch(deps: StoreDeps, batch: BatchName, lines: BatchLines, payload: Buffer): Promise<Set<number>> {
  const last = lines.count - 1;
  const unnamed = countUnnamed(lines);
  const refused = await deps.deadLetters.refusedRanges(batch.id);
  const isRefused = (a: number, b: number): boolean => refused.some((range) => range.first === a && range.last === b);
  if (refused.length === 0 && unnamed.between(0, last) === 0) {
    const refusal = await tryInsert(deps, batch.id, payload);
    if (refusal === undefined) return new Set();
    // A batch of one line is kept below like any other single line.
    await deps.deadLetters.markRefused(batch.id, 0, last);
    refused.push({ first: 0, last });
  }
  const dead = new Set(await deps.deadLetters.lineNumbers(batch.id));

  async function storeRange(from: number, to: number): Promise<void> {
    if (from === to && dead.has(from)) return;
    let refusal = unnamed.between(from, to) > 0 ? noOrg : undefined;
    const tried = refusal !== undefined || (from !== to && isRefused(from, to));
    if (!tried) {
      refusal = await tryInsert(deps, `${batch.id}:${from}-${to}`, await compress(lines.range(from, to)));
      if (refusal === undefined) return;
      if (from !== to) await deps.deadLetters.markRefused(batch.id, from, to);
    }
    if (from === to) {
      const { code, message } = refusal ?? noOrg;
      await deps.deadLetters.keep({
        batchId: batch.id, producer: batch.producer, batchNo: batch.batchNo, lineNo: from, orgId: lines.org(from), line: lines.line(from), errorCode: code, error: message,
      });
      dead.add(from);
      deps.onDeadLetter?.();
      return;
    }
    const middle = Math.floor((from + to) / 2);
    await storeRange(from, middle);
    await storeRange(middle + 1, to);
  }
  await storeRange(0, last);
  return dead;
}

async function tryInsert(deps: StoreDeps, token: string, payload: Buffer): Promise<Refusal | undefined> {
  try {
    await deps.insert({ token, payload });
    return undefined;
  } catch (error) {
    const refusal = deps.refusal(error);
    if (refusal === undefined) throw error;
    return refusal;
  }
}

/** Lines without an org can belong to nobody, and ClickHouse might take them; counted once, asked for every range. */
function countUnnamed(lines: BatchLines): { between(first: number, last: number): number } {
  const before = new Uint32Array(lines.count + 1);
  for (let index = 0; index < lines.count; index += 1) before[index + 1] = (before[index] ?? 0) + (lines.org(index) === undefined ? 1 : 0);
  return { between: (first, last) => (before[last + 1] ?? 0) - (before[first] ?? 0) };
}
