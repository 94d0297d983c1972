import { setMaxListeners } from 'node:events';

export type GoneSignals = {
  /** The signal of a key (an org's workspace): the same one as long as anybody holds it, also when the registry has forgotten the workspace meanwhile. */
  readonly signalOf: (key: string) => AbortSignal;
  /** Aborts the requests of a workspace, also those that began before it was evicted. The next `signalOf` gives a new signal. */
  readonly abort: (key: string) => void;
  /** `abort` for every key that the test takes. */
  readonly abortAll: (concerns: (key: string) => boolean) => void;
  readonly size: number;
};

/**
 * A long stream outlives its workspace's place in the registry, and must end all the same when the workspace is stopped. So signals are
 * held weakly here and strongly by whoever uses them; the controller lives as long as its signal.
 */
export function createGoneSignals(): GoneSignals {
  const signals = new Map<string, WeakRef<AbortSignal>>();
  const controllers = new WeakMap<AbortSignal, AbortController>();
  const collected = new FinalizationRegistry<string>((key) => {
    // A new signal may have taken the place since.
    if (signals.get(key)?.deref() === undefined) signals.delete(key);
  });
  function abort(key: string): void {
    const signal = signals.get(key)?.deref();
    signals.delete(key);
    if (signal !== undefined) controllers.get(signal)?.abort();
  }
  return {
    signalOf(key) {
      const known = signals.get(key)?.deref();
      if (known !== undefined) return known;
      const controller = new AbortController();
      const { signal } = controller;
      // One listener for each request in flight.
      setMaxListeners(0, signal);
      controllers.set(signal, controller);
      signals.set(key, new WeakRef(signal));
      collected.register(signal, key);
      return signal;
    },
    abort,
    abortAll(concerns) {
      for (const key of [...signals.keys()]) if (concerns(key)) abort(key);
    },
    get size() {
      return signals.size;
    },
  };
}
