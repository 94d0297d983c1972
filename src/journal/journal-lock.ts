import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { JournalOpenError } from './journal-error.ts';

export type JournalLock = { release(): void };

const busy = 5; // SQLITE_BUSY

function ownerText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

/**
 * Takes the directory for this process alone. Two owners would write the same batch numbers.
 *
 * The lock is the kernel's, held through an SQLite transaction that stays open and writes nothing, because Node has no file locks of
 * its own. The kernel releases it however the process ends, so there is no stale lock to judge: a pid file would have to guess, and
 * guesses wrong in containers, where every process has the same pid. `owner` only feeds the error message.
 */
export function lockJournal(dir: string): JournalLock {
  const ownerPath = join(dir, 'owner');
  const database = new DatabaseSync(join(dir, 'lock.db'), { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === busy)) throw error;
    throw new JournalOpenError(`journal ${dir} is in use by another process (${ownerText(ownerPath)}); one directory serves one process`, { cause: error });
  }
  try {
    writeFileSync(ownerPath, `pid ${process.pid}\n`);
  } catch {
    // A full disk must not keep a journal from opening that can free it by shipping; only the message of a refusal is poorer.
  }
  return { release: () => { database.close(); } };
}
