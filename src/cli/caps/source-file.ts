import { open } from 'node:fs/promises';
import { UsageError } from './usage.ts';

/** `-` stands for standard input. */
export type SourceFile = { readonly name: string; readonly bytes: Uint8Array };

/** Twice what any document may have: the policy engine says "too large", nothing reads a disk full. */
export const fileBytesMax = 1_048_576;

/** The bytes of a file, at most `bytesMax + 1`, so that who asks sees a larger one. Throws UsageError when it cannot be read. */
export async function readSource(name: string, { stdin = process.stdin, bytesMax = fileBytesMax }: { readonly stdin?: AsyncIterable<Uint8Array>; readonly bytesMax?: number } = {}): Promise<SourceFile> {
  if (name === '-') return { name, bytes: await readStream(stdin, bytesMax) };
  try {
    const file = await open(name);
    try {
      return { name, bytes: await readStream(file.createReadStream({ end: bytesMax }), bytesMax) };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new UsageError(`${name}: ${reasonOf(error)}`, { cause: error });
  }
}

async function readStream(stream: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}

const reasons: Readonly<Record<string, string>> = { ENOENT: 'no such file', EACCES: 'permission denied', EISDIR: 'is a directory', ENOTDIR: 'no such file' };

export function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}

/** The text of a file, or the offset (bytes) of what is not UTF-8. A byte order mark is kept. */
export function textOf({ bytes }: SourceFile): { readonly text: string } | { readonly badAt: number } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { badAt: firstBad(bytes) };
  }
}

function firstBad(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length;
  // A prefix decodes as a stream while it is good, whatever it ends in.
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return good;
}
