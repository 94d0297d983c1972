import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { devFilePath, readDevFile } from '../dev-file.ts';
import { claimDataDir, ownerOf } from './data-dir.ts';
import { isAlive } from './supervisor.ts';
import { welcome } from './welcome.ts';

/** Above the sum of what the steps of a first start may take on a slow machine. */
const startMs = 300_000;
const downMs = 120_000;

/** Passes on what was written to a file since the last call. */
function follower(path: string, write: (text: string) => void): () => void {
  let position = statSync(path).size;
  const buffer = Buffer.alloc(65_536);
  return () => {
    const file = openSync(path, 'r');
    try {
      for (;;) {
        const bytes = readSync(file, buffer, 0, buffer.length, position);
        if (bytes === 0) return;
        position += bytes;
        write(buffer.toString('utf8', 0, bytes));
      }
    } finally {
      closeSync(file);
    }
  };
}

/** Runs `up` with `args` in the background, shows what it does, and comes back when everything answers. */
export async function upInBackground(dataDir: string, args: readonly string[]): Promise<void> {
  claimDataDir(dataDir).release();
  rmSync(devFilePath(dataDir), { force: true });
  const logFile = join(dataDir, 'logs', 'up.log');
  const log = openSync(logFile, 'a', 0o600);
  const follow = follower(logFile, (text) => process.stdout.write(text));
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', 'up', ...args], { stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  // Whoever interrupts the wait does not want the stack either.
  const interrupt = (): void => void child.kill('SIGTERM');
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const deadline = Date.now() + startMs;
  // `up` writes dev.json last, when everything answers.
  while (!existsSync(devFilePath(dataDir))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      follow();
      throw new Error(`up ended while starting; logs are in ${join(dataDir, 'logs')}`);
    }
    if (Date.now() > deadline) {
      child.kill('SIGTERM');
      throw new Error(`up is not ready after ${startMs / 1000} s and was told to stop; logs are in ${join(dataDir, 'logs')}`);
    }
    await sleep(100);
    follow();
  }
  follow();
  process.off('SIGINT', interrupt);
  process.off('SIGTERM', interrupt);
  child.unref();
  const file = readDevFile(dataDir);
  if (file === undefined) throw new Error('the stack was stopped while it started');
  process.stdout.write(welcome(file, dataDir, 'in the background'));
}

/** Stops the stack of a data directory, and waits until all of it has ended. */
export async function down(options: { dataDir: string }): Promise<void> {
  const dataDir = resolve(options.dataDir);
  const owner = ownerOf(dataDir);
  if (owner === undefined) {
    console.log(`no stack is up in ${dataDir}`);
    return;
  }
  process.kill(owner, 'SIGTERM');
  const deadline = Date.now() + downMs;
  while (isAlive(owner)) {
    if (Date.now() > deadline) throw new Error(`the stack (pid ${owner}) did not stop within ${downMs / 1000} s; see ${join(dataDir, 'logs')}`);
    await sleep(50);
  }
  console.log('stopped');
}
