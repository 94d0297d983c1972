import postgres from 'postgres';

/** A pool of connections. int8 columns are numbers, timestamptz columns RFC 3339 texts with microseconds. */
export type Sql = postgres.Sql;

/** A connection inside a transaction. */
export type Tx = postgres.TransactionSql;

export type PostgresOptions = {
  readonly url: string;
  readonly poolMax: number;
  /** Seen in pg_stat_activity. */
  readonly applicationName: string;
  readonly connectTimeoutMs?: number;
  /** Longest run of one statement; also bounds the wait for a lock. */
  readonly statementTimeoutMs?: number;
  /** Longest pause of a client inside a transaction before the server ends it. */
  readonly idleInTransactionTimeoutMs?: number;
  /** Connections that see the rows of every org from their start: for look-ups before the org is known, which so need no transaction. */
  readonly everyOrg?: boolean;
};

function toNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('int8 value beyond 2^53');
  return value;
}

/** `2026-11-20 10:00:00.12+00`, what a session in UTC gives, to `2026-11-20T10:00:00.120000Z`. */
export function apiTimestamp(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, '0')}Z`;
}

const everyOrgPools = new WeakSet<Sql>();

/** Whether the pool was opened with `everyOrg`. */
export function seesEveryOrg(sql: Sql): boolean {
  return everyOrgPools.has(sql);
}

/**
 * Opens a pool; it connects on first use. Every wait has a bound: connecting, a statement, and a transaction whose client has gone
 * quiet. Errors of its queries are those of postgres.js, see errors.ts.
 */
export function connectPostgres(options: PostgresOptions): Sql {
  const types = {
    int8: { to: 20, from: [20], serialize: String, parse: toNumber },
    timestamptz: { to: 1184, from: [1184], serialize: String, parse: apiTimestamp },
  };
  const sql = postgres(options.url, {
    max: options.poolMax,
    connect_timeout: (options.connectTimeoutMs ?? 5_000) / 1000,
    idle_timeout: 300,
    backoff: (retries: number) => Math.min(0.05 * 2 ** retries, 2),
    onnotice: () => undefined,
    types,
    connection: {
      application_name: options.applicationName,
      TimeZone: 'UTC',
      statement_timeout: options.statementTimeoutMs ?? 15_000,
      idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 60_000,
      ...(options.everyOrg === true ? { 'app.org_id': '*' } : {}),
    },
  });
  if (options.everyOrg === true) everyOrgPools.add(sql);
  return sql;
}
