import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';

/** One line of the input. `problem` is set when it cannot even be read as text; then `text` is empty. */
export type InputLine = { readonly text: string; readonly problem?: string };

/** Lines that follow each other, and where the next one starts. */
export type LineChunk = { readonly lines: readonly InputLine[]; readonly endOffset: number };

/** Fills `buffer` from its `at` on and answers how many bytes came; fewer than asked for only at the end of the input. */
export type ReadBytes = (buffer: Buffer, at: number) => Promise<number>;

export const lineBytesMax = 2 * 1_048_576;
const blockBytes = 1_048_576;
const newline = 10;

/**
 * A chunk ends with the line that brings it to so many lines, which make one batch, or to so many bytes; where it ends depends on nothing
 * else. That lets a resumed import know which lines may be in already (read-file.ts); changing one of these makes unfinished ones unsafe.
 */
export const chunkLines = 10_000;
export const chunkBytes = 8 * 1_048_576;

export function readFrom(file: FileHandle, offset: number): ReadBytes {
  let position = offset;
  return async (buffer, at) => {
    let filled = at;
    while (filled < buffer.length) {
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position);
      if (bytesRead === 0) break;
      filled += bytesRead;
      position += bytesRead;
    }
    return filled - at;
  };
}

/** The same of a stream such as standard input. */
export function readFromStream(stream: AsyncIterable<Buffer>): ReadBytes {
  const chunks = stream[Symbol.asyncIterator]();
  let waiting: Buffer = Buffer.alloc(0);
  return async (buffer, at) => {
    let filled = at;
    while (filled < buffer.length) {
      if (waiting.length === 0) {
        const next = await chunks.next();
        if (next.done === true) break;
        waiting = next.value;
      }
      const copied = waiting.copy(buffer, filled);
      waiting = waiting.subarray(copied);
      filled += copied;
    }
    return filled - at;
  };
}

function checked(text: string): InputLine {
  // A character takes three bytes at most, so most lines need no count.
  if (text.length * 3 > lineBytesMax && Buffer.byteLength(text) > lineBytesMax) return { text: '', problem: `line: longer than ${lineBytesMax} bytes` };
  return { text };
}

/** Length of the first `count` lines of `bytes`, or of those up to the one that reaches `bytesMax`, or of all when that is less. */
function lengthOfLines(bytes: Buffer, count: number, bytesMax: number): number {
  let end = 0;
  for (let left = count; left > 0 && end < bytesMax; left -= 1) {
    const found = bytes.indexOf(newline, end);
    if (found === -1) return bytes.length;
    end = found + 1;
  }
  return end;
}

/** `whole` holds complete lines only. Decoding them together is several times faster than one by one. */
function decode(whole: Buffer, lines: InputLine[]): void {
  if (isUtf8(whole)) {
    for (const text of whole.toString('utf8').split('\n')) lines.push(checked(text));
    return;
  }
  let start = 0;
  while (start <= whole.length) {
    const found = whole.indexOf(newline, start);
    const end = found === -1 ? whole.length : found;
    const bytes = whole.subarray(start, end);
    lines.push(isUtf8(bytes) ? checked(bytes.toString('utf8')) : { text: '', problem: 'line: not UTF-8 text' });
    start = end + 1;
  }
}

/**
 * Cuts the input into chunks of lines, holding one block and one unfinished line (at most 2 MiB) at a time. A longer line is dropped as
 * it is read and becomes one line with a problem. `startOffset` must be the start of a line.
 */
export async function* readLineChunks(read: ReadBytes, startOffset: number): AsyncGenerator<LineChunk> {
  let lines: InputLine[] = [];
  let carried = Buffer.alloc(0);
  // Used again for every block: what is kept of one is copied, and texts are copies anyway.
  let block = Buffer.allocUnsafe(blockBytes);
  let offset = startOffset;
  let chunkStart = startOffset;
  let tooLong = false;
  for (;;) {
    const size = (Math.floor(carried.length / blockBytes) + 1) * blockBytes;
    if (block.length < size) block = Buffer.allocUnsafe(size);
    carried.copy(block);
    const wanted = size - carried.length;
    const count = await read(block.subarray(0, size), carried.length);
    const filled = block.subarray(0, carried.length + count);
    const complete = count < wanted ? filled : filled.subarray(0, filled.lastIndexOf(newline) + 1);
    let whole = complete.subarray(0, lengthOfLines(complete, chunkLines - lines.length, chunkBytes - (offset - chunkStart)));
    const cut = whole.length < complete.length;
    const end = count < wanted && !cut;
    carried = Buffer.from(filled.subarray(whole.length));
    offset += whole.length;
    if (tooLong && whole.length > 0) {
      // What is left of the line that was dropped, up to its end.
      const rest = whole.indexOf(newline);
      whole = rest === -1 ? whole.subarray(whole.length) : whole.subarray(rest + 1);
      lines.push({ text: '', problem: `line: longer than ${lineBytesMax} bytes` });
      tooLong = false;
    }
    if (whole.length > 0) decode(whole.at(-1) === newline ? whole.subarray(0, -1) : whole, lines);
    if (!cut && carried.length > lineBytesMax) {
      offset += carried.length;
      carried = Buffer.alloc(0);
      tooLong = true;
    }
    if (tooLong && end) lines.push({ text: '', problem: `line: longer than ${lineBytesMax} bytes` });
    if (end || (!tooLong && lines.length > 0 && (lines.length >= chunkLines || offset - chunkStart >= chunkBytes))) {
      yield { lines, endOffset: offset };
      lines = [];
      chunkStart = offset;
    }
    if (end) return;
  }
}
