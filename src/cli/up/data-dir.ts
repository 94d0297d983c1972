import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './supervisor.ts';

export type DataDir = { readonly path: string; readonly logDir: string; release: () => void };

/**
 * Claims a data directory for one `up`. A pid file of a dead process is taken over; a living one is an error that names it, because
 * two stacks on the same files would be refused by their stores one by one, less clearly.
 */
export function claimDataDir(path: string): DataDir {
  const logDir = join(path, 'logs');
  mkdirSync(logDir, { recursive: true });
  const pidFile = join(path, 'up.pid');
  try {
    writeFileSync(pidFile, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const owner = Number(readFileSync(pidFile, 'utf8'));
    if (owner > 0 && owner !== process.pid && isAlive(owner) && isUp(owner)) {
      throw new Error(`a stack is already up in ${path} (pid ${owner}); stop it with: customhouse down --data-dir ${path}`, { cause: error });
    }
    writeFileSync(pidFile, String(process.pid));
  }
  return { path, logDir, release: () => rmSync(pidFile, { force: true }) };
}

/** The pid of the `up` that holds the directory, or undefined. */
export function ownerOf(path: string): number | undefined {
  try {
    const owner = Number(readFileSync(join(path, 'up.pid'), 'utf8'));
    return owner > 0 && isAlive(owner) && isUp(owner) ? owner : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether the process is a Customhouse one, and not an unlucky reuse of its number; taken as yes where the system does not tell. */
function isUp(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts');
  } catch {
    return process.platform !== 'linux';
  }
}
