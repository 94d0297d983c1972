import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Commit } from './commit.ts';
import type { StreamRow } from './row.ts';
import { decodeLines } from './row.ts';

/** An org's stream holds the entry `<commit seq>-0` for each commit with rows of that org. */
export type StreamEntry = {
  readonly commit: Commit;
  /** Commit seq of the entry before it at the time of publishing, 0 when the stream did not exist: another value than expected is a gap. */
  readonly prev: number;
  /** zstd of the org's NDJSON lines; undefined when they are too many, then only the store has them. */
  readonly data: Buffer | undefined;
};

/** Larger inline data would cost more Redis memory and hub time than one read of the store. */
export const inlineBytesMax = 32 * 1024;
const inlineRawBytesMax = 1024 * 1024;

const keyPrefix = 'ch:stream:';

export function streamKey(orgId: string): string {
  return keyPrefix + orgId;
}

export function streamOrg(key: string): string {
  return key.slice(keyPrefix.length);
}

/** The seq in an entry id `<seq>-0`. */
export function entrySeq(id: string): number {
  const seq = Number(id.split('-', 1)[0]);
  if (!Number.isSafeInteger(seq)) throw new Error(`stream entry id ${JSON.stringify(id)} holds no commit seq`);
  return seq;
}

/** Fields and values of an XADD, in turns. Throws when one is missing: not an entry of ours. */
export function parseEntry(id: string, fields: readonly Buffer[]): StreamEntry {
  const values = new Map<string, Buffer>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = [fields[at], fields[at + 1]];
    if (name !== undefined && value !== undefined) values.set(name.toString(), value);
  }
  const text = (name: string): string => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`stream entry ${id}: field ${name} is missing`);
    return value.toString();
  };
  const prev = Number(text('prev'));
  if (!Number.isSafeInteger(prev)) throw new Error(`stream entry ${id}: field prev is not a commit seq`);
  const data = values.get('data');
  return {
    commit: { seq: entrySeq(id), batchId: text('batch_id'), minTimestamp: text('min_timestamp'), maxTimestamp: text('max_timestamp') },
    prev,
    data: data === undefined || data.length === 0 ? undefined : data,
  };
}

/** The inline form of an org's lines, or undefined when they are too large for it. */
export function inlineData(lines: readonly string[]): Buffer | undefined {
  const raw = lines.join('\n');
  if (raw.length > inlineRawBytesMax) return undefined;
  const data = zstdCompressSync(raw);
  return data.length > inlineBytesMax ? undefined : data;
}

/** Inline data to rows in delivery order; throws when it is damaged. */
export function decodeInline(orgId: string, data: Buffer): StreamRow[] {
  // A UTF-16 unit is at most three bytes of UTF-8.
  return decodeLines(orgId, zstdDecompressSync(data, { maxOutputLength: 3 * inlineRawBytesMax }).toString());
}
