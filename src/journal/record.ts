import { crc32 } from 'node:zlib';
import type { Micros } from '../kernel/clock.ts';

/**
 * One line of an open segment: `<crc32 of the rest, 8 hex>\t<kind>\t<micros>\t<intent id, may be empty>\t<row as JSON>\n`.
 * `row` is an accepted row, and settles the intent whose id it carries; `intent` is a row that counts only when nothing settled it.
 */
export type JournalRecord = { readonly kind: 'row' | 'intent'; readonly micros: Micros; readonly intentId: string; readonly line: string };

const crcDigits = 8;
const newline = 0x0a;

export function encodeRecord(record: JournalRecord): string {
  const body = `${record.kind === 'row' ? 'r' : 'i'}\t${record.micros}\t${record.intentId}\t${record.line}`;
  return `${crc32(body).toString(16).padStart(crcDigits, '0')}\t${body}\n`;
}

function decodeRecord(text: string): JournalRecord | undefined {
  const body = text.slice(crcDigits + 1);
  if (text[crcDigits] !== '\t' || Number.parseInt(text.slice(0, crcDigits), 16) !== crc32(body)) return undefined;
  const afterKind = body.indexOf('\t');
  const afterMicros = body.indexOf('\t', afterKind + 1);
  const afterIntent = body.indexOf('\t', afterMicros + 1);
  if (afterIntent < 0) return undefined;
  return {
    kind: body.startsWith('r') ? 'row' : 'intent',
    micros: Number(body.slice(afterKind + 1, afterMicros)),
    intentId: body.slice(afterMicros + 1, afterIntent),
    line: body.slice(afterIntent + 1),
  };
}

/**
 * Reads a segment that a dead process left. `validBytes` ends after the last whole record: what follows was torn by the crash and was
 * never acknowledged. A damaged record before that end (a disk that lost a page in a power cut) is skipped and counted, so that it
 * does not cost the rows behind it.
 */
export function decodeRecords(bytes: Buffer): { records: JournalRecord[]; validBytes: number; damaged: number } {
  const records: JournalRecord[] = [];
  let validBytes = 0;
  let damaged = 0;
  let damagedSinceValid = 0;
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(newline, start);
    if (end < 0) break;
    const record = decodeRecord(bytes.toString('utf8', start, end));
    start = end + 1;
    if (record === undefined) {
      damagedSinceValid += 1;
      continue;
    }
    records.push(record);
    damaged += damagedSinceValid;
    damagedSinceValid = 0;
    validBytes = start;
  }
  return { records, validBytes, damaged };
}
