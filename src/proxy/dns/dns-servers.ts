import { getServers } from 'node:dns';
import { isIP } from 'node:net';
import { readAuthority } from '../../kernel/host.ts';
import type { UpstreamServer } from './upstream-exchange.ts';

const dnsPort = 53;

/**
 * Reads PROXY_DNS_SERVERS: comma-separated addresses, with a port where it is not 53 (`10.0.0.2`, `10.0.0.2:5353`, `[2001:db8::1]:5353`).
 * Empty: those of this machine (resolv.conf). Throws naming the first entry that is no address, and when there is none at all.
 */
export function readDnsServers(text: string, ofMachine: () => readonly string[] = getServers): readonly UpstreamServer[] {
  const own = text.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '');
  const servers = (own.length > 0 ? own : ofMachine()).map((entry): UpstreamServer => {
    // Also an address with a zone, which only this machine understands.
    if (isIP(entry) !== 0) return { address: entry, port: dnsPort };
    const authority = readAuthority(entry);
    if ('refused' in authority || authority.host.kind === 'name') throw new Error(`PROXY_DNS_SERVERS: ${JSON.stringify(entry)} is no address of a DNS server`);
    return { address: authority.host.text, port: authority.port ?? dnsPort };
  });
  if (servers.length === 0) throw new Error('PROXY_DNS_SERVERS: this machine has no DNS server set; name one');
  return servers;
}
