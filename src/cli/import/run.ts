import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isUuid } from '../../kernel/ids.ts';
import { stackSettings } from '../org.ts';
import type { Checkpoint } from './checkpoint.ts';
import { identify, readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { readFrom, readFromStream } from './lines.ts';
import type { ImportParts } from './open.ts';
import { openImport } from './open.ts';
import { createRetentionLookup } from './orgs.ts';
import { planImport } from './plan.ts';
import type { Progress } from './progress.ts';
import { count, createProgress, duration } from './progress.ts';
import { readFile } from './read-file.ts';
import { createRejects } from './rejects.ts';
import { defaultName, isName, openStateDir } from './state-dir.ts';
import { waitForQueue, waitForStore } from './wait.ts';

export type ImportOptions = { readonly org?: string; readonly dataDir: string; readonly name?: string; readonly again?: boolean; readonly wait: boolean; readonly rejected?: string };

/** Streams of the process, or of a test. */
export type ImportIo = { readonly stdin: AsyncIterable<Buffer>; readonly stdout: { write(text: string): unknown }; readonly stderr: { write(text: string): unknown; isTTY?: boolean; columns?: number } };

/** Exit codes: 0 all rows taken, 3 some lines were rejected, 130 interrupted. Everything else is an error that is thrown. */
export const exitRejected = 3;
export const exitInterrupted = 130;

async function openInput(path: string): Promise<FileHandle | undefined> {
  if (path === '-') return undefined;
  const file = await open(path, 'r').catch((error: unknown) => {
    throw new Error(`${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, { cause: error });
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error(`${path}: not a regular file; for a pipe give - and feed it to standard input`);
}

function summary(path: string, done: Checkpoint, seconds: number, rejectedPath: string): string {
  const parts = [`${count(done.accepted - done.skipped)} stored`];
  if (done.skipped > 0) parts.push(`${count(done.skipped)} stored before`);
  parts.push(`${count(done.rejected)} rejected${done.rejected > 0 ? ` (see ${rejectedPath})` : ''}`);
  return `${path === '-' ? 'standard input' : path}: ${count(done.lines)} lines, ${parts.join(', ')}, in ${duration(seconds)}\n`;
}

async function checkOrg(org: string | undefined, parts: ImportParts): Promise<void> {
  if (org === undefined) return;
  if (!isUuid(org)) throw new Error('--org: not an org id (a UUID in lower case)');
  if (await parts.orgs.orgById(org) === undefined) throw new Error(`--org: no org ${org} (customhouse org list shows them)`);
}

/**
 * Imports a file of rows in the API's JSON form (design 4): own journal, then the whole pipeline. Running the same command again after
 * any kind of death continues where it stopped and neither loses nor doubles a row (read-file.ts). Answers the exit code.
 */
export async function runImport(path: string, options: ImportOptions, io: ImportIo, signal: AbortSignal): Promise<number> {
  const name = options.name ?? defaultName(path);
  if (!isName(name)) throw new Error('--name: letters, digits, dot, dash and underscore, at most 64, starting with a letter or digit');
  const settings = stackSettings(options.dataDir);
  const startedMs = performance.now();
  const file = await openInput(path);
  try {
    const { dir, producer } = await openStateDir(resolve(options.dataDir), name);
    const rejectedPath = options.rejected ?? (path === '-' ? join(dir, 'rejected.ndjson') : `${path}.rejected.ndjson`);
    let progress: Progress | undefined;
    const parts = await openImport(settings, { dir, producer, onError: (error) => progress?.note(error instanceof Error ? error.message : String(error)) });
    try {
      await checkOrg(options.org, parts);
      const identity = file === undefined ? undefined : await identify(file);
      const plan = await planImport({ file, identity, org: options.org, again: options.again === true, name }, await readCheckpoint(dir));
      const from = plan.kind === 'read' ? plan.from : plan.checkpoint;
      progress = createProgress(io.stderr, { totalBytes: identity?.size, startBytes: from.offset, startLines: from.lines });
      if (plan.kind === 'read' && plan.note !== undefined) progress.note(plan.note);
      const waiting = { parts, progress, signal, state: from };
      // Rows of an earlier run that nobody has shipped: they must be stored before the store can be asked what it has.
      if ((plan.kind === 'finished' || plan.doubtful) && !await waitForStore(waiting)) return exitInterrupted;
      if (plan.kind === 'finished') {
        progress.done();
        io.stdout.write(`already imported at ${plan.checkpoint.finishedAt ?? ''}: ${count(from.accepted)} rows taken, ${count(from.rejected)} rejected; nothing to do (--again compares every row with the store)\n`);
        return 0;
      }
      const rejects = await createRejects({ path: rejectedPath, keptBytes: from.rejectedBytes, count: from.rejected, show: progress.note });
      const read = file === undefined ? readFromStream(io.stdin) : readFrom(file, from.offset);
      let done: Checkpoint = from;
      try {
        done = await readFile({ ...parts, stateDir: dir, from, doubtful: plan.doubtful, read, rejects, progress, signal, retentionOf: createRetentionLookup(parts.orgs, settings.retentionDays) });
      } catch (error) {
        if (!signal.aborted) throw error;
        // Ctrl-C while a store was down: the place of the last checkpoint is kept.
        progress.note(error instanceof Error ? error.message : String(error));
        done = await readCheckpoint(dir) ?? from;
      } finally {
        await rejects.close();
      }
      const stored = signal.aborted ? false : await (options.wait ? waitForStore : waitForQueue)({ ...waiting, state: done });
      progress.done();
      if (!stored) {
        io.stderr.write(`interrupted after line ${done.lines}; run the same command again to continue\n`);
        return exitInterrupted;
      }
      await writeCheckpoint(dir, { ...done, finishedAt: new Date().toISOString() });
      io.stdout.write(summary(path, done, (performance.now() - startedMs) / 1000, rejectedPath));
      return done.rejected > 0 ? exitRejected : 0;
    } finally {
      progress?.done();
      await parts.close();
    }
  } finally {
    await file?.close();
  }
}
