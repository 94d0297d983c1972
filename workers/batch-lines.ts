import { lineOrg } from '../src/events/line.ts';

const newline = 0x0a;
/** `{"org_id":"`, 36 characters of id, the closing quote: all that lineOrg looks at. */
const headBytes = 48;

/** The NDJSON bytes of a batch, cut into lines without parsing one. Lines count from 0; empty ones do not count. */
export type BatchLines = {
  readonly count: number;
  /** The org a line names at its fixed place, undefined when it does not. */
  org(index: number): string | undefined;
  line(index: number): Buffer;
  /** Lines `first` to `last` inclusive as NDJSON. */
  range(first: number, last: number): Buffer;
};

export function splitLines(ndjson: Buffer): BatchLines {
  const starts: number[] = [];
  const ends: number[] = [];
  for (let at = 0; at < ndjson.length;) {
    const found = ndjson.indexOf(newline, at);
    const end = found === -1 ? ndjson.length : found;
    if (end > at) {
      starts.push(at);
      ends.push(end);
    }
    at = end + 1;
  }
  const start = (index: number): number => starts[index] ?? ndjson.length;
  const end = (index: number): number => ends[index] ?? ndjson.length;
  return {
    count: starts.length,
    org: (index) => lineOrg(ndjson.toString('latin1', start(index), Math.min(start(index) + headBytes, end(index)))),
    line: (index) => ndjson.subarray(start(index), end(index)),
    range: (first, last) => ndjson.subarray(start(first), end(last)),
  };
}

export type OrgSlice = { readonly orgId: string; readonly rows: number; readonly lines?: readonly string[] };

/**
 * What each org has in a batch, without the lines in `dead`. `lines` are given only for orgs whose lines have at most `inlineBytesMax`
 * bytes together: larger ones never fit into a stream entry, and making strings of them is the costliest step here.
 */
export function sliceByOrg(lines: BatchLines, dead: ReadonlySet<number>, inlineBytesMax: number): OrgSlice[] {
  const found = new Map<string, { indexes: number[]; bytes: number }>();
  for (let index = 0; index < lines.count; index += 1) {
    if (dead.has(index)) continue;
    const orgId = lines.org(index);
    if (orgId === undefined) throw new Error(`line ${index} of the batch names no org and is not in the dead letters`);
    const slice = found.get(orgId) ?? { indexes: [], bytes: 0 };
    slice.indexes.push(index);
    slice.bytes += lines.line(index).length;
    found.set(orgId, slice);
  }
  return [...found].map(([orgId, { indexes, bytes }]) => {
    if (bytes > inlineBytesMax) return { orgId, rows: indexes.length };
    return { orgId, rows: indexes.length, lines: indexes.map((index) => lines.line(index).toString('utf8')) };
  });
}
