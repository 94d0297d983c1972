import { createHash } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Which file an import reads: its size and the hash of its first bytes. The path does not count, so a file may be moved. */
export type FileIdentity = { readonly size: number; readonly headBytes: number; readonly headSha256: string };

/**
 * How far an import is. Written after the rows of a chunk are sealed in the journal, so all lines before `offset` are safe, and at most
 * one chunk of lines behind it may be in the journal or stored without standing here.
 */
export type Checkpoint = {
  readonly version: 1;
  /** Null for standard input, which cannot be continued. */
  readonly file: FileIdentity | null;
  readonly org: string | null;
  readonly offset: number;
  /** Lines before `offset`. */
  readonly lines: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Accepted lines that were found stored already. */
  readonly skipped: number;
  /** Length of the file of rejected lines. */
  readonly rejectedBytes: number;
  /** Whether each chunk is compared with the store (`--again`, or a file that has grown). */
  readonly checking: boolean;
  /** When every line was stored, RFC 3339. */
  readonly finishedAt: string | null;
};

const headBytesMax = 65_536;

async function headHash(file: FileHandle, bytes: number): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  let filled = 0;
  while (filled < bytes) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return createHash('sha256').update(buffer.subarray(0, filled)).digest('hex');
}

export async function identify(file: FileHandle): Promise<FileIdentity> {
  const { size } = await file.stat();
  const headBytes = Math.min(size, headBytesMax);
  return { size, headBytes, headSha256: await headHash(file, headBytes) };
}

export function isSameFile(a: FileIdentity, b: FileIdentity): boolean {
  return a.size === b.size && a.headBytes === b.headBytes && a.headSha256 === b.headSha256;
}

/** True when the file begins as the earlier one did and is longer: rows were appended to it since. */
export async function hasGrown(file: FileHandle, now: FileIdentity, earlier: FileIdentity): Promise<boolean> {
  return now.size > earlier.size && (await headHash(file, earlier.headBytes)) === earlier.headSha256;
}

export function checkpointPath(stateDir: string): string {
  return join(stateDir, 'checkpoint.json');
}

/** Undefined when this name was never imported. Throws when the file is damaged, naming it. */
export async function readCheckpoint(stateDir: string): Promise<Checkpoint | undefined> {
  const path = checkpointPath(stateDir);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const checkpoint = JSON.parse(text) as Checkpoint;
    if (checkpoint.version === 1) return checkpoint;
  } catch {
    // Written whole by rename, so only a damaged disk or another hand brings this about; told below.
  }
  throw new Error(`${path}: not a checkpoint of this version; remove it to import from the start (with --again, to skip what is stored)`);
}

/** Whole or not at all, and on the disk when it returns. */
export async function writeCheckpoint(stateDir: string, checkpoint: Checkpoint): Promise<void> {
  const path = checkpointPath(stateDir);
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(checkpoint, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
