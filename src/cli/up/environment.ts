import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { settingTable } from '../../config/settings.ts';
import { jwksFile, readSharedSecret } from './keys.ts';
import type { Ports } from './ports.ts';

export type StoreUrls = { readonly postgres: string; readonly redis: string; readonly clickhouse: string };

/**
 * The environment of the roles of a development stack, laid over that of `up` itself: any other setting can be tried by setting its
 * variable before `npm run up`, while addresses, key sets and directories are always the stack's own.
 */
export function roleEnvironment(dataDir: string, ports: Ports, urls: StoreUrls): Record<string, string> {
  return {
    ...settingsOfEnvironment(),
    CUSTOMHOUSE_ENV: process.env['CUSTOMHOUSE_ENV'] ?? 'development',
    INSTANCE_NAME: 'local',
    HOST: '127.0.0.1',
    API_PORT: String(ports.api),
    INTERNAL_HOST: '127.0.0.1',
    INTERNAL_PORT: String(ports.internal),
    INTERNAL_URL: `http://127.0.0.1:${ports.internal}`,
    INTERNAL_TOKEN: readSharedSecret(dataDir, 'internal-token'),
    PROXY_PORT: String(ports.proxy),
    PROXY_TRANSPARENT_PORT: String(ports.transparent),
    PROXY_DNS_PORT: String(ports.dns),
    PROXY_ADMIN_PORT: String(ports.proxyAdmin),
    WORKER_ADMIN_PORT: String(ports.workerAdmin),
    SESSION_JWKS_URL: pathToFileURL(jwksFile(dataDir, 'session')).href,
    CAPABILITY_JWKS_URL: pathToFileURL(jwksFile(dataDir, 'capability')).href,
    PROXY_CA_CERT: join(dataDir, 'ca.pem'),
    PROXY_CA_KEY: join(dataDir, 'ca-key.pem'),
    JOURNAL_DIR: join(dataDir, 'journal', 'proxy'),
    POSTGRES_URL: urls.postgres,
    REDIS_URL: urls.redis,
    CLICKHOUSE_URL: urls.clickhouse,
  };
}

/** The settings that whoever runs `up` has set; the sealing key is the stack's own, and the api role's alone. */
function settingsOfEnvironment(): Record<string, string> {
  const names = Object.values(settingTable).map(({ env }) => env).filter((name) => name !== settingTable.secretsKey.env);
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

/** What the api role gets besides. Nobody else holds the key that secrets are sealed with, the proxy least of all. */
export function apiEnvironment(dataDir: string): Record<string, string> {
  return { SECRETS_KEY: readSharedSecret(dataDir, 'secrets-key') };
}
