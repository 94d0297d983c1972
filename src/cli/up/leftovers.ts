import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from './supervisor.ts';

type Part = { readonly name: string; readonly pid: number; readonly startedAt: string };

const politeMs = 30_000;
const killedMs = 10_000;

/** When the process started, in the system's own words: pid and this together name one process for ever, a pid alone does not. */
function startTime(pid: number): string | undefined {
  try {
    // Field 22 of stat(5), counted behind the closing bracket of the name, which may hold spaces itself.
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19];
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    // It has ended.
    return undefined;
  }
}

function partsFile(dataDir: string): string {
  return join(dataDir, 'parts.json');
}

/** Notes the processes of a stack, for the `up` that follows one that was killed. */
export function recordParts(dataDir: string, pids: Readonly<Record<string, number>>): void {
  const parts = Object.entries(pids).flatMap(([name, pid]): Part[] => {
    const startedAt = pid > 0 ? startTime(pid) : undefined;
    return startedAt === undefined ? [] : [{ name, pid, startedAt }];
  });
  writeFileSync(partsFile(dataDir), `${JSON.stringify(parts)}\n`);
}

export function forgetParts(dataDir: string): void {
  rmSync(partsFile(dataDir), { force: true });
}

function readParts(dataDir: string): Part[] {
  try {
    return JSON.parse(readFileSync(partsFile(dataDir), 'utf8')) as Part[];
  } catch (error) {
    // Torn by a power cut, or never written: nothing is known to be left.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Names of the last run's processes that still live. */
export function leftovers(dataDir: string): string[] {
  return readParts(dataDir).filter(({ pid, startedAt }) => isAlive(pid) && startTime(pid) === startedAt).map(({ name }) => name);
}

/**
 * Ends what an `up` that was killed has left. On Linux the kernel told every part to stop when `up` died, and they are only given the
 * time to; elsewhere they are told here. Their files and ports are free when this resolves.
 */
export async function endLeftovers(dataDir: string): Promise<void> {
  const living = (): Part[] => readParts(dataDir).filter(({ pid, startedAt }) => isAlive(pid) && startTime(pid) === startedAt);
  const tell = (signal: NodeJS.Signals): void => {
    for (const { pid } of living()) process.kill(pid, signal);
  };
  const gone = async (withinMs: number): Promise<boolean> => {
    for (const deadline = performance.now() + withinMs; performance.now() < deadline; await sleep(50)) if (living().length === 0) return true;
    return living().length === 0;
  };
  if (process.platform !== 'linux') tell('SIGTERM');
  if (!await gone(politeMs)) {
    tell('SIGKILL');
    if (!await gone(killedMs)) throw new Error(`processes of the last run do not end: ${living().map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')}`);
  }
  forgetParts(dataDir);
}
