import { readHost } from '../../kernel/host.ts';
import type { Address, AddressRange } from './address.ts';
import { isIn, readRange } from './address.ts';

/** Which addresses that are not public may be dialled all the same. */
export type PrivateUpstreams = {
  /** True where the list is empty. */
  readonly none: boolean;
  /** Whether `host`, when it comes out at `address`, is let through. */
  allows(host: string, address: Address): boolean;
};

/** Reads PROXY_ALLOW_PRIVATE_UPSTREAMS: comma-separated networks (`10.0.0.0/8`), host names, or `*`. Throws naming the first entry that is none of these. */
export function readPrivateUpstreams(text: string): PrivateUpstreams {
  const networks: AddressRange[] = [];
  const names = new Set<string>();
  const entries = text.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '');
  for (const entry of entries.filter((one) => one !== '*')) {
    const range = readRange(entry);
    const host = range === undefined ? readHost(entry) : undefined;
    if (range !== undefined) networks.push(range);
    else if (host !== undefined && 'kind' in host && host.kind === 'name') names.add(host.text);
    else throw new Error(`PROXY_ALLOW_PRIVATE_UPSTREAMS: ${JSON.stringify(entry)} is no network, host name or *`);
  }
  const any = entries.includes('*');
  return {
    none: entries.length === 0,
    allows: (host, address) => any || names.has(host) || isIn(address, networks),
  };
}
