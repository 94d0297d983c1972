import { ByteBuffer } from './byte-buffer.ts';

export type SseEvent = {
  /** `message` where the stream names none. Undefined when it is not known: the name itself was too large, or the stream was cut. */
  readonly type: string | undefined;
  /** Lines joined with a line feed; undefined when the event was larger than the bound. */
  readonly data: string | undefined;
  /** Bytes of the stream up to the event's end. */
  readonly endBytes: number;
};

export type SseReader = {
  push(chunk: Uint8Array): void;
  /** The stream has ended. An event that is not complete is not dispatched (WHATWG), unless it was too large: that must not go unseen. */
  end(): void;
};

const carriageReturn = 13;
const lineFeed = 10;
const space = 32;
const colon = 58;
/** The longest field name that matters, and what stands behind it: only that tells `event` from `events`. */
const fieldNameBytes = 6;
const bom = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * text/event-stream (WHATWG), the same however its bytes are split: lines end with CR, LF or CRLF, one BOM at the start is dropped. The
 * `data` and `event` lines of one event are kept up to `eventBytesMax`; a larger event is read over, dispatched without data, and reading
 * goes on with the next. (eventsource-parser gives up at its bound, and how the bytes were split decides whether it reaches it.)
 */
export function createSseReader(eventBytesMax: number, onEvent: (event: SseEvent) => void): SseReader {
  /** The beginning of a line whose end has not come yet. */
  const line = new ByteBuffer(Math.max(eventBytesMax, fieldNameBytes) + bom.length);
  let firstLine = true;
  let afterCarriageReturn = false;
  let endBytes = 0;
  let event = emptyEvent();

  /** `bytes` is the line, or of a line that is too long its beginning. */
  const takeLine = (bytes: Buffer, lineBytes: number): void => {
    const start = firstLine && bytes.subarray(0, bom.length).equals(bom) ? bom.length : 0;
    firstLine = false;
    const field = fieldOf(bytes, start);
    if (field === undefined) return;
    // As if its lines were joined: many short lines are bounded like one long one.
    event.bytes += lineBytes - start + (event.bytes === 0 ? 0 : 1);
    if (event.bytes > eventBytesMax) {
      event.oversize = true;
      event.data = undefined;
    }
    if (field === 'event') event.type = lineBytes - start > eventBytesMax ? undefined : valueOf(bytes, start + field.length);
    else if (!event.oversize) event.data = event.data === undefined ? valueOf(bytes, start + field.length) : `${event.data}\n${valueOf(bytes, start + field.length)}`;
  };

  const endLine = (bytes: Buffer, lineBytes: number): void => {
    const blank = lineBytes === 0 || (firstLine && lineBytes === bom.length && bytes.equals(bom));
    if (!blank) return takeLine(bytes, lineBytes);
    firstLine = false;
    if (event.data !== undefined || event.oversize) onEvent({ type: event.type === '' ? 'message' : event.type, data: event.data, endBytes });
    event = emptyEvent();
  };

  return {
    push(given) {
      const chunk = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
      const startBytes = endBytes;
      let at = 0;
      if (afterCarriageReturn && chunk.length > 0) {
        afterCarriageReturn = false;
        if (chunk[0] === lineFeed) at = 1;
      }
      let nextCr = chunk.indexOf(carriageReturn, at);
      let nextLf = chunk.indexOf(lineFeed, at);
      while (nextCr !== -1 || nextLf !== -1) {
        const end = nextLf === -1 || (nextCr !== -1 && nextCr < nextLf) ? nextCr : nextLf;
        endBytes = startBytes + end + 1;
        const rest = chunk.subarray(at, end);
        if (line.seen === 0) endLine(rest, rest.length);
        else {
          line.append(rest);
          endLine(line.bytes, line.seen);
          line.clear();
        }
        at = end + 1;
        if (end === nextCr) {
          if (at === chunk.length) afterCarriageReturn = true;
          else if (chunk[at] === lineFeed) at += 1;
        }
        if (nextCr !== -1 && nextCr < at) nextCr = chunk.indexOf(carriageReturn, at);
        if (nextLf !== -1 && nextLf < at) nextLf = chunk.indexOf(lineFeed, at);
      }
      endBytes = startBytes + chunk.length;
      line.append(chunk.subarray(at));
    },
    end() {
      // Of the line that did not end only its size counts.
      if (line.seen > eventBytesMax) takeLine(line.bytes, line.seen);
      if (event.oversize) onEvent({ type: event.type === '' ? undefined : event.type, data: undefined, endBytes });
      event = emptyEvent();
      line.clear();
    },
  };
}

type OpenEvent = { type: string | undefined; data: string | undefined; bytes: number; oversize: boolean };

function emptyEvent(): OpenEvent {
  return { type: '', data: undefined, bytes: 0, oversize: false };
}

/** `id`, `retry`, comments and unknown fields say nothing to a counter. */
function fieldOf(bytes: Buffer, start: number): 'data' | 'event' | undefined {
  const nameEnd = bytes.subarray(0, start + fieldNameBytes).indexOf(colon, start);
  const name = bytes.toString('latin1', start, nameEnd === -1 ? Math.min(bytes.length, start + fieldNameBytes) : nameEnd);
  return name === 'data' || name === 'event' ? name : undefined;
}

function valueOf(bytes: Buffer, nameEnd: number): string {
  const start = nameEnd + 1;
  return bytes.toString('utf8', bytes[start] === space ? start + 1 : start);
}
