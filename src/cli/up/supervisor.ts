import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessName } from '../dev-file.ts';

/** A running part of the stack. `stop` resolves when the process has ended. */
export type Running = { readonly pid: number; stop: () => Promise<void> };
export type Part = { readonly name: ProcessName; start: () => Promise<Running> };

const watchMs = 200;
const backOffMsMax = 5_000;

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Starts parts in order, restarts one that dies (pause doubling from 0.2 to 5 s, back to 0.2 after a minute of life), stops all in
 * reverse order. It watches process ids rather than exit events, so that it needs to know nothing of how a part is spawned.
 */
export class Supervisor {
  readonly #running = new Map<ProcessName, Running>();
  readonly #parts: Part[] = [];
  readonly #watchers: Promise<void>[] = [];
  readonly #report: (text: string) => void;
  readonly #changed: () => void;
  #stopping = false;

  constructor(deps: { report: (text: string) => void; changed: () => void }) {
    this.#report = deps.report;
    this.#changed = deps.changed;
  }

  async start(part: Part): Promise<void> {
    this.#running.set(part.name, await part.start());
    this.#parts.push(part);
    this.#watchers.push(this.#watch(part));
  }

  pidOf(name: ProcessName): number {
    return this.#running.get(name)?.pid ?? 0;
  }

  async #watch(part: Part): Promise<void> {
    let pauseMs = watchMs;
    let startedAt = Date.now();
    while (!this.#stopping) {
      await sleep(watchMs);
      const running = this.#running.get(part.name);
      if (this.#stopping || (running !== undefined && isAlive(running.pid))) continue;
      if (Date.now() - startedAt > 60_000) pauseMs = watchMs;
      this.#report(`${part.name} died, starting it again`);
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, backOffMsMax);
      if (this.#stopping) return;
      try {
        this.#running.set(part.name, await part.start());
        startedAt = Date.now();
        this.#report(`${part.name} is back, pid ${this.pidOf(part.name)}`);
        this.#changed();
      } catch (error) {
        this.#running.delete(part.name);
        this.#report(`${part.name} did not start: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.allSettled(this.#watchers);
    for (const part of this.#parts.toReversed()) {
      const running = this.#running.get(part.name);
      if (running === undefined) continue;
      this.#report(`stopping ${part.name}`);
      await running.stop();
    }
  }
}
