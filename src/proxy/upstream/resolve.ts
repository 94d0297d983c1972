import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Address } from './address.ts';
import { readAddress } from './address.ts';
import { isForbidden, isPublic } from './address-guard.ts';
import type { Lookup } from './lookup-queue.ts';
import { createLookupQueue } from './lookup-queue.ts';
import type { PrivateUpstreams } from './private-upstreams.ts';

/** `addresses` were all vetted; a connection is made to one of these and nothing else. `key` names the set. */
export type Resolved = { readonly addresses: readonly string[]; readonly key: string };
export type NotResolved = { readonly failure: 'address_refused' | 'resolve_failed' };
export type Resolution = Resolved | NotResolved;

export type Target = { readonly host: string; readonly port: number; /** The policy names this very address. */ readonly literal: boolean };

export type ResolverDeps = {
  readonly allowed: PrivateUpstreams;
  readonly isOwn: (address: Address, port: number) => boolean;
  readonly lookup?: Lookup;
  readonly timeoutMs?: number;
  readonly nowMs?: () => number;
};

export type Resolver = {
  /** At once where the answer is known. Never rejects. */
  resolve(target: Target): Resolution | Promise<Resolution>;
  readonly size: number;
};

type Entry = { readonly vetted: readonly Address[]; readonly resolution: Resolution; readonly untilMs: number };

const ttlMs = 10_000;
const failureTtlMs = 1000;
const entriesMax = 4096;
const addressesMax = 16;
/** Names that only metadata services answer to (attacks 36), wherever they point. */
export const metadataNames: ReadonlySet<string> = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal', 'instance-data']);

/**
 * Resolves a host once and vets every address it has (design 10, attacks 32 to 41): one that is not public refuses the host, so that a
 * name cannot mix a public address with a private one. The answer is dialled as it is; nothing resolves the name again.
 */
export function createResolver({ allowed, isOwn, lookup, timeoutMs = 5000, nowMs = Date.now }: ResolverDeps): Resolver {
  const entries = new Map<string, Entry>();
  const inFlight = new Map<string, Promise<Entry>>();
  const queue = createLookupQueue(lookup ?? ((name) => systemLookup(name, { all: true, order: 'verbatim' })), timeoutMs);

  const keep = (key: string, entry: Entry): Entry => {
    entries.delete(key);
    const [oldest] = entries.size >= entriesMax ? entries.keys() : [];
    if (oldest !== undefined) entries.delete(oldest);
    entries.set(key, entry);
    return entry;
  };

  const vet = (host: string, texts: readonly string[], literal: boolean): Entry => {
    const vetted = texts.map(readAddress);
    const known = vetted.filter((address) => address !== undefined);
    if (known.length === 0) return failedAt(nowMs());
    const usable = known.length === vetted.length && known.every((address) => !isForbidden(address) && (literal || isPublic(address) || allowed.allows(host, address)));
    const untilMs = nowMs() + ttlMs;
    if (!usable) return { vetted: [], resolution: { failure: 'address_refused' }, untilMs };
    const addresses = [...new Set(known.slice(0, addressesMax).map(({ text }) => text))];
    return { vetted: known.slice(0, addressesMax), resolution: { addresses, key: [...addresses].sort().join(' ') }, untilMs };
  };

  // A name with a dot is asked for as it stands: a search list would try `api.example.com.corp.example` as well. Hosts files know no
  // absolute names, so where private upstreams are allowed at all (that is where hosts files are used) the plain name is asked for.
  const asked = (host: string): string => (allowed.none && host.includes('.') ? `${host}.` : host);

  const look = async (host: string): Promise<Entry> => {
    try {
      const found = await queue.run(asked(host));
      return keep(host, vet(host, found.map(({ address }) => address), false));
    } catch {
      // Which of the many reasons it was is nothing an agent may learn, and nothing that changes what happens next.
      return keep(host, failedAt(nowMs()));
    } finally {
      inFlight.delete(host);
    }
  };

  const answer = ({ vetted, resolution }: Entry, port: number): Resolution => (vetted.some((address) => isOwn(address, port)) ? { failure: 'address_refused' } : resolution);

  return {
    resolve({ host, port, literal }) {
      if (metadataNames.has(host)) return { failure: 'address_refused' };
      const named = literal && isIP(host) !== 0;
      const key = named ? `literal ${host}` : host;
      const entry = entries.get(key);
      if (entry !== undefined && entry.untilMs > nowMs()) return answer(entry, port);
      if (isIP(host) !== 0) return answer(keep(key, vet(host, [host], named)), port);
      let running = inFlight.get(host);
      if (running === undefined) {
        running = look(host);
        inFlight.set(host, running);
      }
      return running.then((found) => answer(found, port));
    },
    get size() {
      return entries.size;
    },
  };
}

function failedAt(nowMs: number): Entry {
  return { vetted: [], resolution: { failure: 'resolve_failed' }, untilMs: nowMs + failureTtlMs };
}
