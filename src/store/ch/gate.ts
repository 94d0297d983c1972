import { AppError } from '../../kernel/errors.ts';

/** Lets at most `running` calls through at a time; up to `waiting` more stand in line, in order. */
export type Gate = { readonly enter: (signal?: AbortSignal) => Promise<() => void>; readonly load: () => { running: number; waiting: number } };

type Waiter = { readonly admit: () => void; readonly refuse: (reason: unknown) => void };

/**
 * `enter` answers the function that leaves again (safe to call twice).
 * @throws AppError rate_limited when the line is full; the signal's reason when it is aborted while waiting
 */
export function createGate(limits: { readonly running: number; readonly waiting: number }): Gate {
  const line = new Set<Waiter>();
  let running = 0;

  function pass(): () => void {
    running += 1;
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      running -= 1;
      const [next] = line;
      next?.admit();
    };
  }

  return {
    async enter(signal) {
      signal?.throwIfAborted();
      if (running < limits.running && line.size === 0) return pass();
      if (line.size >= limits.waiting) throw new AppError('rate_limited', 'too many audit queries are waiting; try again shortly', { retry_after: 1 });
      return new Promise<() => void>((resolve, reject) => {
        const leaveLine = (): void => {
          line.delete(waiter);
          signal?.removeEventListener('abort', onAbort);
        };
        const onAbort = (): void => waiter.refuse(signal?.reason);
        const waiter: Waiter = {
          admit: () => {
            leaveLine();
            resolve(pass());
          },
          refuse: (reason) => {
            leaveLine();
            reject(reason instanceof Error ? reason : new DOMException('the query was cancelled', 'AbortError'));
          },
        };
        line.add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
    load: () => ({ running, waiting: line.size }),
  };
}
