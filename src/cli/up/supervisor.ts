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
  readonly #started: () => void;
  readonly #returned: () => void;
  #stopping = false;

  /** `started` is called after every start, `returned` after those of a part that had died. */
  constructor(deps: { report: (text: string) => void; started: () => void; returned: () => void }) {
    this.#report = deps.report;
    this.#started = deps.started;
    this.#returned = deps.returned;
  }

  async start(part: Part): Promise<void> {
    this.#running.set(part.name, await part.start());
    this.#started();
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
        this.#started();
        this.#returned();
        this.#report(`${part.name} is back, pid ${this.pidOf(part.name)}`);
      } catch (error) {
        this.#running.delete(part.name);
        this.#report(`${part.name} did not start: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  /** Goes on to the next part when one cannot be stopped, and rejects with that at the end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.allSettled(this.#watchers);
    const problems: unknown[] = [];
    for (const part of this.#parts.toReversed()) {
      const running = this.#running.get(part.name);
      if (running === undefined) continue;
      this.#report(`stopping ${part.name}`);
      try {
        await running.stop();
      } catch (error) {
        problems.push(error);
      }
    }
    if (problems.length > 0) throw problems.length === 1 ? problems[0] : new AggregateError(problems, problems.map(String).join('; '));
  }
}
