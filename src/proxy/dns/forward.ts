import type { Resolution, Resolve } from './resolution.ts';
import { ResolveError } from './resolution.ts';
import type { AttemptBounds, UpstreamServer } from './upstream-exchange.ts';
import { askTcp, askUdp } from './upstream-exchange.ts';
import { readResolution, upstreamQuery } from './upstream-message.ts';
import type { AddressType } from './wire.ts';

export type ForwardSettings = {
  /** Asked in this order; addresses, not names. */
  readonly servers: readonly UpstreamServer[];
  /** Longest wait for one server over one transport, in ms. */
  readonly attemptTimeoutMs: number;
  /** Longest time of one lookup with all its attempts, in ms. */
  readonly lookupTimeoutMs: number;
  /** Lookups that wait for servers at once; those for the same name and type count as one. */
  readonly lookupsMax: number;
};

export const forwardDefaults: Omit<ForwardSettings, 'servers'> = { attemptTimeoutMs: 1500, lookupTimeoutMs: 4000, lookupsMax: 256 };

export type Forwarder = {
  readonly resolve: Resolve;
  readonly inFlight: () => number;
  /** Rejects what is under way and everything after. */
  readonly stop: () => void;
};

/** Resolves names by asking recursive servers. Keeps nothing: how long an answer is good is the client's matter, and every lookup has its row. */
export function createForwarder(settings: ForwardSettings): Forwarder {
  const { servers, attemptTimeoutMs, lookupTimeoutMs, lookupsMax } = settings;
  if (servers.length === 0) throw new RangeError('no upstream DNS server');
  const running = new Map<string, { readonly resolution: Promise<Resolution>; readonly abort: AbortController }>();
  let stopped = false;

  async function lookUp(name: string, type: AddressType, abort: AbortController): Promise<Resolution> {
    const timer = setTimeout(() => abort.abort(), lookupTimeoutMs);
    let last: unknown = new ResolveError('timeout');
    for (const server of servers) {
      if (abort.signal.aborted) break;
      try {
        const resolution = await askServer(server, name, type, { signal: abort.signal, timeoutMs: attemptTimeoutMs });
        clearTimeout(timer);
        return resolution;
      } catch (error) {
        last = error;
      }
    }
    clearTimeout(timer);
    throw stopped ? new ResolveError('stopped') : last;
  }

  return {
    resolve(name, type) {
      if (stopped) return Promise.reject(new ResolveError('stopped'));
      const key = `${type} ${name}`;
      const known = running.get(key);
      if (known !== undefined) return known.resolution;
      if (running.size >= lookupsMax) return Promise.reject(new ResolveError('overloaded'));
      const abort = new AbortController();
      const resolution = lookUp(name, type, abort).finally(() => running.delete(key));
      running.set(key, { resolution, abort });
      return resolution;
    },
    inFlight: () => running.size,
    stop() {
      stopped = true;
      for (const { abort } of running.values()) abort.abort();
    },
  };
}

/** UDP, then TCP where UDP could not carry the answer, gave one of doubtful case, or gave none: a filter that eats datagrams is common. */
async function askServer(server: UpstreamServer, name: string, type: AddressType, bounds: AttemptBounds): Promise<Resolution> {
  const query = upstreamQuery(name, type);
  const packet = await askUdp(server, query, bounds).catch((error: unknown) => {
    if (error instanceof ResolveError && error.failure === 'timeout') return 'tcp' as const;
    throw error;
  });
  return readResolution(query, packet === 'tcp' ? await askTcp(server, query, bounds) : packet);
}
