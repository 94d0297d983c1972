import { join } from 'node:path';
import { startProcess, waitUntilReady } from '../../embedded/service.ts';
import type { Running } from './supervisor.ts';

const startMs = 60_000;
const stopMs = 20_000;

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

/** Starts one of our own roles as a process of its own and waits until `readyUrl` answers 200; rejects with the end of its log otherwise. */
export async function startRole(options: { name: string; env: Readonly<Record<string, string>>; logDir: string; readyUrl: string }): Promise<Running> {
  const role = await startProcess({
    name: options.name,
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, '../main.ts'), options.name],
    logFile: join(options.logDir, `${options.name}.log`),
    env: options.env,
    parentDeathSignal: 'TERM',
  });
  await waitUntilReady(options.name, role, () => answers(options.readyUrl), startMs);
  return { pid: role.pid, stop: () => role.stop('SIGTERM', stopMs) };
}
