export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs at most `concurrency` works at a time, the others in the order they came. */
export function createLimiter(concurrency: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < concurrency) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The place is handed over, so that nobody who comes in between can take it.
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
