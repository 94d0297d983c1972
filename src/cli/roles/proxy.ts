import { createRedisBudgetStore } from '../../budgets/redis-store.ts';
import type { Settings } from '../../config/settings.ts';
import { createBroker } from '../../credentials/broker.ts';
import { createKeySet } from '../../identity/key-set.ts';
import { InvalidTokenError, verifyCapabilityToken } from '../../identity/tokens.ts';
import { openJournal } from '../../journal/journal.ts';
import type { Logger } from '../../kernel/log.ts';
import { createLog, throttledErrors } from '../../kernel/log.ts';
import { createSyntheticAddresses } from '../../proxy/dns/synthetic-addresses.ts';
import type { VerifyCapability } from '../../proxy/identify.ts';
import type { Proxy } from '../../proxy/start.ts';
import { startProxy } from '../../proxy/start.ts';
import type { PartGauge } from '../../proxy/metrics.ts';
import type { Authority } from '../../proxy/tls/authority.ts';
import { openAuthority } from '../../proxy/tls/authority.ts';
import type { Upstream } from '../../proxy/upstream/dispatch.ts';
import type { Listener } from '../../proxy/upstream/own-listeners.ts';
import { createUpstream } from '../../proxy/upstream/upstream.ts';
import { createBatchQueue } from '../../queue/batch-queue.ts';
import { createShipper } from '../../queue/shipper.ts';
import { createControlPlaneVault } from './credential-vault.ts';
import { createProxyRows } from './proxy-rows.ts';
import { openWorkspaces } from './workspaces.ts';

export type RunningProxy = { readonly url: string; readonly adminUrl: string; readonly stop: () => Promise<void> };

/** Batches of this proxy in Redis at a time, and the pause between looks whether they are stored. */
const inFlightMax = 16;
const shipPollMs = 100;
/** A command to the budget store that is not answered by then denies its request. */
const budgetCommandMs = 2_000;

/** The gate's verifier: a token that fails is an answer, keys that cannot be read are an error. */
function capabilityVerifier(url: string): VerifyCapability {
  const keys = createKeySet({ url });
  return async (token) => {
    try {
      return await verifyCapabilityToken(token, { keys });
    } catch (error) {
      if (error instanceof InvalidTokenError) return undefined;
      throw error;
    }
  };
}

/** What the parts hold at a moment, for `/metrics`. */
function gaugesOf({ upstream, workspaces, broker, authority }: { upstream: Upstream; workspaces: { readonly size: number }; broker: { readonly size: number }; authority: Authority }): readonly PartGauge[] {
  return [
    { name: 'customhouse_proxy_upstream_origins', help: 'Upstreams with a pool of connections', read: () => upstream.stats().origins },
    { name: 'customhouse_proxy_upstream_connections', help: 'Connections to upstreams', read: () => upstream.stats().connections },
    { name: 'customhouse_proxy_upstream_waiting', help: 'Requests that wait for a connection to their upstream', read: () => upstream.stats().waiting },
    { name: 'customhouse_proxy_workspaces', help: 'Workspaces that are active on this proxy', read: () => workspaces.size },
    { name: 'customhouse_proxy_credentials', help: 'Minted tokens, and failures to mint, that are remembered', read: () => broker.size },
    { name: 'customhouse_proxy_leaf_certificates', help: 'Hosts whose certificates are kept', read: () => authority.stats().kept },
  ];
}

/**
 * The proxy role: listeners, journal, and the shipper that brings sealed batches to the queue. It starts and decides while Redis is down:
 * rows wait in the journal. Rejects when a port or the journal's directory is taken.
 */
export async function startProxyRole(settings: Settings, log: Logger = createLog('proxy', settings.logLevel)): Promise<RunningProxy> {
  const journal = await openJournal({
    dir: settings.journalDir,
    producer: `proxy:${settings.instanceName}`,
    sealMs: settings.journalSealMs,
    sealRows: settings.journalSealRows,
    sealBytes: settings.journalSealBytes,
    diskBytesMax: settings.journalDiskBytesMax,
    fsync: settings.journalFsync,
    onError: throttledErrors(log, 'journal'),
  });
  const queue = createBatchQueue({ redisUrl: settings.redisUrl, payloadBytesMax: settings.queuePayloadBytesMax, onError: throttledErrors(log, 'queue') });
  const shipper = createShipper({ source: journal.source, queue, pollMs: shipPollMs, inFlightMax, onError: throttledErrors(log, 'shipper') });
  journal.onSealed(() => shipper.poke());

  const rows = createProxyRows({
    journal,
    mode: settings.environment === 'production' ? 'flag' : 'refuse',
    retentionDays: settings.retentionDays,
    onError: throttledErrors(log, 'row could not be written'),
  });
  const budgets = createRedisBudgetStore({ redisUrl: settings.redisUrl, holdTtlMs: 3 * settings.budgetRenewMs, commandTimeoutMs: budgetCommandMs, onError: throttledErrors(log, 'budgets') });
  const broker = createBroker({
    vault: createControlPlaneVault({ loadCredential: (orgId, name) => workspaces.loadCredential(orgId, name) }),
    clock: Date.now,
    onStatus: rows.credentialStatus,
    onOutcome: () => undefined,
    onError: throttledErrors(log, 'credential could not be minted'),
  });
  const addresses = createSyntheticAddresses();
  const workspaces = openWorkspaces(settings, log, {
    onLifecycle(event, workspace) {
      if (event === 'workspace_deactivated') addresses.forget(workspace.id);
      rows.lifecycle(event, workspace);
    },
    onCredentialChanged: (orgId, name) => {
      if (orgId !== undefined) broker.invalidate(orgId, name);
    },
  });

  async function closeParts(): Promise<void> {
    await workspaces.stop();
    await budgets.close();
    upstream?.stop();
    await closeJournal();
  }

  async function closeJournal(): Promise<void> {
    await shipper.stop();
    await queue.close();
    // Rows that could not be sealed stay on the disk for the next start.
    await journal.close().catch((err: unknown) => log.error({ err }, 'journal could not be sealed'));
  }

  /** Half of the time for requests; in the rest everything recorded is sealed and shipped as far as the queue and the worker keep up. */
  async function stop(proxy: Proxy): Promise<void> {
    const endMs = performance.now() + settings.shutdownMs;
    await proxy.stop(settings.shutdownMs / 2);
    try {
      await journal.seal();
      shipper.poke();
      if (!await shipper.drained(Math.max(0, endMs - performance.now()))) log.warn({ rows: journal.stats().rows }, 'rows stay in the journal; the next start ships them');
    } catch (err) {
      log.error({ err }, 'journal could not be sealed');
    }
    await closeParts();
  }

  let upstream: Upstream | undefined;
  let listeners: readonly Listener[] = [];
  try {
    upstream = createUpstream(settings, { listeners: () => listeners, isSynthetic: (address) => addresses.owns(address) });
    const authority = await openAuthority({ certPath: settings.proxyCaCert, keyPath: settings.proxyCaKey, leavesMax: settings.proxyLeafCacheMax, nowMs: Date.now });
    const proxy = await startProxy(settings, {
      journal, log, authority, budgets, addresses,
      verify: capabilityVerifier(settings.capabilityJwksUrl),
      workspaces: workspaces.registry,
      send: upstream.send,
      gauges: gaugesOf({ upstream, workspaces: workspaces.registry, broker, authority }),
      mint: ({ workspace }, credential, provider) => broker.mint({ orgId: workspace.orgId, workspaceId: workspace.id }, credential, provider),
    });
    const ports = [...[proxy.url, proxy.adminUrl].map((url) => Number(new URL(url).port)), proxy.transparentPort, proxy.dnsPort];
    listeners = ports.flatMap((port) => (port === undefined ? [] : [{ host: settings.host, port }]));
    const { recovered } = journal.stats();
    log.info({ url: proxy.url, admin: proxy.adminUrl, transparentPort: proxy.transparentPort, dnsPort: proxy.dnsPort, recovered }, 'proxy runs');
    let stopping: Promise<void> | undefined;
    return { url: proxy.url, adminUrl: proxy.adminUrl, stop: () => (stopping ??= stop(proxy)) };
  } catch (error) {
    await closeParts();
    throw error;
  }
}
