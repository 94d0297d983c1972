import type { Address, AddressRange } from './address.ts';
import { ipv4, isIn, readAddress, readRange } from './address.ts';

function ranges(...texts: string[]): AddressRange[] {
  return texts.map((text) => {
    const range = readRange(text);
    if (range === undefined) throw new Error(`not a range: ${text}`);
    return range;
  });
}

/** IANA special-purpose registry, multicast and reserved space; 6to4 relays (RFC 7526 retired them). */
const special4 = ranges(
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24',
  '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
);

/** Only 2000::/3 is given out as global unicast; within it protocol assignments (with Teredo and ORCHID), 6bone and documentation are not. */
const global6 = ranges('2000::/3');
const special6 = ranges('2001::/23', '2001:db8::/32', '3ffe::/16', '3fff::/20');

/**
 * Never dialled, whatever a policy or a setting says: metadata services of clouds (attacks 36), some of them in public space, all of
 * link-local (where the others live), and what a system takes for itself or for many.
 */
const forbidden = ranges(
  '169.254.0.0/16', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::/32', 'fd20:ce::254', 'fd00:42::42', 'fe80::/10',
  '0.0.0.0/8', '::/128', '224.0.0.0/4', '255.255.255.255', 'ff00::/8',
);

const nat64 = ranges('64:ff9b::/96');
const localNat64 = ranges('64:ff9b:1::/48');
const sixToFour = ranges('2002::/16');
const teredo = ranges('2001::/32');
const compatible = ranges('::/96');

/** IPv4 addresses that a packet to this IPv6 address may end up at. */
function embedded(address: Address): Address[] {
  if (address.family === 4) return [];
  const { bits } = address;
  if (isIn(address, nat64) || isIn(address, localNat64)) return [ipv4(bits)];
  // `::1` is loopback, not 0.0.0.1.
  if (isIn(address, compatible)) return bits >> 24n === 0n ? [] : [ipv4(bits)];
  if (isIn(address, sixToFour)) return [ipv4(bits >> 80n)];
  if (isIn(address, teredo)) return [ipv4(bits >> 64n), ipv4(~bits)];
  return [];
}

/** Whether an address is refused even where private ones are let through. */
export function isForbidden(address: Address): boolean {
  return isIn(address, forbidden) || embedded(address).some((inner) => isIn(inner, forbidden));
}

/** Whether an address is one of the public internet: globally routed, no metadata service, and nothing else hidden within it. */
export function isPublic(address: Address): boolean {
  if (isForbidden(address)) return false;
  if (address.family === 4) return !isIn(address, special4);
  const translated = isIn(address, nat64) || isIn(address, sixToFour);
  if (translated) return embedded(address).every((inner) => !isIn(inner, special4));
  return isIn(address, global6) && !isIn(address, special6);
}

/** Of an address as text, in any spelling of RFC 4291; false for everything that is no address. */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(text);
  return address !== undefined && isPublic(address);
}
