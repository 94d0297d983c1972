import { setMaxListeners } from 'node:events';

export type GoneSignals = {
  /** The signal of a workspace: the same one as long as anybody holds it, also when the registry has forgotten the workspace meanwhile. */
  readonly signalOf: (id: string) => AbortSignal;
  /** Aborts the requests of a workspace, also those that began before it was evicted. The next `signalOf` gives a new signal. */
  readonly abort: (id: string) => void;
  readonly size: number;
};

/**
 * A long stream outlives its workspace's place in the registry, and must end all the same when the workspace is stopped. So signals are
 * held weakly here and strongly by whoever uses them; the controller lives as long as its signal.
 */
export function createGoneSignals(): GoneSignals {
  const signals = new Map<string, WeakRef<AbortSignal>>();
  const controllers = new WeakMap<AbortSignal, AbortController>();
  const collected = new FinalizationRegistry<string>((id) => {
    // A new signal may have taken the place since.
    if (signals.get(id)?.deref() === undefined) signals.delete(id);
  });
  return {
    signalOf(id) {
      const known = signals.get(id)?.deref();
      if (known !== undefined) return known;
      const controller = new AbortController();
      const { signal } = controller;
      // One listener for each request in flight.
      setMaxListeners(0, signal);
      controllers.set(signal, controller);
      signals.set(id, new WeakRef(signal));
      collected.register(signal, id);
      return signal;
    },
    abort(id) {
      const signal = signals.get(id)?.deref();
      signals.delete(id);
      if (signal !== undefined) controllers.get(signal)?.abort();
    },
    get size() {
      return signals.size;
    },
  };
}
