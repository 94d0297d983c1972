import type { FileHandle } from 'node:fs/promises';
import type { Checkpoint, FileIdentity } from './checkpoint.ts';
import { hasGrown, isSameFile } from './checkpoint.ts';

/** What an import has to do. `doubtful`: the first chunk may be in already and is compared with the store. */
export type Plan =
  | { readonly kind: 'finished'; readonly checkpoint: Checkpoint }
  | { readonly kind: 'read'; readonly from: Checkpoint; readonly doubtful: boolean; readonly note: string | undefined };

type Wanted = { readonly file: FileHandle | undefined; readonly identity: FileIdentity | undefined; readonly org: string | undefined; readonly again: boolean; readonly name: string };

function fresh({ identity, org }: Wanted, checking: boolean): Checkpoint {
  return { version: 1, file: identity ?? null, org: org ?? null, offset: 0, lines: 0, accepted: 0, rejected: 0, skipped: 0, rejectedBytes: 0, checking, finishedAt: null };
}

function read(from: Checkpoint, doubtful: boolean, note?: string): Plan {
  return { kind: 'read', from, doubtful, note };
}

/** Standard input cannot be continued, so after a broken run every row of the next one is compared with the store. */
function planStream(wanted: Wanted, last: Checkpoint | undefined): Plan {
  if (wanted.again) return read(fresh(wanted, true), true);
  const broken = last !== undefined && last.finishedAt === null;
  return read(fresh(wanted, broken), broken, broken ? 'the last import from standard input did not finish: rows that are stored already will be skipped' : undefined);
}

async function planOtherFile(wanted: Wanted, file: FileHandle, identity: FileIdentity, last: Checkpoint, lastFile: FileIdentity): Promise<Plan> {
  if (await hasGrown(file, identity, lastFile)) return read(fresh(wanted, true), true, 'the file has grown since it was imported: rows that are stored already will be skipped');
  if (last.finishedAt === null) {
    throw new Error(`the import ${wanted.name} of another file stopped at byte ${last.offset} of ${lastFile.size}: finish that one first, or give this one another --name`);
  }
  return read(fresh(wanted, wanted.again), wanted.again);
}

/** Decides from the checkpoint of the same name, if there is one. Throws with what the user can do when it cannot be decided. */
export async function planImport(wanted: Wanted, last: Checkpoint | undefined): Promise<Plan> {
  const { file, identity } = wanted;
  if (file === undefined || identity === undefined) return planStream(wanted, last);
  if (last?.file === undefined || last.file === null) return read(fresh(wanted, wanted.again), wanted.again);
  if (!isSameFile(last.file, identity)) return planOtherFile(wanted, file, identity, last, last.file);
  if ((last.org ?? undefined) !== wanted.org) {
    throw new Error(`this file was imported ${last.org === null ? 'without --org' : `with --org ${last.org}`}: give the same, or another --name`);
  }
  if (wanted.again) return read(fresh(wanted, true), true);
  if (last.finishedAt !== null) return { kind: 'finished', checkpoint: last };
  return read(last, true, `continuing at line ${last.lines + 1}`);
}
