/** Every address of a name, as the system gives them. Rejects when there are none. */
export type Lookup = (name: string) => Promise<readonly { readonly address: string }[]>;

const runningMax = 8;
const waitingMax = 1024;

export type LookupQueue = {
  /** Rejects when the lookup fails, takes longer than its time (the wait for its turn included), or too many wait already. */
  run(name: string): ReturnType<Lookup>;
};

/**
 * Bounds lookups of the system. They run in the few threads that also do file work and cannot be stopped: one that timed out keeps its
 * place until the system gives it up, or a name server that does not answer could fill all threads.
 */
export function createLookupQueue(lookup: Lookup, timeoutMs: number): LookupQueue {
  const waiting = new Set<() => void>();
  let running = 0;

  const next = (): void => {
    running -= 1;
    const [first] = waiting;
    if (first === undefined) return;
    waiting.delete(first);
    first();
  };

  return {
    run: (name) => new Promise((resolve, reject) => {
      const begin = (): void => {
        running += 1;
        Promise.resolve(name).then(lookup).then(resolve, reject).finally(() => {
          clearTimeout(timer);
          next();
        });
      };
      const timer = setTimeout(() => {
        waiting.delete(begin);
        reject(new Error('lookup timed out'));
      }, timeoutMs);
      if (running < runningMax) begin();
      else if (waiting.size < waitingMax) waiting.add(begin);
      else {
        clearTimeout(timer);
        reject(new Error('too many lookups'));
      }
    }),
  };
}
