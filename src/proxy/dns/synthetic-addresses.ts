import { BlockList, isIPv4 } from 'node:net';
import { readIPv6 } from '../../kernel/host.ts';
import type { AddressType } from './wire.ts';
import { plainAddress } from './wire.ts';

/**
 * The addresses that denied names are answered with (contract 6.3), so that the connection that follows is known by its name. An address
 * means a name only within its workspace. They are for attribution alone and never dialled.
 */
export type SyntheticAddresses = {
  /** The address of a canonical name; the same as long as it is kept, IPv4 and IPv6 alike. */
  addressOf(workspaceId: string, name: string, type: AddressType): string;
  /** The name an address was given for, or undefined for one that is not (or no longer) given. Counts as use. */
  nameOf(workspaceId: string, address: string): string | undefined;
  /** Whether an address lies in the pools, given or not. */
  owns(address: string): boolean;
  forget(workspaceId: string): void;
  /** Names kept now, of all workspaces. */
  readonly names: number;
};

export type SyntheticSettings = {
  /** First address and prefix length of the IPv4 pool; the default is the benchmarking range of RFC 2544, which nothing on the Internet has. */
  readonly ipv4: { readonly first: string; readonly prefixBits: number };
  /** First address of an IPv6 unique local /64 (RFC 4193), ending in `::`. */
  readonly ipv6First: string;
  readonly namesPerWorkspaceMax: number;
  readonly workspacesMax: number;
};

export const syntheticDefaults: SyntheticSettings = {
  ipv4: { first: '198.18.0.0', prefixBits: 15 },
  ipv6First: 'fdc8:5c1f:9e3a:d15::',
  namesPerWorkspaceMax: 1024,
  workspacesMax: 1024,
};

type Space = { readonly byName: Map<string, number>; readonly byIndex: Map<number, string>; next: number };

/**
 * One number of the pool for each name. The least recently used name goes when a workspace has too many, and numbers are handed out in a
 * round: a freed one comes back only after the whole pool was used, long after answers with its address have expired.
 */
export function createSyntheticAddresses(settings: SyntheticSettings = syntheticDefaults): SyntheticAddresses {
  const { ipv4, ipv6First, namesPerWorkspaceMax, workspacesMax } = settings;
  const first = ipv4Number(ipv4.first);
  // The first and last address of the range are left out: some systems take them for the network and its broadcast.
  const poolSize = 2 ** (32 - ipv4.prefixBits) - 2;
  if (poolSize <= namesPerWorkspaceMax) throw new RangeError(`an IPv4 pool of ${poolSize} addresses cannot hold ${namesPerWorkspaceMax} names`);
  if (!/^([1-9a-f][0-9a-f]{0,3}:){4}:$/.test(ipv6First)) throw new RangeError('the IPv6 pool is written as four groups and `::`');
  const pools = new BlockList();
  pools.addSubnet(ipv4.first, ipv4.prefixBits, 'ipv4');
  pools.addSubnet(ipv6First, 64, 'ipv6');
  const spaces = new Map<string, Space>();

  function spaceOf(workspaceId: string): Space {
    const space = spaces.get(workspaceId) ?? { byName: new Map(), byIndex: new Map(), next: 1 };
    touch(spaces, workspaceId, space);
    dropOldest(spaces, workspacesMax);
    return space;
  }

  function allocate(space: Space, name: string): number {
    const oldest = space.byName.entries().next().value;
    if (oldest !== undefined && space.byName.size >= namesPerWorkspaceMax) {
      space.byName.delete(oldest[0]);
      space.byIndex.delete(oldest[1]);
    }
    while (space.byIndex.has(space.next)) space.next = (space.next % poolSize) + 1;
    const index = space.next;
    space.next = (index % poolSize) + 1;
    space.byIndex.set(index, name);
    return index;
  }

  const owns = (address: string): boolean => {
    const plain = plainAddress(address);
    return pools.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
  };

  return {
    addressOf(workspaceId, name, type) {
      const space = spaceOf(workspaceId);
      const index = space.byName.get(name) ?? allocate(space, name);
      touch(space.byName, name, index);
      return type === 'A' ? ipv4Text(first + index) : `${ipv6First}${index > 0xffff ? `${(index >>> 16).toString(16)}:` : ''}${(index & 0xffff).toString(16)}`;
    },
    nameOf(workspaceId, address) {
      const space = spaces.get(workspaceId);
      if (space === undefined || !owns(address)) return undefined;
      touch(spaces, workspaceId, space);
      const index = indexOf(plainAddress(address), first, ipv6First);
      const name = index === undefined ? undefined : space.byIndex.get(index);
      if (name !== undefined && index !== undefined) touch(space.byName, name, index);
      return name;
    },
    owns,
    forget: (workspaceId) => void spaces.delete(workspaceId),
    get names() {
      return [...spaces.values()].reduce((sum, space) => sum + space.byName.size, 0);
    },
  };
}

/** Last in a Map is used last. */
function touch<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}

function dropOldest(map: Map<string, unknown>, max: number): void {
  const oldest = map.keys().next().value;
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

function ipv4Number(text: string): number {
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function ipv4Text(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}

/** The number of an address of the pools. Numbers have two groups at most: an IPv6 address with more behind the pool's four was never given. */
function indexOf(address: string, first: number, ipv6First: string): number | undefined {
  if (isIPv4(address)) return ipv4Number(address) - first;
  const host = readIPv6(address);
  if ('refused' in host || !host.text.startsWith(ipv6First)) return undefined;
  const tail = host.text.slice(ipv6First.length).split(':').map((group) => Number.parseInt(group, 16));
  return tail.length > 2 ? undefined : tail.reduce((sum, group) => sum * 65_536 + group, 0);
}
