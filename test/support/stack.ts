import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startClickHouse } from '../../src/embedded/clickhouse.ts';
import type { ClickHouseOptions } from '../../src/embedded/clickhouse.ts';
import { ensureCluster } from '../../src/embedded/postgres-cluster.ts';
import { startPostgres } from '../../src/embedded/postgres.ts';
import type { PostgresService } from '../../src/embedded/postgres.ts';
import { startRedis } from '../../src/embedded/redis.ts';
import type { RedisOptions } from '../../src/embedded/redis.ts';
import type { Service } from '../../src/embedded/service.ts';

const execute = promisify(execFile);

/** A service of the stack that a test may kill and bring back; port, URL and data stay the same. */
export interface Handle<T extends Service = Service> {
  /** The running instance. */
  readonly current: T;
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** SIGKILL; resolved when it is gone. */
  kill(): Promise<void>;
  /** Orderly stop. */
  stop(): Promise<void>;
  /** Stops it when it still runs, then starts it again on the same port and data. */
  restart(): Promise<void>;
}

export interface StackOptions {
  readonly postgres?: true;
  readonly redis?: true | Pick<RedisOptions, 'maxMemoryBytes'>;
  readonly clickhouse?: true | Pick<ClickHouseOptions, 'sessions' | 'maxMemoryBytes' | 'maxBodyBytes' | 'password' | 'shutdownMs'>;
}

export interface Stack {
  /** A fresh directory for this stack, removed by `stop`. The test may put files of its own into it. */
  readonly dir: string;
  /** Reading the URL or handle of a service that was not asked for throws. */
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly clickhouseUrl: string;
  readonly postgres: Handle<PostgresService>;
  readonly redis: Handle;
  readonly clickhouse: Handle;
  stop(): Promise<void>;
}

/** What is used of tap's `t`. */
export interface Teardown {
  teardown(fn: () => Promise<void>): unknown;
}

/**
 * Starts the asked services on free ports of 127.0.0.1 with their data in a fresh temporary directory. With `t` everything is
 * stopped and removed when the test ends; without it call `stop`.
 */
export async function startStack(t: Teardown | undefined, options: StackOptions): Promise<Stack> {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-test-'));
  // Postgres runs as an ordinary user when we are root, and must pass through.
  await chmod(dir, 0o711);
  const handles: Handle[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(handles.map((handle) => handle.stop()));
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  };
  t?.teardown(stop);
  const started = async <T extends Service>(wanted: unknown, start: (port: number) => Promise<T>): Promise<Handle<T> | undefined> => {
    if (wanted === undefined) return undefined;
    const handle = await createHandle(start);
    handles.push(handle);
    return handle;
  };
  const results = await Promise.allSettled([
    started(options.postgres, async (port) => {
      if (port === 0) await copyClusterTemplate(join(dir, 'postgres'));
      return startPostgres({ dataDir: join(dir, 'postgres'), port, logFile: join(dir, 'postgres.log') });
    }),
    started(options.redis, (port) => startRedis({ ...(options.redis === true ? {} : options.redis), dataDir: join(dir, 'redis'), port, logFile: join(dir, 'redis.log') })),
    started(options.clickhouse, (port) => startClickHouse({
      maxMemoryBytes: 2_147_483_648, ...(options.clickhouse === true ? {} : options.clickhouse), dataDir: join(dir, 'clickhouse'), port, logFile: join(dir, 'clickhouse.log'),
    })),
  ] as const);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const [postgres, redis, clickhouse] = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as [Handle<PostgresService> | undefined, Handle | undefined, Handle | undefined];
  return {
    dir,
    get postgres() { return asked(postgres, 'postgres'); },
    get redis() { return asked(redis, 'redis'); },
    get clickhouse() { return asked(clickhouse, 'clickhouse'); },
    get postgresUrl() { return asked(postgres, 'postgres').url; },
    get redisUrl() { return asked(redis, 'redis').url; },
    get clickhouseUrl() { return asked(clickhouse, 'clickhouse').url; },
    stop,
  };
}

function asked<T>(handle: T | undefined, name: string): T {
  if (handle === undefined) throw new Error(`this stack was started without ${name}`);
  return handle;
}

async function createHandle<T extends Service>(start: (port: number) => Promise<T>): Promise<Handle<T>> {
  let current = await start(0);
  return {
    get current() { return current; },
    get url() { return current.url; },
    get port() { return current.port; },
    get pid() { return current.pid; },
    kill: () => current.kill(),
    stop: () => current.stop(),
    async restart() {
      await current.stop();
      current = await start(current.port);
    },
  };
}

/**
 * `initdb` takes a good part of a second of processor time and dozens of test files need a cluster, so it is run once for each
 * user and version of the template; a copy takes a twentieth of that.
 */
async function copyClusterTemplate(target: string): Promise<void> {
  const template = join(tmpdir(), `customhouse-pg-template-18.4-1-${process.getuid?.() ?? 0}`);
  if (!await isOurs(template)) {
    const fresh = await mkdtemp(`${template}-new-`);
    await chmod(fresh, 0o711);
    await ensureCluster(fresh);
    try {
      await rename(fresh, template);
    } catch (error) {
      // Another test process was faster: a directory that is not empty cannot be replaced.
      await rm(fresh, { recursive: true });
      if (!await isOurs(template)) throw error;
    }
  }
  await execute('cp', ['-a', '--reflink=auto', template, target]);
}

async function isOurs(folder: string): Promise<boolean> {
  try {
    const { uid } = await stat(folder);
    if (uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user (uid ${uid}); remove it`);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
