import { hostname } from 'node:os';
import { inspect } from 'node:util';
import type { Parser, Setting } from './setting.ts';
import { SettingError, asInteger, asLongText, asOneOf, asPortOrOff, asSealingKeys, asText, asUrl } from './setting.ts';

function setting<T>(env: string, parse: Parser<T>, fallback: string, doc: string, secret = false): Setting<T> {
  return { env, parse, fallback, doc, secret };
}

function optional<T>(env: string, parse: Parser<T>, doc: string, secret = false): Setting<T | undefined> {
  return { env, parse, fallback: undefined, doc, secret };
}

const port = asInteger(0, 65_535);
const ms = asInteger(1, 86_400_000);
const MiB = 1_048_576;

/**
 * Every setting of every role: one row each. This table is the only reader of the environment; README's table and `.env.example`
 * are checked against it by a test.
 */
export const settingTable = {
  environment: setting('CUSTOMHOUSE_ENV', asOneOf('production', 'development', 'test'), 'production', 'Development and test refuse rows that break the event catalog; production flags and keeps them'),
  logLevel: setting('LOG_LEVEL', asOneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info', 'Least level of the JSON log on standard output'),
  instanceName: { ...setting('INSTANCE_NAME', asText, hostname(), 'Name of this process in the producer of its rows; must stay the same across restarts and differ between proxies'), fallbackDoc: 'host name' },
  host: setting('HOST', asText, '127.0.0.1', 'Address that the HTTP listeners bind'),
  apiPort: setting('API_PORT', port, '8080', 'Port of the control plane API'),
  proxyPort: setting('PROXY_PORT', port, '8081', 'Port of the explicit proxy'),
  proxyTransparentPort: setting('PROXY_TRANSPARENT_PORT', asPortOrOff, '0', 'Port of transparent TLS, where connections to port 443 are led whose clients know of no proxy; 0 is off'),
  proxyDnsPort: setting('PROXY_DNS_PORT', asPortOrOff, '0', 'Port of the DNS door, UDP and TCP; 0 is off'),
  proxyAdminPort: setting('PROXY_ADMIN_PORT', port, '8082', 'Port of the proxy role for /healthz, /readyz and /metrics'),
  workerAdminPort: setting('WORKER_ADMIN_PORT', port, '8083', 'Port of the worker role for /healthz, /readyz and /metrics'),
  internalHost: setting('INTERNAL_HOST', asText, '127.0.0.1', 'Address that the internal API of the api role binds; only proxies may reach it'),
  internalPort: setting('INTERNAL_PORT', port, '8084', 'Port of the internal API, from which proxies learn of workspaces and credentials'),
  internalToken: optional('INTERNAL_TOKEN', asLongText(32), 'Service token that proxies show to the internal API; without it the api role does not open that listener', true),
  internalUrl: setting('INTERNAL_URL', asUrl('http:', 'https:'), 'http://127.0.0.1:8084', 'Base address of the internal API, for the proxy role'),
  secretsKey: optional('SECRETS_KEY', asSealingKeys, 'api role only: keys that seal secrets and credentials in Postgres: 32 bytes in base64, for example from `openssl rand -base64 32`. To rotate, put the new key in front, with a comma', true),
  publicBaseUrl: optional('PUBLIC_BASE_URL', asUrl('http:', 'https:'), 'Base address that callers use, when it differs from HOST and API_PORT'),
  trustedProxies: setting('TRUSTED_PROXIES', asText, '', 'Comma-separated addresses of load balancers whose X-Forwarded-For is believed'),
  postgresUrl: setting('POSTGRES_URL', asUrl('postgres:', 'postgresql:'), 'postgres://customhouse@127.0.0.1:5432/customhouse', 'Postgres of the control plane', true),
  postgresPoolMax: setting('POSTGRES_POOL_MAX', asInteger(1, 500), '10', 'Connections of one process to Postgres'),
  redisUrl: setting('REDIS_URL', asUrl('redis:', 'rediss:'), 'redis://127.0.0.1:6379', 'Redis for queue and streams; must run with maxmemory-policy noeviction', true),
  clickhouseUrl: setting('CLICKHOUSE_URL', asUrl('http:', 'https:'), 'http://127.0.0.1:8123', 'ClickHouse over HTTP', true),
  clickhouseUser: setting('CLICKHOUSE_USER', asText, 'default', 'User at ClickHouse'),
  clickhousePassword: setting('CLICKHOUSE_PASSWORD', asText, '', 'Password at ClickHouse', true),
  clickhouseDatabase: setting('CLICKHOUSE_DATABASE', asText, 'customhouse', 'Database of the audit table'),
  clickhouseCluster: optional('CLICKHOUSE_CLUSTER', asText, 'Cluster name: the same DDL then makes ReplicatedMergeTree and Distributed tables ON CLUSTER'),
  retentionDays: setting('RETENTION_DAYS', asInteger(1, 3653), '400', 'Days that audit rows of an org are kept, when the org sets nothing else'),
  sessionJwksUrl: setting('SESSION_JWKS_URL', asUrl('http:', 'https:', 'file:'), 'http://127.0.0.1:8080/.well-known/jwks.json', 'Public keys of session tokens (EdDSA or ES256)'),
  sessionIssuer: optional('SESSION_ISSUER', asText, 'Required `iss` of session tokens; not checked when unset'),
  sessionAudience: optional('SESSION_AUDIENCE', asText, 'Required `aud` of session tokens; not checked when unset'),
  capabilityJwksUrl: setting('CAPABILITY_JWKS_URL', asUrl('http:', 'https:', 'file:'), 'http://127.0.0.1:8080/.well-known/capability-jwks.json', 'Public keys of capability tokens (EdDSA)'),
  rateLimitPerMinute: setting('RATE_LIMIT_PER_MINUTE', asInteger(1, 10_000_000), '6000', 'API requests one caller may make in a minute'),
  apiBodyBytesMax: setting('API_BODY_BYTES_MAX', asInteger(1024, 1024 * MiB), String(MiB), 'Largest request body of the API, in bytes'),
  apiRequestTimeoutMs: setting('API_REQUEST_TIMEOUT_MS', ms, '30000', 'Longest time to receive one whole request, in ms'),
  queryTimeoutMs: setting('QUERY_TIMEOUT_MS', ms, '15000', 'Longest run of one audit query, in ms'),
  queryMemoryBytesMax: setting('QUERY_MEMORY_BYTES_MAX', asInteger(MiB, 1_048_576 * MiB), String(2048 * MiB), 'Memory one audit query may use in ClickHouse, in bytes'),
  queryConcurrency: setting('QUERY_CONCURRENCY', asInteger(1, 1000), '8', 'Audit queries one api process runs at a time; further ones wait'),
  exportTimeoutMs: setting('EXPORT_TIMEOUT_MS', ms, '600000', 'Longest run of one export, in ms'),
  streamDurationMs: setting('STREAM_DURATION_MS', ms, '300000', 'A live stream is closed after this time, in ms (contract 8: 5 minutes)'),
  streamHeartbeatMs: setting('STREAM_HEARTBEAT_MS', ms, '15000', 'Time between heartbeats of a live stream, in ms (contract 8: about 15 seconds)'),
  streamBufferBytesMax: setting('STREAM_BUFFER_BYTES_MAX', asInteger(1024, 1024 * MiB), String(4 * MiB), 'Bytes waiting for one slow stream client before it is closed'),
  streamClientsMax: setting('STREAM_CLIENTS_MAX', asInteger(1, 1_000_000), '5000', 'Live streams one api process serves'),
  proxyConnectionsMax: setting('PROXY_CONNECTIONS_MAX', asInteger(1, 1_000_000), '4096', 'Client connections one proxy holds; further ones are closed before a byte is read'),
  proxyRequestsMax: setting('PROXY_REQUESTS_MAX', asInteger(1, 1_000_000), '10000', 'Requests one proxy has open at a time; further ones are answered 503'),
  proxyHeaderBytesMax: setting('PROXY_HEADER_BYTES_MAX', asInteger(1024, MiB), '32768', 'Largest request line and headers of one proxy request, in bytes'),
  proxyRequestTimeoutMs: setting('PROXY_REQUEST_TIMEOUT_MS', ms, '300000', 'Longest time to receive one whole proxy request, in ms; its headers have at most a minute'),
  proxyIdleTimeoutMs: setting('PROXY_IDLE_TIMEOUT_MS', ms, '60000', 'Longest pause between two requests of one proxy connection, in ms'),
  proxyCaCert: setting('PROXY_CA_CERT', asText, '.data/ca.pem', 'File with the CA certificate of the proxy, PEM, those above it after it; made together with its key when there is neither'),
  proxyCaKey: setting('PROXY_CA_KEY', asText, '.data/ca-key.pem', 'File with the private key of the CA, PEM, not encrypted; EC or RSA', true),
  proxyLeafCacheMax: setting('PROXY_LEAF_CACHE_MAX', asInteger(1, 100_000), '1000', 'Hosts whose TLS certificates one proxy keeps, at about 35 KB each; minting one anew takes half a millisecond'),
  proxyWorkspaceTtlMs: setting('PROXY_WORKSPACE_TTL_MS', ms, '30000', 'Age at which a proxy asks for a workspace again, in ms; changes are pushed besides'),
  proxyWorkspaceGraceMs: setting('PROXY_WORKSPACE_GRACE_MS', ms, '300000', 'Age up to which a proxy serves a workspace while the control plane does not answer, in ms'),
  proxyWorkspaceIdleMs: setting('PROXY_WORKSPACE_IDLE_MS', ms, '900000', 'Time without a request after which a proxy forgets a workspace, in ms'),
  proxyWorkspacesMax: setting('PROXY_WORKSPACES_MAX', asInteger(1, 1_000_000), '10000', 'Workspaces one proxy holds; beyond it the longest unused one is forgotten'),
  proxyBodyBytesMax: setting('PROXY_BODY_BYTES_MAX', asInteger(1024, 1024 * MiB), String(10 * MiB), 'Largest request body that a rule or transform may inspect, in bytes; larger ones are denied, others stream without a limit'),
  proxyHandshakeTimeoutMs: setting('PROXY_HANDSHAKE_TIMEOUT_MS', ms, '10000', 'Longest time for a TLS handshake inside a tunnel or of transparent TLS, in ms'),
  proxySources: setting('PROXY_SOURCES', asText, '', 'Whose lookups and transparent connections come from which address: comma-separated ADDRESS=CAPABILITY_TOKEN; a request that shows a token counts by that', true),
  proxyDnsServers: { ...setting('PROXY_DNS_SERVERS', asText, '', 'DNS servers that admitted names are looked up at: comma-separated addresses, with :port where it is not 53'), fallbackDoc: 'those of resolv.conf' },
  budgetRenewMs: setting('BUDGET_RENEW_MS', ms, '20000', 'Pause between two renewals of what a running request holds of its budgets, in ms; a hold ends after three'),
  meterDocumentBytesMax: setting('METER_DOCUMENT_BYTES_MAX', asInteger(1024, 1024 * MiB), String(10 * MiB), 'Largest response document a counter reads, in bytes; a larger one takes the failure charge'),
  meterEventBytesMax: setting('METER_EVENT_BYTES_MAX', asInteger(1024, 64 * MiB), String(MiB), 'Largest server-sent event a counter reads, in bytes'),
  proxyConnectTimeoutMs: setting('PROXY_CONNECT_TIMEOUT_MS', ms, '10000', 'Longest time to get a connection to an upstream, with the wait for a free one and the TLS handshake; also of resolving its name, in ms'),
  proxyHeadersTimeoutMs: setting('PROXY_HEADERS_TIMEOUT_MS', ms, '300000', 'Longest time from a request sent upstream to the head of its answer, in ms'),
  proxyBodyIdleTimeoutMs: setting('PROXY_BODY_IDLE_TIMEOUT_MS', ms, '300000', 'Longest pause within the body of an answer from upstream, in ms'),
  proxyUpstreamConnectionsMax: setting('PROXY_UPSTREAM_CONNECTIONS_MAX', asInteger(1, 65_535), '256', 'Connections of one proxy to one upstream; further requests wait'),
  proxyAllowPrivateUpstreams: setting('PROXY_ALLOW_PRIVATE_UPSTREAMS', asText, '', 'Upstreams that may have addresses which are not public: comma-separated networks (10.0.0.0/8), host names, or * for all. Metadata services and the proxy itself stay refused'),
  proxyUpstreamCa: optional('PROXY_UPSTREAM_CA', asText, 'File with certificates (PEM) of further authorities that upstreams are trusted by'),
  journalDir: setting('JOURNAL_DIR', asText, '.data/journal', 'Directory of the proxy journal'),
  journalFsync: setting('JOURNAL_FSYNC', asOneOf('always', 'interval', 'never'), 'interval', 'When the journal is flushed to the disk: each write, every JOURNAL_SEAL_MS, or left to the system'),
  journalSealMs: setting('JOURNAL_SEAL_MS', ms, '200', 'Longest time a row waits before its batch is sealed, in ms'),
  journalSealRows: setting('JOURNAL_SEAL_ROWS', asInteger(1, 100_000), '10000', 'Rows after which a batch is sealed'),
  journalSealBytes: setting('JOURNAL_SEAL_BYTES', asInteger(1024, 64 * MiB), String(8 * MiB), 'Bytes after which a batch is sealed'),
  journalDiskBytesMax: setting('JOURNAL_DISK_BYTES_MAX', asInteger(MiB, 1_048_576 * MiB), String(10_240 * MiB), 'Bytes of unconfirmed batches on disk; over it the journal refuses rows'),
  queuePayloadBytesMax: setting('QUEUE_PAYLOAD_BYTES_MAX', asInteger(MiB, 1_048_576 * MiB), String(256 * MiB), 'Bytes of batches held in Redis; over it batches wait at their source'),
  writerConcurrency: setting('WRITER_CONCURRENCY', asInteger(1, 64), '2', 'Batches one worker inserts at a time'),
  writerRetryMsMax: setting('WRITER_RETRY_MS_MAX', ms, '30000', 'Longest pause between two tries to insert a batch, in ms'),
  outboxPollMs: setting('OUTBOX_POLL_MS', ms, '100', 'Pause between two looks into the outbox, in ms'),
  cliBaseUrl: optional('CUSTOMHOUSE_URL', asUrl('http:', 'https:'), 'Command line only: base address of the API that `customhouse audit` talks to'),
  cliToken: optional('CUSTOMHOUSE_TOKEN', asText, 'Command line only: API key or session token that `customhouse audit` shows', true),
  shutdownMs: setting('SHUTDOWN_MS', ms, '10000', 'Time a process gives running work after SIGTERM, in ms'),
} as const satisfies Record<string, Setting<unknown>>;

export type Settings = { readonly [K in keyof typeof settingTable]: (typeof settingTable)[K] extends Setting<infer T> ? T : never };

/** Reads every setting; throws one SettingError that names all variables that are wrong. Values of secret ones are not printed. */
export function readSettings(env: Readonly<Record<string, string | undefined>> = process.env): Settings {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(settingTable) as [string, Setting<unknown>][]) {
    const text = env[row.env] === undefined || env[row.env] === '' ? row.fallback : env[row.env];
    if (text === undefined) continue;
    try {
      values[name] = row.parse(text);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      problems.push(`${row.env}: ${error.message.replace('settings: ', '')}${row.secret ? '' : `, not ${JSON.stringify(text)}`}`);
    }
  }
  if (problems.length > 0) throw new SettingError(problems);
  return hideSecrets(values) as Settings;
}

/** Logging the settings, as JSON or by inspection, shows `[secret]` for the secret ones. A spread copy keeps the values and loses this. */
function hideSecrets(values: Record<string, unknown>): Record<string, unknown> {
  const rows: Record<string, Setting<unknown>> = settingTable;
  const shown = (): Record<string, unknown> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, rows[name]?.secret === true ? '[secret]' : value]));
  return Object.defineProperties(values, { toJSON: { value: shown }, [inspect.custom]: { value: shown } });
}
