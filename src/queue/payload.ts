import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, createZstdCompress, zstdDecompress } from 'node:zlib';

const chunkChars = 256 * 1024;
const decompress = promisify(zstdDecompress);

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  let waiting: string[] = [];
  let chars = 0;
  for (const line of lines) {
    waiting.push(line);
    chars += line.length;
    if (chars < chunkChars) continue;
    yield Buffer.from(`${waiting.join('\n')}\n`);
    waiting = [];
    chars = 0;
  }
  if (waiting.length > 0) yield Buffer.from(`${waiting.join('\n')}\n`);
}

/**
 * A batch's payload: zstd of the lines, each ended by a newline, with zstd's checksum. Compression runs on the thread pool and lines
 * are taken in pieces, so that a full batch (8 MiB) does not hold the event loop of a proxy.
 */
export async function compressLines(lines: Iterable<string>): Promise<Buffer> {
  const parts: Buffer[] = [];
  await pipeline(
    Readable.from(chunksOf(lines), { objectMode: true, highWaterMark: 1 }),
    createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
    async (compressed: AsyncIterable<Buffer>) => {
      for await (const part of compressed) parts.push(part);
    },
  );
  return Buffer.concat(parts);
}

/** The NDJSON bytes of a payload. Throws when they are damaged or larger than `bytesMax`. */
export async function decompressPayload(payload: Buffer, bytesMax: number): Promise<Buffer> {
  return decompress(payload, { maxOutputLength: bytesMax });
}
