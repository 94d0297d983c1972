import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BudgetStore } from '../budgets/contract.ts';
import type { Settings } from '../config/settings.ts';
import { sinkOf } from '../credentials/sinks.ts';
import type { Journal } from '../journal/journal.ts';
import type { AdminServer, Check } from '../kernel/admin-server.ts';
import { startAdminServer } from '../kernel/admin-server.ts';
import type { Logger } from '../kernel/log.ts';
import { throttledErrors } from '../kernel/log.ts';
import type { SyntheticAddresses } from './dns/synthetic-addresses.ts';
import { createFrontDoor } from './front-door.ts';
import type { WorkspaceRegistry } from './contract.ts';
import type { VerifyCapability } from './identify.ts';
import { createIdentify } from './identify.ts';
import { createProxyMetrics } from './metrics.ts';
import type { PartGauge, ProxyMetrics } from './metrics.ts';
import type { OtherDoorSettings, OtherDoors } from './other-doors.ts';
import { openOtherDoors } from './other-doors.ts';
import { createOwnRequests } from './own-requests.ts';
import { createRecorder } from './recorder.ts';
import type { RewriteDeps } from './rewrite.ts';
import { createScrubberCache } from './scrub/scrubber-cache.ts';
import { createServe } from './serve.ts';
import type { Authority } from './tls/authority.ts';
import type { UpstreamSend } from './upstream-port.ts';
import { rememberVerified } from './verified-tokens.ts';

export type ProxySettings = Pick<Settings, 'environment' | 'host' | 'proxyPort' | 'proxyAdminPort' | 'retentionDays' | 'shutdownMs'
  | 'proxyConnectionsMax' | 'proxyRequestsMax' | 'proxyHeaderBytesMax' | 'proxyRequestTimeoutMs' | 'proxyIdleTimeoutMs' | 'proxyBodyBytesMax' | 'proxyHandshakeTimeoutMs'
  | 'budgetRenewMs' | 'meterDocumentBytesMax' | 'meterEventBytesMax'> & OtherDoorSettings;

/** Parts the proxy may not reach for itself (ARCHITECTURE.md, layers); src/cli/roles/proxy.ts makes them. */
export type ProxyParts = {
  readonly journal: Journal;
  readonly verify: VerifyCapability;
  readonly workspaces: Pick<WorkspaceRegistry, 'get'>;
  readonly budgets: BudgetStore;
  readonly send: UpstreamSend;
  readonly authority: Authority;
  readonly mint: RewriteDeps['mint'];
  /** Addresses that denied names get. The upstream leg refuses them; a workspace that goes gives its own up. */
  readonly addresses: SyntheticAddresses;
  readonly log: Pick<Logger, 'error'>;
  readonly gauges?: readonly PartGauge[];
  /** Dependencies whose failure makes the proxy unready, beyond the journal. */
  readonly checks?: Readonly<Record<string, Check>>;
};

export type Proxy = {
  /** Of the explicit proxy, `http://host:port`. */
  readonly url: string;
  readonly adminUrl: string;
  /** Ports of the doors that are on, besides the explicit proxy. */
  readonly transparentPort: number | undefined;
  readonly dnsPort: number | undefined;
  readonly metrics: ProxyMetrics;
  /** Stops accepting, finishes what runs (at most `timeoutMs`); the journal stays open for the caller to seal, ship and close. Call it once. */
  readonly stop: (timeoutMs?: number) => Promise<void>;
};

/** Time for which a refused request makes the proxy unready, in ms. */
const unreadyMs = 5000;

async function listen(server: Server, port: number, host: string): Promise<string> {
  server.listen(port, host, 4096);
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
}

/** Runs the proxy's listeners. Rejects when a port cannot be bound; then nothing is left running. */
export async function startProxy(settings: ProxySettings, { journal, verify, workspaces, budgets, send, authority, mint, addresses, log, gauges = [], checks = {} }: ProxyParts): Promise<Proxy> {
  const logUnrecorded = throttledErrors(log, 'request refused: its row could not be written');
  const record = createRecorder({
    journal,
    mode: settings.environment === 'production' ? 'flag' : 'refuse',
    retentionDays: settings.retentionDays,
    onInvalid: (err) => log.error({ err }, 'row breaks the event catalog; stored flagged'),
  });
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  const { serve, open } = createServe({
    record,
    openMax: settings.proxyRequestsMax,
    onDecided: (outcome) => metrics.decided(outcome.decision === 'deny' ? outcome.reason : 'allow'),
    onUnrecorded: (error) => {
      refusedAtMs = performance.now();
      metrics.unrecorded();
      logUnrecorded(error);
    },
    onGateError: throttledErrors(log, 'gate failed: request denied'),
  });
  const identify = createIdentify({ verify: rememberVerified(verify), workspaces });
  const door = createFrontDoor({
    serve,
    tunnel: { identify, leafFor: authority.leafFor, handshakeTimeoutMs: settings.proxyHandshakeTimeoutMs },
    own: createOwnRequests({ identify, record, authority }),
    flow: {
      identify, send, mint, sinkOf,
      scrubberFor: createScrubberCache(),
      spending: { store: budgets, renewMs: settings.budgetRenewMs, onError: throttledErrors(log, 'budget hold could not be renewed') },
      limits: { documentBytesMax: settings.meterDocumentBytesMax, eventBytesMax: settings.meterEventBytesMax },
      bodyBytesMax: settings.proxyBodyBytesMax,
      headerBytesMax: settings.proxyHeaderBytesMax,
    },
    limits: {
      headerBytesMax: settings.proxyHeaderBytesMax,
      connectionsMax: settings.proxyConnectionsMax,
      requestTimeoutMs: settings.proxyRequestTimeoutMs,
      idleTimeoutMs: settings.proxyIdleTimeoutMs,
    },
    onFault: throttledErrors(log, 'answer could not be sent'),
  });
  let others: OtherDoors | undefined;
  const metrics = createProxyMetrics({
    journal, connections: door.connections, openRequests: open, parts: gauges,
    transparentConnections: () => others?.transparent?.connections() ?? 0,
    dns: { openQueries: () => others?.dns?.open() ?? 0, connections: () => others?.dns?.connections() ?? 0, names: () => addresses.names },
  });

  /** Clears by itself: an unready proxy gets no requests that could show that it works again. */
  function journalCheck(): string | undefined {
    if (!journal.stats().reserveHeld) return 'the disk has no room';
    return performance.now() - refusedAtMs < unreadyMs ? 'refused a request just now' : undefined;
  }

  let admin: AdminServer | undefined;
  try {
    admin = await startAdminServer({ host: settings.host, port: settings.proxyAdminPort, registry: metrics.registry, checks: { journal: journalCheck, ...checks } });
    const url = await listen(door.server, settings.proxyPort, settings.host);
    door.server.on('error', throttledErrors(log, 'proxy listener'));
    others = await openOtherDoors(settings, {
      serve, identify, addresses,
      adopt: door.adopt, record: record.row, leafFor: authority.leafFor,
      onFault: throttledErrors(log, 'transparent or DNS door'),
    });
    const opened = others;
    const adminUrl = admin.url;
    const closeAdmin = admin.close.bind(admin);
    return {
      url,
      adminUrl,
      transparentPort: opened.transparent?.port,
      dnsPort: opened.dns?.port,
      metrics,
      async stop(timeoutMs = settings.shutdownMs) {
        await Promise.all([door.stop(timeoutMs), opened.stop(timeoutMs)]);
        await closeAdmin();
      },
    };
  } catch (error) {
    await door.stop(0);
    await admin?.close();
    throw error;
  }
}
