import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';

export type ClickHouseOptions = {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Set: `audit_events` is a Distributed table over the cluster's shards. */
  readonly cluster?: string | undefined;
  /** Sockets of this process to ClickHouse; further calls wait for one. */
  readonly connectionsMax?: number;
};

/** A connection pool and the names that SQL is written with. */
export type ClickHouse = {
  readonly client: ClickHouseClient;
  readonly database: string;
  readonly cluster: string | undefined;
  /** The audit table, qualified and quoted: no statement depends on a session's current database. */
  readonly events: string;
  /** Settings that every statement of this connection needs. */
  readonly settings: ClickHouseSettings;
  /** Rejects unless a query is answered with these credentials before the signal is aborted; for readiness checks. */
  readonly ping: (signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
};

const identifier = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const clusterName = /^[A-Za-z0-9_.{}-]{1,100}$/;

/** No single response may be silent for longer than this; every query has a tighter limit of its own. */
const silenceMs = 900_000;

/**
 * Opens a pool; nothing is sent yet.
 * @throws RangeError when database or cluster is not a plain name, as both become part of SQL texts
 */
export function connectClickHouse(options: ClickHouseOptions): ClickHouse {
  if (!identifier.test(options.database)) throw new RangeError('the ClickHouse database must be a plain identifier');
  if (options.cluster !== undefined && !clusterName.test(options.cluster)) throw new RangeError('the ClickHouse cluster must be a plain name');
  const client = createClient({
    url: options.url,
    username: options.user,
    password: options.password,
    application: 'customhouse',
    max_open_connections: options.connectionsMax ?? 32,
    request_timeout: silenceMs,
    // Long lists of values (a caller's own workspaces) go into the body instead of an over-long URL.
    use_multipart_params_auto: true,
    // Every error reaches the caller of the store, which logs it once.
    log: { level: ClickHouseLogLevel.OFF },
  });
  const clustered: ClickHouseSettings = { distributed_foreground_insert: 1, optimize_skip_unused_shards: 1 };
  return {
    client,
    database: options.database,
    cluster: options.cluster,
    events: `\`${options.database}\`.audit_events`,
    settings: options.cluster === undefined ? {} : clustered,
    async ping(signal) {
      const result = await client.ping({ select: true, abort_signal: signal });
      if (!result.success) throw result.error;
    },
    close: () => client.close(),
  };
}
