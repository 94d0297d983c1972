import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './supervisor.ts';

export type DataDir = { readonly path: string; readonly logDir: string; release: () => void };

/**
 * Claims a data directory for one `up`. The pid file of a dead process is taken over; a living one is an error that names it, because
 * two stacks on the same files would be refused by their stores one by one, less clearly.
 */
export function claimDataDir(path: string): DataDir {
  const logDir = join(path, 'logs');
  mkdirSync(logDir, { recursive: true });
  const pidFile = join(path, 'up.pid');
  // Written aside and linked into place, so that of two that start at once one wins and nobody reads a pid file without a pid in it.
  const own = join(path, `up.pid.${process.pid}`);
  writeFileSync(own, String(process.pid));
  try {
    try {
      linkSync(own, pidFile);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      refuseWhenUp(path);
      rmSync(pidFile, { force: true });
      linkSync(own, pidFile);
    }
  } finally {
    rmSync(own, { force: true });
  }
  return { path, logDir, release: () => rmSync(pidFile, { force: true }) };
}

/** Throws with what to do when a stack is up in the directory. */
export function refuseWhenUp(path: string): void {
  const owner = ownerOf(path);
  if (owner !== undefined && owner !== process.pid) throw new Error(`a stack is already up in ${path} (pid ${owner}); stop it with: scripts/customhouse down --data-dir ${path}`);
}

/** Whether an `up` has ever begun to start a stack there. */
export function isStackDir(path: string): boolean {
  return existsSync(join(path, 'ports.json'));
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

/** Whether the process is an `up` of ours, and not an unlucky reuse of its number; taken as yes where the system does not tell. */
function isUp(pid: number): boolean {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return args.includes('up') && args.some((arg) => arg.endsWith('main.ts'));
  } catch {
    return process.platform !== 'linux';
  }
}
