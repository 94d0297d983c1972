import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { ClickHouseException, badArguments, notEnoughSpace, notImplemented, tooLarge } from './exception.ts';

export type Chunks = AsyncIterable<Buffer>;

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/**
 * The request's body, decompressed as its Content-Encoding says. At most `bytesMax` bytes come out of it. Whatever goes wrong, the
 * request itself is not destroyed (that would cut the connection before the client could read what was wrong).
 */
export async function* readBody(request: IncomingMessage, bytesMax: number): AsyncGenerator<Buffer, void, void> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const received = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  let source = received;
  if (encoding !== 'identity' && encoding !== '') {
    const createDecoder = decoders[encoding];
    if (createDecoder === undefined) throw notImplemented(`Unknown HTTP content encoding: ${encoding.slice(0, 50)}. Known are gzip, deflate, br, zstd.`);
    source = decompress(received, createDecoder(), encoding);
  }
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge(`The request's body is longer than ${bytesMax} bytes after decompression.`);
    yield chunk;
  }
}

async function* decompress(received: AsyncIterable<Buffer>, decoder: Transform, encoding: string): AsyncGenerator<Buffer, void, void> {
  let uploadError: unknown;
  // It ends the reader below; without a listener of its own it would also end the process.
  decoder.on('error', () => undefined);
  const feed = async (): Promise<void> => {
    for await (const chunk of received) if (!decoder.write(chunk)) await once(decoder, 'drain');
    decoder.end();
  };
  // An error of the decoder itself reaches the reader below; one of the upload has to be carried over to it.
  const fed = feed().catch((error: unknown) => {
    uploadError = error;
    decoder.destroy(error as Error);
  });
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    if (error === uploadError && !isDecoderError(error)) throw error;
    throw new ClickHouseException(354, 'ZLIB_INFLATE_FAILED', `The request's body is not valid ${encoding}: ${(error as Error).message}.`, { cause: error });
  } finally {
    decoder.destroy();
  }
  await fed;
}

// zlib's errors carry the library's own number; those of sockets and streams do not have it in this form.
const isDecoderError = (error: unknown): boolean => /^(Z_|ZSTD_|ERR_|unexpected)/.test((error as NodeJS.ErrnoException).code ?? '') && typeof (error as { errno?: unknown }).errno === 'number' && (error as { syscall?: unknown }).syscall === undefined;

export interface Head {
  readonly bytes: Buffer;
  /** True when the body had no more than this. */
  readonly complete: boolean;
  readonly rest: AsyncIterator<Buffer>;
}

/** Reads until `bytesMax` are there or the source ends. */
export async function readHead(source: Chunks, bytesMax: number): Promise<Head> {
  const rest = source[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let bytes = 0;
  while (bytes < bytesMax) {
    const next = await rest.next();
    if (next.done === true) return { bytes: Buffer.concat(chunks), complete: true, rest };
    chunks.push(next.value);
    bytes += next.value.length;
  }
  return { bytes: Buffer.concat(chunks), complete: false, rest };
}

/** Bytes of request bodies that lie on disk at a time, over all requests. */
export interface SpoolBudget {
  take(bytes: number): void;
  give(bytes: number): void;
}

export function createSpoolBudget(bytesMax: number): SpoolBudget {
  let used = 0;
  return {
    take(bytes) {
      if (used + bytes > bytesMax) throw notEnoughSpace(`The bodies of running inserts already take ${used} of ${bytesMax} bytes. Try again.`);
      used += bytes;
    },
    give(bytes) {
      used -= bytes;
    },
  };
}

/** Writes `first` and the rest of the source to a new file; answers its size. The caller removes the file and gives the bytes back. */
export async function spool(file: string, first: Buffer, rest: AsyncIterator<Buffer>, budget: SpoolBudget, taken: { bytes: number }): Promise<void> {
  const out = await open(file, 'wx', 0o600);
  try {
    let chunk = first;
    for (;;) {
      budget.take(chunk.length);
      taken.bytes += chunk.length;
      if (chunk.length > 0) await out.write(chunk);
      const next = await rest.next();
      if (next.done === true) return;
      chunk = next.value;
    }
  } finally {
    await out.close();
  }
}

/** SQL is UTF-8; a replaced character could change which name or value a statement means. */
export function decodeSql(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw badArguments('The query is not valid UTF-8.');
  }
}
