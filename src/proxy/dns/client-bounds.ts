export type ClientLimits = {
  /** Queries a client may send: this many a second in the long run, `burst` at once. */
  readonly ratePerSecond: number;
  readonly burst: number;
  /** Clients whose rate is remembered; the one not heard of for longest goes first. */
  readonly clientsMax: number;
  /** Queries not answered yet, of all clients and of one. */
  readonly openMax: number;
  readonly openPerClientMax: number;
};

export type ClientBounds = {
  /** Takes one query of a client into account. `done` has to be called once it is answered. Undefined: over a bound. */
  enter(client: string): { readonly done: () => void } | undefined;
  readonly open: number;
};

type Bucket = { tokens: number; atMs: number };

/** Token buckets by client address, and counts of open queries. `nowMs` never goes back. */
export function createClientBounds({ ratePerSecond, burst, clientsMax, openMax, openPerClientMax }: ClientLimits, nowMs: () => number): ClientBounds {
  const buckets = new Map<string, Bucket>();
  const openOf = new Map<string, number>();
  let open = 0;

  function take(client: string): boolean {
    const atMs = nowMs();
    const bucket = buckets.get(client) ?? { tokens: burst, atMs };
    buckets.delete(client);
    buckets.set(client, bucket);
    const oldest = buckets.keys().next().value;
    if (buckets.size > clientsMax && oldest !== undefined) buckets.delete(oldest);
    bucket.tokens = Math.min(burst, bucket.tokens + ((atMs - bucket.atMs) / 1000) * ratePerSecond);
    bucket.atMs = atMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  return {
    enter(client) {
      const own = openOf.get(client) ?? 0;
      if (!take(client) || open >= openMax || own >= openPerClientMax) return undefined;
      open += 1;
      openOf.set(client, own + 1);
      let entered = true;
      return {
        done() {
          if (!entered) return;
          entered = false;
          open -= 1;
          const left = (openOf.get(client) ?? 1) - 1;
          if (left === 0) openOf.delete(client);
          else openOf.set(client, left);
        },
      };
    },
    get open() {
      return open;
    },
  };
}
