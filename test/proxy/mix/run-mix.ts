import { kinds, openConnection } from './kinds.ts';
import type { MixUpstreams } from './upstreams.ts';
import { WireClosedError } from './wire.ts';

export type Sent = {
  /** Kind by path, of requests that must have exactly one row each. */
  readonly paths: Map<string, string>;
  /** Requests whose rows have no path, by kind. */
  readonly pathless: Map<string, number>;
  /** Ids of requests in answers that came: each is the id of a row. */
  readonly answeredIds: Set<string>;
  connections: number;
};

export type MixOptions = {
  readonly upstreams: MixUpstreams;
  readonly token: string;
  readonly seed: number;
  readonly concurrency: number;
};

/** A small seeded generator: a failure can be run again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

export function requestsOf({ paths, pathless }: Sent): number {
  return [...pathless.values()].reduce((sum, count) => sum + count, paths.size);
}

/**
 * Sends connections of all kinds, each kind once and then at random, until `requests` were made or `until` says so. A connection that the
 * proxy closes early is no failure here: what was answered, and what arrived upstream, tells.
 */
export async function runMix({ port, ca }: { readonly port: number; readonly ca: string }, requests: number, { upstreams, token, seed, concurrency }: MixOptions, until: () => boolean = () => false): Promise<Sent> {
  const sent: Sent = { paths: new Map(), pathless: new Map(), answeredIds: new Set(), connections: 0 };
  const next = random(seed);
  const names = Object.keys(kinds);
  let number = 0;

  async function connection(name: string): Promise<void> {
    const kind = kinds[name];
    if (kind === undefined) throw new Error(name);
    const opened = openConnection(port, {
      ca, upstreams, token,
      path: (segment = 'ok', version = 'v1') => {
        number += 1;
        const path = `/${version}/${segment}/${seed}-${number}`;
        sent.paths.set(path, name);
        return path;
      },
      pathless: () => void sent.pathless.set(name, (sent.pathless.get(name) ?? 0) + 1),
    });
    await kind(opened).catch((error: unknown) => {
      if (!(error instanceof WireClosedError)) throw error;
    });
    opened.wire.tcp.destroy();
    for (const [, id] of opened.wire.received.matchAll(/\r\nx-(?:customhouse-)?request-id: ([0-9a-f-]{36})\r\n/gi)) sent.answeredIds.add(id ?? '');
  }

  async function lane(): Promise<void> {
    while (requestsOf(sent) < requests && !until()) {
      const name = names[sent.connections < names.length ? sent.connections : Math.floor(next() * names.length)] ?? '';
      sent.connections += 1;
      await connection(name);
    }
  }
  await Promise.all(Array.from({ length: concurrency }, lane));
  return sent;
}
