import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { jwksFile } from './keys.ts';
import type { Ports } from './ports.ts';

export type StoreUrls = { readonly postgres: string; readonly redis: string; readonly clickhouse: string };

/**
 * The environment of the roles of a development stack, laid over that of `up` itself: any other setting can be tried by setting its
 * variable before `npm run up`, while addresses, key sets and directories are always the stack's own.
 */
export function roleEnvironment(dataDir: string, ports: Ports, urls: StoreUrls): Record<string, string> {
  return {
    CUSTOMHOUSE_ENV: process.env['CUSTOMHOUSE_ENV'] ?? 'development',
    INSTANCE_NAME: 'local',
    HOST: '127.0.0.1',
    API_PORT: String(ports.api),
    PROXY_PORT: String(ports.proxy),
    PROXY_ADMIN_PORT: String(ports.proxyAdmin),
    WORKER_ADMIN_PORT: String(ports.workerAdmin),
    SESSION_JWKS_URL: pathToFileURL(jwksFile(dataDir, 'session')).href,
    CAPABILITY_JWKS_URL: pathToFileURL(jwksFile(dataDir, 'capability')).href,
    JOURNAL_DIR: join(dataDir, 'journal', 'proxy'),
    POSTGRES_URL: urls.postgres,
    REDIS_URL: urls.redis,
    CLICKHOUSE_URL: urls.clickhouse,
  };
}
