import type { SecureContext } from 'node:tls';
import { createClientBounds } from './dns/client-bounds.ts';
import type { ClientLimits } from './dns/client-bounds.ts';

/** Undefined: this client asks for too many names. */
export type BoundedLeafFor = (host: string, client: string) => Promise<SecureContext | undefined>;

export type BoundedLeafDeps = {
  readonly leafFor: (host: string) => Promise<SecureContext>;
  readonly nowMs: () => number;
  readonly limits?: ClientLimits;
};

const namesMax = 1000;
/** New names of one client a second; no agent comes near it. */
const limitsDefault: ClientLimits = { ratePerSecond: 50, burst: 500, clientsMax: 4096, openMax: 1024, openPerClientMax: 256 };

/**
 * Certificates where no CONNECT was admitted before (attacks 100): a denied name needs one too, or its agent would see a broken handshake
 * and no reason. So that ever new names burn neither time nor the cache, names not seen lately are counted for each client.
 */
export function createBoundedLeafFor({ leafFor, nowMs, limits = limitsDefault }: BoundedLeafDeps): BoundedLeafFor {
  const bounds = createClientBounds(limits, nowMs);
  /** In order of use. */
  const seen = new Set<string>();

  function saw(host: string): void {
    seen.delete(host);
    seen.add(host);
    const [oldest] = seen;
    if (seen.size > namesMax && oldest !== undefined) seen.delete(oldest);
  }

  return async (host, client) => {
    const entered = seen.has(host) ? 'known' : bounds.enter(client);
    if (entered === undefined) return undefined;
    try {
      const context = await leafFor(host);
      saw(host);
      return context;
    } finally {
      if (entered !== 'known') entered.done();
    }
  };
}
