import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { Settings } from '../../config/settings.ts';
import type { Upstream } from './dispatch.ts';
import { createUpstreamLeg } from './dispatch.ts';
import type { Lookup } from './lookup-queue.ts';
import type { Listener } from './own-listeners.ts';
import { createOwnListeners } from './own-listeners.ts';
import { readPrivateUpstreams } from './private-upstreams.ts';
import { createResolver } from './resolve.ts';

export type UpstreamSettings = Pick<
  Settings,
  'host' | 'proxyPort' | 'proxyAdminPort' | 'proxyConnectTimeoutMs' | 'proxyHeadersTimeoutMs' | 'proxyBodyIdleTimeoutMs' | 'proxyUpstreamConnectionsMax' | 'proxyAllowPrivateUpstreams' | 'proxyUpstreamCa'
>;

type UpstreamOptions = {
  readonly listeners?: () => readonly Listener[];
  /** Addresses that only tell denied names from each other: whatever is there is not what was asked for. */
  readonly isSynthetic?: (address: string) => boolean;
  readonly lookup?: Lookup;
};

const idleMs = 15_000;
const originsMax = 1024;
const waitingMax = 1024;
const headerBytesMax = 65_536;

/**
 * The upstream leg from the role's settings. `listeners` are those of this process besides the explicit proxy and the admin port (or these,
 * where the system chose the port), asked for when a connection is vetted. Throws when a setting cannot be used.
 */
export function createUpstream(settings: UpstreamSettings, { listeners = () => [], isSynthetic = () => false, lookup }: UpstreamOptions = {}): Upstream {
  const { host, proxyPort, proxyAdminPort } = settings;
  const configured: readonly Listener[] = [{ host, port: proxyPort }, { host, port: proxyAdminPort }];
  const isListener = createOwnListeners(() => [...configured, ...listeners()]);
  const resolver = createResolver({
    allowed: readPrivateUpstreams(settings.proxyAllowPrivateUpstreams),
    isOwn: (address, port) => isSynthetic(address.text) || isListener(address, port),
    timeoutMs: settings.proxyConnectTimeoutMs,
    ...(lookup === undefined ? {} : { lookup }),
  });
  return createUpstreamLeg({
    resolver,
    trust: trustOf(settings.proxyUpstreamCa),
    limits: {
      connectionsMax: settings.proxyUpstreamConnectionsMax,
      connectTimeoutMs: settings.proxyConnectTimeoutMs,
      headersTimeoutMs: settings.proxyHeadersTimeoutMs,
      bodyIdleTimeoutMs: settings.proxyBodyIdleTimeoutMs,
      idleMs, originsMax, waitingMax, headerBytesMax,
    },
  });
}

/** The authorities of Node, and those of the file on top. One context for all connections: making one costs milliseconds. */
function trustOf(extraFile: string | undefined): SecureContext {
  const extra = extraFile === undefined ? [] : [readFileSync(extraFile, 'utf8')];
  return createSecureContext({ ca: [...getCACertificates('default'), ...extra], minVersion: 'TLSv1.2' });
}
