import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Settings } from '../config/settings.ts';
import type { Journal } from '../journal/journal.ts';
import type { Check } from './admin.ts';
import { createAdmin } from './admin.ts';
import { createFrontDoor } from './front-door.ts';
import type { VerifyCapability } from './gate.ts';
import { createGate } from './gate.ts';
import { createProxyMetrics } from './metrics.ts';
import type { ProxyMetrics } from './metrics.ts';
import { createRecorder } from './recorder.ts';
import { createServe } from './serve.ts';

export type ProxySettings = Pick<Settings, 'environment' | 'host' | 'proxyPort' | 'proxyAdminPort' | 'retentionDays' | 'shutdownMs'
  | 'proxyConnectionsMax' | 'proxyRequestsMax' | 'proxyHeaderBytesMax' | 'proxyRequestTimeoutMs' | 'proxyIdleTimeoutMs'>;

export type ProxyLog = { warn(fields: object, text: string): void; error(fields: object, text: string): void };

/** Parts the proxy may not reach for itself (ARCHITECTURE.md, layers); src/cli/roles/proxy.ts makes them. */
export type ProxyParts = {
  readonly journal: Journal;
  readonly verify: VerifyCapability;
  readonly log: ProxyLog;
  /** Dependencies whose failure makes the proxy unready, beyond the journal. */
  readonly checks?: Readonly<Record<string, Check>>;
};

export type Proxy = {
  /** Of the explicit proxy, `http://host:port`. */
  readonly url: string;
  readonly adminUrl: string;
  readonly metrics: ProxyMetrics;
  /** Stops accepting, finishes what runs (at most `timeoutMs`); the journal stays open for the caller to seal, ship and close. */
  stop(timeoutMs?: number): Promise<void>;
};

/** Time for which a refused request makes the proxy unready, in ms. */
const unreadyMs = 5000;

/** One line of log a second at most, however many requests fail. */
function throttled(write: (suppressed: number, error: unknown) => void): (error: unknown) => void {
  let suppressed = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - lastMs < 1000) {
      suppressed += 1;
      return;
    }
    lastMs = performance.now();
    write(suppressed, error);
    suppressed = 0;
  };
}

async function listen(server: Server, port: number, host: string): Promise<string> {
  server.listen(port, host, 4096);
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
}

/** Runs the proxy's listeners. Rejects when a port cannot be bound; then nothing is left running. */
export async function startProxy(settings: ProxySettings, { journal, verify, log, checks = {} }: ProxyParts): Promise<Proxy> {
  const logUnrecorded = throttled((suppressed, err) => log.error({ err, suppressed }, 'request refused: its row could not be written'));
  const logGate = throttled((suppressed, err) => log.error({ err, suppressed }, 'gate failed: request denied'));
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
    onDecided: ({ reason }) => metrics.decided(reason),
    onUnrecorded: (error) => {
      refusedAtMs = performance.now();
      metrics.unrecorded();
      logUnrecorded(error);
    },
    onGateError: logGate,
  });
  const door = createFrontDoor({
    gate: createGate(verify),
    serve,
    limits: {
      headerBytesMax: settings.proxyHeaderBytesMax,
      connectionsMax: settings.proxyConnectionsMax,
      requestTimeoutMs: settings.proxyRequestTimeoutMs,
      idleTimeoutMs: settings.proxyIdleTimeoutMs,
    },
    onFault: (err) => log.error({ err }, 'answer could not be sent'),
  });
  const metrics = createProxyMetrics({ journal, connections: door.connections, openRequests: open });
  const admin = createAdmin({ registry: metrics.registry, checks: { journal: journalCheck, ...checks } });

  /** Clears by itself: an unready proxy gets no requests that could show that it works again. */
  function journalCheck(): string | undefined {
    if (!journal.stats().reserveHeld) return 'the disk has no room';
    return performance.now() - refusedAtMs < unreadyMs ? 'refused a request just now' : undefined;
  }

  async function stop(timeoutMs = settings.shutdownMs): Promise<void> {
    await door.stop(timeoutMs);
    admin.close();
    admin.closeAllConnections();
  }
  try {
    const adminUrl = await listen(admin, settings.proxyAdminPort, settings.host);
    const url = await listen(door.server, settings.proxyPort, settings.host);
    door.server.on('error', (err) => log.error({ err }, 'proxy listener'));
    admin.on('error', (err) => log.error({ err }, 'admin listener'));
    return { url, adminUrl, metrics, stop };
  } catch (error) {
    admin.close();
    admin.closeAllConnections();
    door.server.close();
    throw error;
  }
}
