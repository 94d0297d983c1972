import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The proxy under test has a core to itself; load, upstream and Redis share the other. */
export const proxyCore = 0;
export const loadCore = 1;

/** Without `taskset` or a second core everything runs where the system puts it. */
export const pinned = availableParallelism() > 1 && isInstalled('taskset');

/** Longest wait for a process to say that it is ready, or to end. */
const startMs = 20_000;
const endMs = 5_000;

export function isInstalled(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0;
}

export type Running = { readonly pid: number; readonly stop: () => Promise<void> };

function onCore(core: number, command: string, args: readonly string[]): [string, string[]] {
  return pinned ? ['taskset', ['-c', String(core), command, ...args]] : [command, [...args]];
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  if (await Promise.race([ended.then(() => true), sleep(endMs, false, { ref: false })])) return;
  child.kill('SIGKILL');
  await ended;
}

/** Starts a program that stays in the foreground; ready when `isReady` says so. */
export async function startProgram(command: string, args: readonly string[], isReady: () => Promise<boolean>, core = proxyCore): Promise<Running> {
  const [program, all] = onCore(core, command, args);
  const child = spawn(program, all, { stdio: ['ignore', 'ignore', 'ignore'] });
  const untilMs = performance.now() + startMs;
  while (!(await isReady())) {
    if (child.exitCode !== null || performance.now() > untilMs) {
      await end(child);
      throw new Error(`${command} did not start`);
    }
    await sleep(50);
  }
  return { pid: child.pid ?? 0, stop: () => end(child) };
}

/** A script of this folder in a process of its own: it gets `given`, and answers each message with one. */
export type Script = Running & { readonly ask: (message: unknown) => Promise<unknown>; readonly ready: unknown };

export async function startScript(name: string, given: unknown, core: number, nodeArgs: readonly string[] = []): Promise<Script> {
  const [program, all] = onCore(core, process.execPath, [...nodeArgs, join(import.meta.dirname, name), JSON.stringify(given)]);
  const child = spawn(program, all, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let waiting: PromiseWithResolvers<unknown> | undefined;
  child.on('message', (message) => waiting?.resolve(message));
  child.once('exit', () => waiting?.reject(new Error(`${name} ended`)));
  const answer = (): Promise<unknown> => {
    waiting = Promise.withResolvers();
    return waiting.promise;
  };
  const ready = await answer();
  return {
    pid: child.pid ?? 0,
    ready,
    ask(message) {
      const answered = answer();
      child.send(message as object);
      return answered;
    },
    stop: () => end(child),
  };
}

/** In a script: says that it is ready, answers what it is asked, and ends with its parent. */
export function serveParent(ready: unknown, stop: () => Promise<void>, onMessage: (message: unknown) => Promise<unknown> = async () => undefined): void {
  const send = (message: unknown): void => void process.send?.(message ?? {});
  const close = (): void => void stop().then(() => process.exit(0));
  process.on('message', (message) => void onMessage(message).then(send));
  process.once('disconnect', close);
  process.once('SIGTERM', close);
  send(ready);
}

const clockTicks = 100;

/** Processor time of a process since its start, in ms, and its resident KiB, from the kernel's own accounting. */
export function usageOf(pid: number): { readonly cpuMs: number; readonly residentKiB: number } {
  // The fields after the command's name, which may hold blanks: the first of them is field 3.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * (1000 / clockTicks), residentKiB: Number(kib ?? 0) };
}
