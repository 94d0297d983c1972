/** Keys that the control plane knew nothing of, each believed for `ttlMs`. Bounded: the one asked for longest ago goes first. */
export type UnknownWorkspaces = {
  readonly add: (key: string, nowMs: number) => void;
  readonly has: (key: string, nowMs: number) => boolean;
  readonly forget: (concerns: (key: string) => boolean) => void;
};

export function createUnknownWorkspaces({ ttlMs, entriesMax }: { readonly ttlMs: number; readonly entriesMax: number }): UnknownWorkspaces {
  const untilMs = new Map<string, number>();
  return {
    add(key, nowMs) {
      untilMs.delete(key);
      untilMs.set(key, nowMs + ttlMs);
      if (untilMs.size <= entriesMax) return;
      const [oldest] = untilMs.keys();
      if (oldest !== undefined) untilMs.delete(oldest);
    },
    has(key, nowMs) {
      const until = untilMs.get(key);
      if (until === undefined) return false;
      if (nowMs < until) return true;
      untilMs.delete(key);
      return false;
    },
    forget(concerns) {
      for (const key of untilMs.keys()) if (concerns(key)) untilMs.delete(key);
    },
  };
}
