import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress } from 'node:zlib';
import { cancelled, toException } from './exception.ts';
import type { ClickHouseException } from './exception.ts';

export interface Summary {
  readonly readRows: number;
  readonly readBytes: number;
  readonly writtenRows: number;
  readonly writtenBytes: number;
  readonly resultRows: number;
  readonly resultBytes: number;
}

export interface AnswerOptions {
  readonly format: string;
  readonly contentType: string;
  readonly summary?: Partial<Summary>;
}

/** The answer to one query. Nothing is sent before `start`, so that an error until then has its own status. */
export interface Answer {
  readonly started: boolean;
  start(options: AnswerOptions): void;
  /** Resolves when the client has taken enough of what was written; rejects when it is gone or takes nothing for too long. */
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Reports the error: with its status before the start; after it as ClickHouse's exception block, and then a cut connection. */
  fail(error: unknown): Promise<void>;
}

const encoders: readonly (readonly [string, () => Transform])[] = [
  ['zstd', createZstdCompress],
  ['gzip', () => createGzip({ level: 3 })],
  ['br', createBrotliCompress],
  ['deflate', createDeflate],
];
const exceptionBytesMax = 8192;
const pieceBytes = 262_144;

export function createAnswer(request: IncomingMessage, response: ServerResponse, context: {
  readonly queryId: string;
  readonly version: string;
  readonly compress: boolean;
  readonly signal: AbortSignal;
  readonly sendTimeoutMs: number;
}): Answer {
  const startedAt = performance.now();
  const tag = randomBytes(8).toString('hex');
  let encoder: Transform | undefined;
  let piping: Promise<void> | undefined;

  const summaryHeader = (summary: Partial<Summary> = {}): string => JSON.stringify({
    read_rows: String(summary.readRows ?? 0),
    read_bytes: String(summary.readBytes ?? 0),
    written_rows: String(summary.writtenRows ?? 0),
    written_bytes: String(summary.writtenBytes ?? 0),
    total_rows_to_read: '0',
    result_rows: String(summary.resultRows ?? 0),
    result_bytes: String(summary.resultBytes ?? 0),
    elapsed_ns: String(Math.round((performance.now() - startedAt) * 1e6)),
  });
  const setCommonHeaders = (): void => {
    response.setHeader('X-ClickHouse-Server-Display-Name', 'embedded');
    response.setHeader('X-ClickHouse-Query-Id', context.queryId);
    response.setHeader('X-ClickHouse-Timezone', 'UTC');
  };
  const drained = async (stream: NodeJS.EventEmitter): Promise<void> => {
    const late = AbortSignal.timeout(context.sendTimeoutMs);
    try {
      await once(stream, 'drain', { signal: AbortSignal.any([context.signal, late]) });
    } catch (cause) {
      throw cancelled(late.aborted ? `The client took nothing for ${context.sendTimeoutMs} ms.` : 'The client went away.', cause);
    }
  };
  // The encoder's output into the response, at the client's speed.
  const pump = async (from: Transform): Promise<void> => {
    for await (const bytes of from as AsyncIterable<Buffer>) if (!response.write(bytes)) await drained(response);
  };

  return {
    get started() { return response.headersSent; },
    start({ format, contentType, summary }) {
      setCommonHeaders();
      response.setHeader('Content-Type', contentType);
      response.setHeader('X-ClickHouse-Format', format);
      response.setHeader('X-ClickHouse-Exception-Tag', tag);
      response.setHeader('X-ClickHouse-Summary', summaryHeader(summary));
      const accepted = context.compress ? String(request.headers['accept-encoding'] ?? '') : '';
      const choice = encoders.find(([name]) => new RegExp(`(^|[,\\s])${name}(\\s*(,|;|$))`).test(accepted));
      if (choice !== undefined) {
        response.setHeader('Content-Encoding', choice[0]);
        encoder = choice[1]();
        // Its errors end the pump and the writes that wait for it.
        encoder.on('error', () => undefined);
        piping = pump(encoder);
        // It is awaited at the end; a client that leaves earlier must not count as an unhandled rejection.
        piping.catch((error: unknown) => encoder?.destroy(error instanceof Error ? error : undefined));
      }
      response.writeHead(200);
    },
    async write(bytes) {
      const target = encoder ?? response;
      // In pieces, so that the time limit is one on progress and not on a whole block of many megabytes.
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        if (context.signal.aborted) throw cancelled('The client went away.');
        if (!target.write(bytes.subarray(at, at + pieceBytes))) await drained(target);
      }
    },
    async end() {
      if (encoder !== undefined) {
        encoder.end();
        await piping;
      }
      response.end();
    },
    async fail(error) {
      const exception = toException(error);
      if (response.destroyed) return;
      if (!response.headersSent) {
        setCommonHeaders();
        sendException(response, exception, context.version, summaryHeader());
        return;
      }
      await sendExceptionBlock(exception);
    },
  };

  async function sendExceptionBlock(exception: ClickHouseException): Promise<void> {
    const message = Buffer.from(exception.render(context.version)).subarray(0, exceptionBytesMax);
    const text = message.at(-1) === 0x0a ? message : Buffer.concat([message, Buffer.from('\n')]);
    const block = Buffer.concat([
      Buffer.from(`\r\n__exception__\r\n${tag}\r\n`), text, Buffer.from(`${text.length} ${tag}\r\n__exception__\r\n`),
    ]);
    try {
      if (encoder === undefined) await new Promise<void>((resolve) => response.write(block, () => resolve()));
      else {
        encoder.end(block);
        await piping;
      }
    } catch {
      // The client is gone, or takes nothing: there is nobody to tell.
      response.destroy();
      return;
    }
    // No closing chunk: also a client that does not know the block sees a cut answer and not a short one.
    response.socket?.end();
  }
}

export function sendException(response: ServerResponse, exception: ClickHouseException, version: string, summary?: string): void {
  const body = exception.render(version);
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  response.setHeader('X-ClickHouse-Exception-Code', exception.code);
  if (summary !== undefined) response.setHeader('X-ClickHouse-Summary', summary);
  if (exception.httpStatus === 401) response.setHeader('WWW-Authenticate', 'Basic realm="ClickHouse server HTTP API"');
  response.writeHead(exception.httpStatus, { 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
