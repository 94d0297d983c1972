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
import { createFrontDoor } from './front-door.ts';
import type { WorkspaceRegistry } from './contract.ts';
import type { VerifyCapability } from './identify.ts';
import { createIdentify } from './identify.ts';
import { createProxyMetrics } from './metrics.ts';
import type { ProxyMetrics } from './metrics.ts';
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
  | 'budgetRenewMs' | 'meterDocumentBytesMax' | 'meterEventBytesMax'>;

/** Parts the proxy may not reach for itself (ARCHITECTURE.md, layers); src/cli/roles/proxy.ts makes them. */
export type ProxyParts = {
  readonly journal: Journal;
  readonly verify: VerifyCapability;
  readonly workspaces: Pick<WorkspaceRegistry, 'get'>;
  readonly budgets: BudgetStore;
  readonly send: UpstreamSend;
  readonly authority: Authority;
  readonly mint: RewriteDeps['mint'];
  readonly log: Pick<Logger, 'error'>;
  /** Dependencies whose failure makes the proxy unready, beyond the journal. */
  readonly checks?: Readonly<Record<string, Check>>;
};

export type Proxy = {
  /** Of the explicit proxy, `http://host:port`. */
  readonly url: string;
  readonly adminUrl: string;
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
export async function startProxy(settings: ProxySettings, { journal, verify, workspaces, budgets, send, authority, mint, log, checks = {} }: ProxyParts): Promise<Proxy> {
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
  const metrics = createProxyMetrics({ journal, connections: door.connections, openRequests: open });

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
    const adminUrl = admin.url;
    const closeAdmin = admin.close.bind(admin);
    return {
      url,
      adminUrl,
      metrics,
      async stop(timeoutMs = settings.shutdownMs) {
        await door.stop(timeoutMs);
        await closeAdmin();
      },
    };
  } catch (error) {
    await admin?.close();
    throw error;
  }
}
