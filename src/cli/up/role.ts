import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess, waitUntilReady } from '../../embedded/service.ts';
import type { Running } from './supervisor.ts';

const startMs = 60_000;
const readyMs = 60_000;
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

/** Starts one of our own roles as a process of its own and waits until `healthUrl` answers 200; rejects with the end of its log otherwise. */
export async function startRole(options: { name: string; env: Readonly<Record<string, string>>; logDir: string; healthUrl: string }): Promise<Running> {
  const role = await startProcess({
    name: options.name,
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, '../main.ts'), options.name],
    logFile: join(options.logDir, `${options.name}.log`),
    env: options.env,
    parentDeathSignal: 'TERM',
  });
  await waitUntilReady(options.name, role, () => answers(options.healthUrl), startMs);
  return { pid: role.pid, stop: () => role.stop('SIGTERM', stopMs) };
}

/** Waits until every address answers 200; rejects with what the one that did not said last. */
export async function waitUntilAllReady(urls: readonly string[]): Promise<void> {
  const deadline = performance.now() + readyMs;
  for (const url of urls) {
    while (!await answers(url)) {
      if (performance.now() > deadline) throw new Error(`not ready after ${readyMs / 1000} s: ${await lastWord(url)}`);
      await sleep(100);
    }
  }
}

async function lastWord(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    return `${url} answers ${response.status} ${(await response.text()).slice(0, 500)}`;
  } catch (error) {
    return `${url}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
