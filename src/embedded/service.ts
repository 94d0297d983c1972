import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { findOnPath } from './find-on-path.ts';
import type { Identity } from './identity.ts';

/** A running embedded service. */
export interface Service {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the process has ended, for whatever reason, with a text such as `exit code 1` or `signal SIGKILL`. */
  readonly exited: Promise<string>;
  /** Orderly shutdown; SIGKILL when it does not end within its deadline. */
  stop(): Promise<void>;
  /** SIGKILL, resolved when the process is gone. What it acknowledged must survive this. */
  kill(): Promise<void>;
}

export interface ServiceProcess {
  readonly pid: number;
  readonly exited: Promise<string>;
  /** How the process ended, or undefined while it runs. */
  ended(): string | undefined;
  /** The part of the log that this process has written, at most its last 4 KiB. */
  logTail(): Promise<string>;
  stop(signal: NodeJS.Signals, deadlineMs: number): Promise<void>;
  kill(): Promise<void>;
}

export interface ProcessOptions {
  /** For error messages: `Postgres`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Written to standard input, which is then closed. */
  readonly input?: string;
  readonly identity?: Identity | undefined;
  /** Signal that the kernel sends when this process (the parent) dies, so that kill -9 of it leaves no orphan behind. */
  readonly parentDeathSignal: 'INT' | 'TERM';
}

const logTailBytes = 4096;

/**
 * Starts a long-running process with its output in a log file. It runs in a session of its own: Ctrl-C in a terminal reaches the
 * whole foreground group, and would otherwise take the databases down before the services that still write to them.
 */
export async function startProcess(options: ProcessOptions): Promise<ServiceProcess> {
  const log = await open(options.logFile, 'a', 0o600);
  let child: ChildProcess;
  let logStart: number;
  let ending: string | undefined;
  let exited: Promise<string>;
  try {
    logStart = (await log.stat()).size;
    const stdio: StdioOptions = [options.input === undefined ? 'ignore' : 'pipe', log.fd, log.fd];
    const { command, args, spawnAs } = wrap(options);
    child = spawn(command, args, { stdio, detached: true, env: { ...inheritedEnv(), ...options.env }, cwd: options.cwd, ...spawnAs });
    // Before anything is awaited: a program that cannot be executed ends at once.
    exited = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => {
        ending = signal === null ? `exit code ${code}` : `signal ${signal}`;
        resolve(ending);
      });
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause) => reject(new Error(`${options.name} could not be started (${command}): ${cause.message}`, { cause })));
    });
  } finally {
    await log.close();
  }
  if (child.stdin !== null) {
    // EPIPE only says that the process ended early; `exited` says so with its reason.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input);
  }
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${options.name} has no process id`);
  return {
    pid,
    exited,
    ended: () => ending,
    logTail: () => readTail(options.logFile, logStart),
    async stop(signal, deadlineMs) {
      if (ending !== undefined) return;
      child.kill(signal);
      const deadline = new AbortController();
      const late = sleep(deadlineMs, 'late', { signal: deadline.signal }).catch(() => 'ended');
      if (await Promise.race([exited, late]) === 'late') child.kill('SIGKILL');
      await exited;
      deadline.abort();
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Little of our environment: it holds secrets, and a service may run as a user whose processes others can look into. */
function inheritedEnv(): Record<string, string> {
  const names = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'LD_LIBRARY_PATH'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

/** Puts `setpriv` (util-linux) in front where it is installed: only it can set a parent-death signal and keep a capability. */
function wrap(options: ProcessOptions): { command: string; args: string[]; spawnAs: { uid?: number; gid?: number } } {
  const { identity } = options;
  const setpriv = process.platform === 'linux' ? findOnPath('setpriv') : undefined;
  if (setpriv === undefined) {
    return { command: options.command, args: [...options.args], spawnAs: identity === undefined ? {} : { uid: identity.uid, gid: identity.gid } };
  }
  const args = ['--pdeathsig', options.parentDeathSignal];
  if (identity !== undefined) args.push(...identity.setprivArgs);
  return { command: setpriv, args: [...args, '--', options.command, ...options.args], spawnAs: {} };
}

async function readTail(file: string, from: number): Promise<string> {
  const log = await open(file, 'r');
  try {
    const { size } = await log.stat();
    const start = Math.max(from, size - logTailBytes);
    const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(logTailBytes), position: start });
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await log.close();
  }
}

/**
 * Resolves when `probe` answers true. Rejects, with the end of the log, when the process ends before that or the time is up;
 * in the latter case the process is killed first.
 */
export async function waitUntilReady(name: string, service: ServiceProcess, probe: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const ending = service.ended();
    if (ending !== undefined) throw new StartError(`${name} ended while starting (${ending})`, await service.logTail());
    if (await probe()) return;
    if (performance.now() > deadline) {
      await service.kill();
      throw new StartError(`${name} did not become ready within ${timeoutMs} ms`, await service.logTail());
    }
    await sleep(20);
  }
}

export class StartError extends Error {
  readonly log: string;

  constructor(message: string, log: string) {
    super(log === '' ? message : `${message}. Its log ends with:\n${log}`);
    this.name = 'StartError';
    this.log = log;
  }
}
