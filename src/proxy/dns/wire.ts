/** Codes of RFC 1035, 2136 and 6891 that the door speaks. `badvers` needs the upper bits an OPT record carries. */
export const rcodes = { noerror: 0, formerr: 1, servfail: 2, nxdomain: 3, notimp: 4, refused: 5, badvers: 16 } as const;
export type Rcode = (typeof rcodes)[keyof typeof rcodes];

export const types = { a: 1, cname: 5, soa: 6, aaaa: 28, opt: 41 } as const;
export const classIn = 1;

export type AddressType = 'A' | 'AAAA';

export const headerBytes = 12;
/** No query of one question comes near it. */
export const queryBytesMax = 4096;
/** What every DNS client takes over UDP without EDNS (RFC 1035). */
export const plainPayloadBytes = 512;
/** Fits one packet on every path, so nothing is fragmented (RFC 9715). */
export const ednsPayloadBytes = 1232;

export const flags = { response: 0x8000, truncated: 0x0200, recursionDesired: 0x0100, recursionAvailable: 0x0080 } as const;

/** A socket that listens on both families shows IPv4 peers as `::ffff:10.0.0.1`. */
export function plainAddress(address: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address;
}
