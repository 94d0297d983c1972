import { parseJson } from '../src/kernel/json.ts';
import { parseTimestamp } from '../src/kernel/clock.ts';
import { lineOrg } from '../src/events/line.ts';
import { compressLines } from '../src/queue/payload.ts';
import type { DeadLetterStore } from '../src/store/pg/dead-letters.ts';
import type { OutboxPointer, UnstampedLine } from '../src/store/pg/outbox-batches.ts';

/** What a batch stamps on its lines (src/events/line.ts); a replayed line gets that of its new batch. */
const stampKeys = ['ingested_at', 'producer', 'batch_id', 'batch_no', 'batch_rows'];

/** Lines of one replay batch. */
const lettersMax = 1_000;

/**
 * A refused line without its old stamp, with id, timestamp and source_seq as they were. Whether the store takes it now is the store's
 * answer: if not, it comes back as a dead letter of producer `replay`.
 */
export function unstampedLine(line: Buffer): UnstampedLine | { readonly problem: string } {
  let row: unknown;
  try {
    row = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(line));
  } catch {
    return { problem: 'not a line of JSON in UTF-8' };
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return { problem: 'not a JSON object' };
  const { org_id, ...rest }: Record<string, unknown> = Object.fromEntries(Object.entries(row).filter(([key]) => !stampKeys.includes(key)));
  const text = JSON.stringify({ org_id, ...rest });
  if (lineOrg(text) === undefined) return { problem: 'org_id: not an id' };
  const stored = typeof rest['timestamp'] === 'string' ? rest['timestamp'] : '';
  const timestamp = `${stored.slice(0, 10)}T${stored.slice(11)}Z`;
  if (parseTimestamp(timestamp) === undefined) return { problem: 'timestamp: not a date and time' };
  return { line: text, timestamp };
}

export type ReplayResult = { readonly batches: readonly OutboxPointer[]; readonly replayed: number; readonly problems: readonly { readonly id: number; readonly problem: string }[] };

/**
 * Sends waiting dead letters through the pipeline again: all of them, or those named. Each batch of them commits with their mark, so an
 * interrupted replay goes on where it stopped and no letter is sent twice. The outbox relay ships the batches.
 */
export async function replayDeadLetters(deadLetters: DeadLetterStore, ids?: readonly number[]): Promise<ReplayResult> {
  const batches: OutboxPointer[] = [];
  const problems: { id: number; problem: string }[] = [];
  let replayed = 0;
  const replayOne = async (chosen: readonly number[]): Promise<void> => {
    const result = await deadLetters.replay(chosen, unstampedLine, compressLines);
    if (result.batch !== undefined) batches.push(result.batch);
    replayed += result.replayed.length;
    problems.push(...result.problems);
  };
  if (ids !== undefined) {
    for (let at = 0; at < ids.length; at += lettersMax) await replayOne(ids.slice(at, at + lettersMax));
    return { batches, replayed, problems };
  }
  for (let afterId = 0; ;) {
    const letters = await deadLetters.list({ afterId, limit: lettersMax, waitingOnly: true });
    const last = letters.at(-1);
    if (last === undefined) return { batches, replayed, problems };
    await replayOne(letters.map((letter) => letter.id));
    afterId = last.id;
  }
}
