/** A value that is good from one time to another, both in ms. */
export type Timed<T> = { readonly value: T; readonly fromMs: number; readonly untilMs: number };

export type LeafCacheDeps<T> = {
  readonly make: (name: string) => Promise<Timed<T>>;
  readonly nowMs: () => number;
  readonly sizeMax: number;
};

export type LeafCache<T> = {
  /** The value of a name, made when there is none that is good now. Rejects with the error of `make`, which is not kept. */
  readonly get: (name: string) => Promise<T>;
  readonly size: () => number;
};

/**
 * Least recently used values by name, at most `sizeMax`. Callers that ask for the same name while it is being made share one `make`:
 * an agent that opens a hundred connections to a new host costs one certificate.
 */
export function createLeafCache<T>({ make, nowMs, sizeMax }: LeafCacheDeps<T>): LeafCache<T> {
  /** In order of use: a map keeps the order in which keys were put in. */
  const kept = new Map<string, Timed<T>>();
  /** Bounded by the connections that wait for it. */
  const making = new Map<string, Promise<T>>();

  function keep(name: string, timed: Timed<T>): void {
    kept.delete(name);
    kept.set(name, timed);
    if (kept.size <= sizeMax) return;
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  }

  async function makeAndKeep(name: string): Promise<T> {
    try {
      const timed = await make(name);
      keep(name, timed);
      return timed.value;
    } finally {
      making.delete(name);
    }
  }

  async function get(name: string): Promise<T> {
    const found = kept.get(name);
    const now = nowMs();
    // The start is asked too: a clock that was wrong and is set back must not leave leaves of the future behind.
    if (found !== undefined && now >= found.fromMs && now < found.untilMs) {
      keep(name, found);
      return found.value;
    }
    const running = making.get(name);
    if (running !== undefined) return running;
    const started = makeAndKeep(name);
    making.set(name, started);
    return started;
  }

  return { get, size: () => kept.size };
}
