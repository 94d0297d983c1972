import { isIPv6 } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Settings } from '../config/settings.ts';
import { createBoundedLeafFor } from './bounded-leaf.ts';
import type { DnsClient } from './dns/answer-query.ts';
import type { DnsDoor } from './dns/dns-door.ts';
import { startDnsDoor } from './dns/dns-door.ts';
import { readDnsServers } from './dns/dns-servers.ts';
import { createForwarder, forwardDefaults } from './dns/forward.ts';
import type { SyntheticAddresses } from './dns/synthetic-addresses.ts';
import type { FrontDoor } from './front-door.ts';
import type { Identify } from './identify.ts';
import type { Recorder } from './recorder.ts';
import type { Serve } from './serve.ts';
import type { SourceTokens } from './source-tokens.ts';
import { readSourceTokens } from './source-tokens.ts';
import type { TransparentDoor } from './transparent-door.ts';
import { startTransparentDoor } from './transparent-door.ts';
import { createMayConnect } from './upstream/may-connect.ts';
import { readPrivateUpstreams } from './upstream/private-upstreams.ts';

export type OtherDoorSettings = Pick<Settings, 'host' | 'proxyTransparentPort' | 'proxySources' | 'proxyDnsPort' | 'proxyDnsServers' | 'proxyConnectionsMax' | 'proxyHandshakeTimeoutMs' | 'proxyAllowPrivateUpstreams'>;

export type OtherDoorParts = {
  readonly adopt: FrontDoor['adopt'];
  readonly serve: Serve;
  readonly identify: Identify;
  readonly record: Recorder['row'];
  readonly leafFor: (host: string) => Promise<SecureContext>;
  readonly addresses: SyntheticAddresses;
  readonly onFault: (error: unknown) => void;
};

/** The doors of clients that do not know of the proxy; each undefined where it is off. */
export type OtherDoors = {
  readonly transparent: TransparentDoor | undefined;
  readonly dns: DnsDoor | undefined;
  /** Stops both; connections that were adopted are ended by the front door. */
  readonly stop: (timeoutMs: number) => Promise<void>;
};

/** Opens the DNS and transparent TLS doors that have a port. Rejects when one cannot be opened; then neither is. */
export async function openOtherDoors(settings: OtherDoorSettings, parts: OtherDoorParts): Promise<OtherDoors> {
  const sources = readSourceTokens(settings.proxySources);
  // DNS first: to stop it waits for nobody, while connections that transparent TLS has taken in already are ended by the front door.
  const dns = settings.proxyDnsPort === undefined ? undefined : await openDns(settings, settings.proxyDnsPort, sources, parts);
  try {
    const transparent = settings.proxyTransparentPort === undefined ? undefined : await openTransparent(settings, settings.proxyTransparentPort, sources, parts);
    return {
      transparent, dns,
      async stop(timeoutMs) {
        await Promise.all([transparent?.stop(), dns?.stop(timeoutMs)]);
      },
    };
  } catch (error) {
    await dns?.stop(0);
    throw error;
  }
}

function openTransparent({ host, proxyConnectionsMax, proxyHandshakeTimeoutMs }: OtherDoorSettings, port: number, sources: SourceTokens, { adopt, serve, identify, leafFor, addresses, onFault }: OtherDoorParts): Promise<TransparentDoor> {
  return startTransparentDoor({
    host, port, adopt, serve, identify, sources, addresses, onFault,
    leafFor: createBoundedLeafFor({ leafFor, nowMs: () => performance.now() }),
    limits: { connectionsMax: proxyConnectionsMax, handshakeTimeoutMs: proxyHandshakeTimeoutMs },
  });
}

async function openDns({ host, proxyDnsServers, proxyAllowPrivateUpstreams }: OtherDoorSettings, port: number, sources: SourceTokens, { identify, record, addresses, onFault }: OtherDoorParts): Promise<DnsDoor> {
  const mayConnect = createMayConnect(readPrivateUpstreams(proxyAllowPrivateUpstreams));
  const forwarder = createForwarder({ ...forwardDefaults, servers: readDnsServers(proxyDnsServers) });

  /** Undefined, which is answered REFUSED, also where the token of a known address is not good: its connections leave the row that says so. */
  async function workspaceOf(address: string): Promise<DnsClient | undefined> {
    const token = sources.tokenOf(address);
    const identified = token === undefined ? undefined : await identify([], token);
    if (identified === undefined || 'decision' in identified || identified.workspace.gone.aborted) return undefined;
    const { workspace, attribution } = identified;
    return { policy: workspace.policy, enforcement: workspace.enforcement, attribution: { ...attribution, workspaceId: workspace.id } };
  }

  const door = await startDnsDoor({
    host, port, workspaceOf, mayConnect, addresses, record, onFault,
    resolve: forwarder.resolve,
    // Where no IPv6 connection can come to us, an address would only cost clients a try.
    syntheticIpv6: isIPv6(host),
    nowMs: () => performance.now(),
  });
  return {
    ...door,
    async stop(timeoutMs) {
      // A lookup that fails has its row too: servers that do not answer are given up while there is time to write it.
      const cut = setTimeout(() => forwarder.stop(), timeoutMs / 2);
      await door.stop(timeoutMs);
      clearTimeout(cut);
      forwarder.stop();
    },
  };
}
