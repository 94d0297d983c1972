import type { SecureContext } from 'node:tls';
import type { OriginPool, PoolLimits } from './origin-pool.ts';
import { createOriginPool } from './origin-pool.ts';
import type { Resolved } from './resolve.ts';

export type OriginsStats = { readonly origins: number; readonly connections: number; readonly waiting: number };

export type Origins = {
  poolFor(scheme: 'http' | 'https', host: string, port: number, resolved: Resolved): OriginPool;
  stats(): OriginsStats;
  destroy(): void;
};

/**
 * Pools by scheme, host, port and vetted addresses: a connection made for one name is never used for another, nor one to an address the
 * name no longer has. A pool stays without connections, for its TLS session; beyond the bound the longest unused one goes.
 */
export function createOrigins(trust: SecureContext, limits: PoolLimits & { readonly originsMax: number }): Origins {
  const pools = new Map<string, OriginPool>();
  let destroyed = false;
  return {
    poolFor(scheme, host, port, resolved) {
      const key = `${scheme} ${host} ${port} ${resolved.key}`;
      const found = pools.get(key);
      if (found !== undefined) {
        if (pools.size > 1) {
          pools.delete(key);
          pools.set(key, found);
        }
        return found;
      }
      const pool = createOriginPool({ scheme, host, port, addresses: resolved.addresses }, trust, limits);
      // Requests that come after the end find a pool that opens nothing.
      if (destroyed) pool.destroy();
      pools.set(key, pool);
      const [oldest] = pools.size > limits.originsMax ? pools : [];
      if (oldest !== undefined) {
        pools.delete(oldest[0]);
        oldest[1].retire();
      }
      return pool;
    },
    stats() {
      const all = [...pools.values()];
      const sum = (of: (pool: OriginPool) => number): number => all.reduce((total, pool) => total + of(pool), 0);
      return { origins: pools.size, connections: sum((pool) => pool.connections), waiting: sum((pool) => pool.waiting) };
    },
    destroy() {
      destroyed = true;
      for (const pool of [...pools.values()]) pool.destroy();
      pools.clear();
    },
  };
}
