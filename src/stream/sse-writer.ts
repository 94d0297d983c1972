import type { Writable } from 'node:stream';
import type { EventName, StreamRow } from './row.ts';
import { commentFrame, eventFrame, retryFrame } from './sse.ts';
import type { CloseReason, StreamSink } from './subscriber.ts';

export type SseWriterOptions = {
  readonly output: Writable;
  readonly event: EventName;
  /** Bytes that may wait for the client; over it no more rows are welcome. */
  readonly bufferBytesMax: number;
  readonly heartbeatMs: number;
  readonly durationMs: number;
  /** Hint to the client, see `retryFrame`. */
  readonly retryMs?: number;
  /** Time a client gets to take what is left and the reason; then the connection is cut. */
  readonly closeGraceMs?: number;
  /** Called once, when the stream ends for whatever reason. */
  readonly onClosed: (reason: CloseReason) => void;
};

export type SseWriter = StreamSink & {
  comment(text: string): void;
  /** Writes the reason as a comment and ends the output; later calls do nothing. */
  close(reason: CloseReason): void;
  /** Bytes taken and not yet handed to the system. */
  pendingBytes(): number;
};

const heartbeat = commentFrame('heartbeat');

/**
 * Server-sent events over a Node writable. Everything given in one turn of the event loop leaves in one write. Memory is bounded by
 * `bufferBytesMax`, as long as the giver heeds `deliver`'s answer, and by `durationMs` and `closeGraceMs` in time.
 */
export function createSseWriter(options: SseWriterOptions): SseWriter {
  const { output, event, bufferBytesMax, closeGraceMs = 5000 } = options;
  let queue: Buffer[] = [];
  let pending = 0;
  let isClosed = false;
  let waiting: (() => void)[] = [];

  function release(): void {
    const released = waiting;
    waiting = [];
    for (const resolve of released) resolve();
  }

  function flush(): void {
    const frames = queue;
    queue = [];
    const [first] = frames;
    if (first === undefined || output.destroyed || output.writableEnded) return;
    const chunk = frames.length === 1 ? first : Buffer.concat(frames);
    // Own bookkeeping: `writableLength` of an HTTP response mixes in the socket's and the chunk headers, and 'drain' says too little.
    output.write(chunk, () => {
      pending -= chunk.length;
      if (pending <= bufferBytesMax / 2) release();
    });
  }

  function push(frame: Buffer): void {
    if (queue.length === 0) process.nextTick(flush);
    queue.push(frame);
    pending += frame.length;
  }

  function finish(reason: CloseReason): void {
    if (isClosed) return;
    isClosed = true;
    clearInterval(beat);
    clearTimeout(age);
    release();
    options.onClosed(reason);
  }

  function close(reason: CloseReason): void {
    if (isClosed) return;
    if (!output.destroyed) {
      push(commentFrame(`closing: ${reason}`));
      flush();
      const cut = setTimeout(() => output.destroy(), closeGraceMs);
      cut.unref();
      output.once('close', () => clearTimeout(cut));
      output.end();
    }
    finish(reason);
  }

  const beat = setInterval(() => {
    // A client that is behind gets rows soon enough, and would only get further behind.
    if (pending < bufferBytesMax) push(heartbeat);
  }, options.heartbeatMs);
  const age = setTimeout(close, options.durationMs, 'duration');
  output.once('close', () => finish('client'));
  // Gone before we came: 'close' will not be told again.
  if (output.destroyed) process.nextTick(finish, 'client');
  // A reset connection is the client's going, not an error of ours; 'close' follows.
  output.on('error', () => finish('client'));
  if (options.retryMs !== undefined) push(retryFrame(options.retryMs));

  return {
    deliver(rows: readonly StreamRow[]) {
      if (isClosed) return false;
      for (const row of rows) push(eventFrame(event, row));
      return pending < bufferBytesMax;
    },
    drained() {
      if (isClosed || pending < bufferBytesMax) return Promise.resolve();
      return new Promise((resolve) => waiting.push(resolve));
    },
    closed: close,
    close,
    comment(text) {
      if (!isClosed) push(commentFrame(text));
    },
    pendingBytes: () => pending,
  };
}
