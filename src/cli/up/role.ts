import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from './supervisor.ts';

const startMs = 60_000;
const killAfterMs = 15_000;

function lastLines(file: string, count: number): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    // Refused or not yet listening: the caller asks again until its deadline.
    return false;
  }
}

/**
 * Starts one of our own roles as a process of its own, log in `logDir`, and waits until `readyUrl` answers 200. It gets its own process
 * group, because a Ctrl-C in the terminal would otherwise reach it before `up` can stop the parts in order.
 */
export async function startRole(options: { name: string; args: string[]; env: Record<string, string>; logDir: string; readyUrl: string }): Promise<Running> {
  const logFile = join(options.logDir, `${options.name}.log`);
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, '../main.ts'), ...options.args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...options.env },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  let ended = false;
  void exited.then(() => (ended = true));
  const running: Running = {
    pid: child.pid ?? 0,
    stop: async () => {
      if (ended) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
      await exited;
      clearTimeout(timer);
    },
  };
  const deadline = Date.now() + startMs;
  while (!(await answers(options.readyUrl))) {
    if (ended) throw new Error(`${options.name} ended while starting; the end of ${logFile}:\n${lastLines(logFile, 15)}`);
    if (Date.now() > deadline) {
      await running.stop();
      throw new Error(`${options.name} did not become ready in ${startMs / 1000} s; the end of ${logFile}:\n${lastLines(logFile, 15)}`);
    }
    await sleep(50);
  }
  return running;
}
