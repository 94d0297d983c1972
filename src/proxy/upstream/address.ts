import { isIPv4 } from 'node:net';
import { readIPv6 } from '../../kernel/host.ts';

/** An IP address as a number of 32 or 128 bits. `text` is what gets dialled: an IPv4-mapped IPv6 address is the IPv4 one, as systems dial it. */
export type Address = { readonly family: 4 | 6; readonly bits: bigint; readonly text: string };

/** A block of addresses of one family. */
export type AddressRange = { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint };

const mapped = readRange('::ffff:0:0/96');

/** Undefined for anything that is not exactly one address: no zone, no brackets, no `127.1`, no leading zeros. */
export function readAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, bits: bitsOfIPv4(text), text };
  const host = readIPv6(text);
  if ('refused' in host) return undefined;
  const bits = bitsOfIPv6(host.text);
  return mapped !== undefined && bits >= mapped.first && bits <= mapped.last ? ipv4(bits) : { family: 6, bits, text: host.text };
}

/** The IPv4 address in the low 32 bits. */
export function ipv4(bits: bigint): Address {
  const low = Number(BigInt.asUintN(32, bits));
  return { family: 4, bits: BigInt(low), text: [24, 16, 8, 0].map((shift) => (low >>> shift) & 255).join('.') };
}

/** `10.0.0.0/8`, or one address. Bits after the prefix do not matter. Undefined for other texts. */
export function readRange(text: string): AddressRange | undefined {
  const [network = '', prefix, ...rest] = text.split('/');
  if (rest.length > 0 || (prefix !== undefined && !/^(?:0|[1-9][0-9]{0,2})$/.test(prefix))) return undefined;
  const family = isIPv4(network) ? 4 : 6;
  const read = family === 4 ? { text: network } : readIPv6(network);
  if ('refused' in read) return undefined;
  const width = family === 4 ? 32 : 128;
  const length = prefix === undefined ? width : Number(prefix);
  if (length > width) return undefined;
  const free = BigInt(width - length);
  const first = ((family === 4 ? bitsOfIPv4(read.text) : bitsOfIPv6(read.text)) >> free) << free;
  return { family, first, last: first + (1n << free) - 1n };
}

export function isIn(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some(({ family, first, last }) => family === address.family && address.bits >= first && address.bits <= last);
}

function bitsOfIPv4(text: string): bigint {
  return text.split('.').reduce((bits, byte) => (bits << 8n) | BigInt(byte), 0n);
}

/** Of the canonical form: groups of hex digits, at most one `::`, no dotted tail. */
function bitsOfIPv6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}
