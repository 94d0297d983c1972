import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type DevUser = { user_id: string; role: 'owner' | 'operator' | 'member'; token: string };
export type DevWorkspace = { id: string; agent_role: string; capability_token: string };
export type DevOrg = { org_id: string; name: string; api_key: string; users: DevUser[]; workspaces: DevWorkspace[] };
export const processNames = ['api', 'proxy', 'worker', 'postgres', 'redis', 'clickhouse'] as const;
export type ProcessName = (typeof processNames)[number];

/**
 * `dev.json` of a stack that `customhouse up` runs: addresses, credentials of the seeded orgs, process ids. Written when everything
 * answers, again when a process was restarted, and readable by its owner only.
 */
export type DevFile = {
  base_url: string;
  proxy_url: string;
  /** `127.0.0.1:port` of the proxy's other doors. */
  dns: string | null;
  transparent_tls: string | null;
  ca_cert: string | null;
  postgres_url: string;
  redis_url: string;
  clickhouse_url: string;
  orgs: DevOrg[];
  pids: Record<ProcessName, number>;
};

export function devFilePath(dataDir: string): string {
  return join(dataDir, 'dev.json');
}

/** The stack's `dev.json`, or undefined when no stack was ever up in the directory. */
export function readDevFile(dataDir: string): DevFile | undefined {
  try {
    return JSON.parse(readFileSync(devFilePath(dataDir), 'utf8')) as DevFile;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whole or not at all: a reader never sees half a file. */
export function writeDevFile(dataDir: string, file: DevFile): void {
  const path = devFilePath(dataDir);
  writeFileSync(`${path}.tmp`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}
