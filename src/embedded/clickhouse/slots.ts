import { aborted, cancelled, tooManyQueries } from './exception.ts';

export interface Slots {
  /** Waits for a free slot; the answer gives it back. Rejects with code 202 when too many wait or the wait is too long. */
  acquire(signal: AbortSignal): Promise<() => void>;
  readonly running: number;
  readonly waiting: number;
  /** From now on `acquire` rejects; those that wait are rejected too. */
  close(): void;
}

interface Waiter {
  start(): void;
  reject(error: Error): void;
}

/** At most `runningMax` queries at a time and `waitingMax` in line, first come first served. */
export function createSlots(limits: { runningMax: number; waitingMax: number; waitMaxMs: number }): Slots {
  const line: Waiter[] = [];
  let running = 0;
  let closed = false;
  const release = (): void => {
    running -= 1;
    line.shift()?.start();
  };
  // Each slot is given back once, however often its holder says so.
  const grant = (): (() => void) => {
    running += 1;
    let held = true;
    return () => {
      if (held) release();
      held = false;
    };
  };
  return {
    get running() { return running; },
    get waiting() { return line.length; },
    acquire(signal) {
      if (closed) return Promise.reject(aborted('The server is shutting down.'));
      if (signal.aborted) return Promise.reject(cancelled('The client went away.'));
      if (running < limits.runningMax) return Promise.resolve(grant());
      if (line.length >= limits.waitingMax) return Promise.reject(tooManyQueries(`Too many simultaneous queries. Running: ${running}, waiting: ${line.length}.`));
      return new Promise((resolve, reject) => {
        const leave = (error: Error): void => {
          line.splice(line.indexOf(waiter), 1);
          waiter.reject(error);
        };
        const onAbort = (): void => leave(cancelled('The client went away.'));
        const late = setTimeout(() => leave(tooManyQueries(`Too many simultaneous queries. Waited ${limits.waitMaxMs} ms for one of ${limits.runningMax} to end.`)), limits.waitMaxMs);
        const settle = (): void => {
          clearTimeout(late);
          signal.removeEventListener('abort', onAbort);
        };
        const waiter: Waiter = {
          start() {
            settle();
            resolve(grant());
          },
          reject(error) {
            settle();
            reject(error);
          },
        };
        signal.addEventListener('abort', onAbort, { once: true });
        line.push(waiter);
      });
    },
    close() {
      closed = true;
      for (const waiter of line.splice(0)) waiter.reject(aborted('The server is shutting down.'));
    },
  };
}
