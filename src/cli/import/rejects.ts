import { open, rm, truncate } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** Lines that were not taken: the first on standard error, all of them in a file of `{"line": number, "problems": […]}`. */
export type Rejects = {
  add(line: number, problems: readonly string[]): void;
  /** Writes what was added to the disk; answers the length of the file. */
  flush(): Promise<number>;
  close(): Promise<void>;
};

const shownMax = 20;

function writeFault(path: string, error: unknown): Error {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return new Error(`cannot write the rejected lines to ${path} (${code}); name another file with --rejected`, { cause: error });
}

/** What an earlier run wrote behind its checkpoint belongs to lines that are read again; an older import's file is removed. */
async function prepare(path: string, keptBytes: number): Promise<number> {
  try {
    if (keptBytes > 0) {
      await truncate(path, keptBytes);
      return keptBytes;
    }
    await rm(path, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw writeFault(path, error);
  }
  return 0;
}

/** `keptBytes` and `count`: what stood in the file, and how many lines were rejected, at the checkpoint of an earlier run. */
export async function createRejects(deps: { readonly path: string; readonly keptBytes: number; readonly count: number; readonly show: (text: string) => void }): Promise<Rejects> {
  let bytes = await prepare(deps.path, deps.keptBytes);
  let waiting: string[] = [];
  let count = deps.count;
  let file: FileHandle | undefined;

  return {
    add(line, problems) {
      waiting.push(`${JSON.stringify({ line, problems })}\n`);
      count += 1;
      if (count <= shownMax) deps.show(`line ${line}: ${problems.join('; ')}`);
      if (count === shownMax) deps.show(`(further rejected lines are only in ${deps.path})`);
    },
    async flush() {
      if (waiting.length === 0) return bytes;
      const text = Buffer.from(waiting.join(''));
      waiting = [];
      try {
        file ??= await open(deps.path, 'a');
        await file.appendFile(text);
        await file.datasync();
      } catch (error) {
        throw writeFault(deps.path, error);
      }
      bytes += text.length;
      return bytes;
    },
    async close() {
      await file?.close();
    },
  };
}
