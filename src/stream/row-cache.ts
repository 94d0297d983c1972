import type { StreamRow } from './row.ts';

type Cached = { readonly rows: Promise<readonly StreamRow[]>; bytes: number };

export type RowCache = {
  get(orgId: string, batchId: string): Promise<readonly StreamRow[]> | undefined;
  /** Keeps a running read so that others wait for the same one; a failed read is forgotten. */
  put(orgId: string, batchId: string, rows: Promise<readonly StreamRow[]>): void;
  clear(): void;
};

/**
 * Decoded commits that were used lately. After a restart all clients resume at much the same place, and a burst makes many of them fall
 * behind together: they then share one read and one decoding. Bounded by the bytes of JSON held; the longest unused go first.
 */
export function createRowCache(bytesMax: number): RowCache {
  const entries = new Map<string, Cached>();
  let bytes = 0;

  function remove(key: string, cached: Cached): void {
    if (entries.get(key) !== cached) return;
    entries.delete(key);
    bytes -= cached.bytes;
  }

  function settle(key: string, cached: Cached, rows: readonly StreamRow[]): void {
    if (entries.get(key) !== cached) return;
    // An empty commit still costs its entry.
    cached.bytes = rows.reduce((sum, row) => sum + row.json.length, 256);
    bytes += cached.bytes;
    for (const [oldKey, old] of entries) {
      if (bytes <= bytesMax) break;
      remove(oldKey, old);
    }
  }

  return {
    get(orgId, batchId) {
      const key = `${orgId} ${batchId}`;
      const cached = entries.get(key);
      if (cached === undefined) return undefined;
      entries.delete(key);
      entries.set(key, cached);
      return cached.rows;
    },
    put(orgId, batchId, rows) {
      const key = `${orgId} ${batchId}`;
      const old = entries.get(key);
      if (old !== undefined) remove(key, old);
      const cached: Cached = { rows, bytes: 0 };
      entries.set(key, cached);
      rows.then((settled) => settle(key, cached, settled), () => remove(key, cached));
    },
    clear() {
      entries.clear();
      bytes = 0;
    },
  };
}
