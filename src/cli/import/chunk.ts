import { setImmediate as turn } from 'node:timers/promises';
import type { Journal } from '../../journal/journal.ts';
import type { StoredIds } from '../../store/ch/stored-ids.ts';
import type { InputLine } from './lines.ts';
import type { ParsedRow, RetentionOf } from './parse-row.ts';
import { parseRow } from './parse-row.ts';

/** Lines parsed between two turns of the event loop, which also ships batches and hears Ctrl-C. */
const linesPerTurn = 500;
/** What may wait for the journal's disk at once; the journal itself refuses more than 16 MiB. */
const windowRows = 2000;
const windowCharacters = 4 * 1_048_576;

export type ParsedChunk = { readonly rows: readonly ParsedRow[]; readonly rejected: readonly { readonly line: number; readonly problems: readonly string[] }[] };

/** `firstLine` is the number of the chunk's first line, from 1. Blank lines are neither taken nor rejected. */
export async function parseChunk(lines: readonly InputLine[], firstLine: number, deps: { readonly org: string | undefined; readonly retentionOf: RetentionOf }): Promise<ParsedChunk> {
  const rows: ParsedRow[] = [];
  const rejected: { line: number; problems: readonly string[] }[] = [];
  for (const [index, { text, problem }] of lines.entries()) {
    if (index % linesPerTurn === linesPerTurn - 1) await turn();
    const line = firstLine + index;
    if (problem !== undefined) {
      rejected.push({ line, problems: [problem] });
      continue;
    }
    const bare = line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text;
    const outcome = parseRow(bare, deps);
    const settled = outcome instanceof Promise ? await outcome : outcome;
    if (settled === 'blank') continue;
    if ('problems' in settled) rejected.push({ line, problems: settled.problems });
    else rows.push(settled.row);
  }
  return { rows, rejected };
}

/** The rows that are not stored yet. */
export async function newRows(rows: readonly ParsedRow[], storedIds: StoredIds): Promise<readonly ParsedRow[]> {
  const stored = await storedIds(rows);
  return stored.size === 0 ? rows : rows.filter((row) => !stored.has(row.id));
}

/** Resolves when all rows are sealed in the journal: from then on they survive a power cut. Rejects with the journal's error. */
export async function appendRows(journal: Journal, rows: readonly ParsedRow[]): Promise<void> {
  let waiting: Promise<void>[] = [];
  let characters = 0;
  for (const { line, timestamp } of rows) {
    waiting.push(journal.append(line, timestamp));
    characters += line.length;
    if (waiting.length < windowRows && characters < windowCharacters) continue;
    await Promise.all(waiting);
    waiting = [];
    characters = 0;
  }
  await Promise.all(waiting);
  await journal.seal();
}
