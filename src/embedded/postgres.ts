import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PortInUseError, withPort } from './free-port.ts';
import { databaseName, ensureCluster, superuserName } from './postgres-cluster.ts';
import type { PostgresCluster } from './postgres-cluster.ts';
import { StartError, startProcess, waitUntilReady } from './service.ts';
import type { Service, ServiceProcess } from './service.ts';

export interface PostgresOptions {
  /** Made when missing; holds `cluster/` (PGDATA) and `password`. */
  readonly dataDir: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly logFile: string;
  readonly startTimeoutMs?: number;
  /** Further server settings, as `name: value` of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PostgresService extends Service {
  /** The superuser, for what the service's own role may not do. */
  readonly adminUrl: string;
}

const defaultSettings = {
  listen_addresses: '127.0.0.1',
  // No socket file: two stacks would fight over it, and the length of its path is limited to 107 bytes.
  unix_socket_directories: '',
  shared_buffers: '128MB',
  max_connections: '100',
  fsync: 'on',
  synchronous_commit: 'on',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
} as const;

/**
 * Starts real Postgres on 127.0.0.1 over the cluster in `dataDir`, which is made on first use. Resolves when it accepts
 * connections. `url` logs in as `customhouse`, owner of the database `customhouse` and no superuser.
 *
 * Throws when a server already runs on the data directory, when the port is taken (PortInUseError), and with the end of the log
 * when the server does not come up.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresService> {
  const cluster = await ensureCluster(resolve(options.dataDir));
  return withPort(options.port, (port) => startOn(cluster, port, options));
}

async function startOn(cluster: PostgresCluster, port: number, options: PostgresOptions): Promise<PostgresService> {
  const timeoutMs = options.startTimeoutMs ?? 60_000;
  const settings = { ...defaultSettings, ...options.settings, port: String(port) };
  await removeStaleLock(cluster.clusterDir);
  const deadline = performance.now() + timeoutMs;
  let server: ServiceProcess;
  for (;;) {
    server = await startProcess({
      name: 'Postgres',
      command: cluster.postgresBinary,
      args: ['-D', cluster.clusterDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      logFile: options.logFile,
      identity: cluster.identity,
      parentDeathSignal: 'INT',
      cwd: '/',
    });
    try {
      await waitUntilReady('Postgres', server, () => saysReady(cluster.clusterDir, server.pid), timeoutMs);
      break;
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      if (/Address already in use|could not create any TCP\/IP sockets/.test(error.log)) throw new PortInUseError(port, error);
      // After kill -9 of the postmaster its children need a moment to notice; they hold the shared memory until then.
      const childrenLeft = /pre-existing shared memory block .* is still in use/.test(error.log);
      if (!childrenLeft || performance.now() > deadline) throw error;
      await sleep(50);
    }
  }
  const urlOf = (user: string, database: string): string => `postgres://${user}:${cluster.password}@127.0.0.1:${port}/${database}`;
  return {
    url: urlOf(databaseName, databaseName),
    adminUrl: urlOf(superuserName, databaseName),
    port,
    pid: server.pid,
    exited: server.exited,
    // SIGINT is Postgres' fast shutdown: connections are closed, a checkpoint is written.
    stop: () => server.stop('SIGINT', 30_000),
    kill: () => server.kill(),
  };
}

/** Postgres writes its state into the eighth line of postmaster.pid; `pg_ctl --wait` looks at the same line. */
async function saysReady(clusterDir: string, pid: number): Promise<boolean> {
  const lines = (await readLock(clusterDir)).split('\n');
  return lines[0]?.trim() === String(pid) && lines[7]?.trim() === 'ready';
}

/**
 * Postgres itself removes the lock file of a process that is dead. What it cannot know is that the id has meanwhile gone to
 * some other program; then it would refuse to start for ever.
 */
async function removeStaleLock(clusterDir: string): Promise<void> {
  const pid = Number.parseInt(await readLock(clusterDir), 10);
  if (!Number.isInteger(pid)) return;
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  // Dead, or a system without /proc: Postgres decides.
  if (commandLine === undefined) return;
  if (commandLine.split('\0').includes(clusterDir)) {
    throw new Error(`Postgres already runs on ${clusterDir} (process ${pid}); stop it first: kill -INT ${pid}`);
  }
  await rm(join(clusterDir, 'postmaster.pid'), { force: true });
}

async function readLock(clusterDir: string): Promise<string> {
  try {
    return await readFile(join(clusterDir, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
