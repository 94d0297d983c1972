import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { Settings } from '../config/settings.ts';
import { createKeySet } from '../identity/key-set.ts';
import { createIdentity } from '../identity/resolve.ts';
import { throttledErrors } from '../kernel/log.ts';
import { readRedisFacts } from '../queue/redis-facts.ts';
import type { ClickHouse } from '../store/ch/connection.ts';
import { connectClickHouse } from '../store/ch/connection.ts';
import { createAuditReader } from '../store/ch/reader.ts';
import { createApiKeyStore } from '../store/pg/api-keys.ts';
import { createBatchLedger } from '../store/pg/batches.ts';
import type { Sql } from '../store/pg/connect.ts';
import { connectPostgres } from '../store/pg/connect.ts';
import { createMembershipStore } from '../store/pg/memberships.ts';
import { createOrgStore } from '../store/pg/orgs.ts';
import { createOutbox } from '../store/pg/outbox.ts';
import { createWorkspaceStore } from '../store/pg/workspaces.ts';
import { createHub } from '../stream/hub.ts';
import { buildApp } from './app.ts';
import type { ApiDeps } from './deps.ts';
import { startInternal } from './internal/start.ts';
import { createApiMetrics, observeReads } from './metrics.ts';
import { createLogger } from './request-log.ts';
import { routeTable } from './routes/table.ts';
import { trackSilentSockets } from './silent-sockets.ts';

export type RunningApi = {
  readonly url: string;
  /** Of the internal API; undefined without INTERNAL_TOKEN. */
  readonly internalUrl: string | undefined;
  /** Drains and closes; resolves within about `shutdownMs`. */
  readonly stop: () => Promise<void>;
};

const redisProbeMs = 2000;

/** Everything the routes use, from the settings. Nothing connects before it is asked. */
export function assembleApi(settings: Settings, stores: { sql: Sql; lookups?: Sql; clickhouse: ClickHouse }, logger: Logger): ApiDeps {
  const { sql, clickhouse, lookups = sql } = stores;
  const outbox = createOutbox({ mode: settings.environment === 'production' ? 'flag' : 'refuse', retentionDays: settings.retentionDays });
  const reader = createAuditReader(clickhouse, settings, throttledErrors(logger, 'audit reader'));
  const metrics = createApiMetrics();
  observeReads(metrics, reader);
  const { apiKeyByPrefix } = createApiKeyStore({ sql: lookups, outbox });
  const { membershipsOf } = createMembershipStore({ sql: lookups, outbox });
  const { orgById } = createOrgStore(lookups);
  return {
    settings,
    logger,
    reader,
    identity: createIdentity({
      stores: { apiKeyByPrefix, membershipsOf, orgById },
      sessionKeys: createKeySet({ url: settings.sessionJwksUrl }),
      issuer: settings.sessionIssuer,
      audience: settings.sessionAudience,
    }),
    workspaces: createWorkspaceStore({ sql, outbox }),
    // Streams: the order from Postgres, the rows from ClickHouse, Redis only to be quick.
    hub: createHub({
      ...createBatchLedger(sql),
      readBatchRows: (orgId, commits) => reader.batchRows(orgId, commits),
      locate: (orgId, eventId) => reader.locate(orgId, eventId),
      redisUrl: settings.redisUrl,
      onError: throttledErrors(logger, 'stream hub'),
    }),
    readiness: {
      postgres: () => sql`select 1`,
      redis: () => readRedisFacts(settings.redisUrl, redisProbeMs),
      clickhouse: (signal) => clickhouse.ping(signal),
    },
    metrics,
  };
}

/**
 * Starts the api role. `stop` (SIGTERM): no new connections, live streams end with the reason `shutdown` and resume elsewhere by
 * Last-Event-ID, running requests finish within `shutdownMs`, then connections are cut and the pools closed.
 */
export async function startApi(settings: Settings, logger: Logger = createLogger(settings.logLevel)): Promise<RunningApi> {
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: settings.postgresPoolMax, applicationName: 'customhouse-api' });
  // Who calls is looked up on every request.
  const lookups = connectPostgres({ url: settings.postgresUrl, poolMax: Math.max(2, Math.ceil(settings.postgresPoolMax / 2)), applicationName: 'customhouse-api look-ups', everyOrg: true });
  const clickhouse = connectClickHouse({
    url: settings.clickhouseUrl, user: settings.clickhouseUser, password: settings.clickhousePassword,
    database: settings.clickhouseDatabase, cluster: settings.clickhouseCluster,
  });
  const deps = assembleApi(settings, { sql, lookups, clickhouse }, logger);
  let internal: Awaited<ReturnType<typeof startInternal>>;
  const closePools = async (): Promise<void> => {
    await deps.hub.stop();
    await Promise.all([clickhouse.close(), sql.end({ timeout: 1 }), lookups.end({ timeout: 1 })]);
  };
  try {
    const app = await buildApp(deps, routeTable);
    internal = await startInternal(settings, sql, logger);
    const endSilentSockets = trackSilentSockets(app.server);
    await app.listen({ host: settings.host, port: settings.apiPort });
    const { address, family, port } = app.server.address() as AddressInfo;
    const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
    logger.info({ url }, 'api listens');
    let stopping: Promise<void> | undefined;
    const drain = async (): Promise<void> => {
      const cut = setTimeout(() => app.server.closeAllConnections(), settings.shutdownMs);
      const closed = app.close();
      endSilentSockets();
      await deps.hub.stop();
      await Promise.all([closed, internal?.stop(settings.shutdownMs)]);
      clearTimeout(cut);
      await closePools();
      logger.info('api stopped');
    };
    return { url, internalUrl: internal?.url, stop: () => (stopping ??= drain()) };
  } catch (error) {
    await internal?.stop(0);
    await closePools();
    throw error;
  }
}
