import { join } from 'node:path';
import { startClickHouse } from '../../embedded/clickhouse.ts';
import { startPostgres } from '../../embedded/postgres.ts';
import { startRedis } from '../../embedded/redis.ts';
import { readSettings } from '../../config/settings.ts';
import type { ProcessName } from '../dev-file.ts';
import { processNames } from '../dev-file.ts';
import { migrate } from '../migrate.ts';
import type { DataDir } from './data-dir.ts';
import { roleEnvironment } from './environment.ts';
import type { StoreUrls } from './environment.ts';
import { ensureKey } from './keys.ts';
import type { Ports } from './ports.ts';
import { startRole } from './role.ts';
import type { Steps } from './steps.ts';
import type { Running } from './supervisor.ts';
import { Supervisor } from './supervisor.ts';

export type Stack = {
  readonly urls: StoreUrls;
  readonly env: Readonly<Record<string, string>>;
  pids: () => Record<ProcessName, number>;
  stop: () => Promise<void>;
};

type RoleName = 'api' | 'proxy' | 'worker';

/**
 * Starts stores, migrates them, then starts the roles, each part supervised from its first moment. When a step fails everything
 * started so far is stopped again before the error goes on.
 */
export async function startStack(options: { dataDir: DataDir; ports: Ports; steps: Steps; changed: () => void }): Promise<Stack> {
  const { dataDir, ports, steps } = options;
  const supervisor = new Supervisor({ report: (text) => steps.note(text), changed: options.changed });
  const logFile = (name: string): string => join(dataDir.logDir, `${name}.log`);
  const urls: Record<'postgres' | 'redis' | 'clickhouse', string> = { postgres: '', redis: '', clickhouse: '' };

  const store = (name: 'postgres' | 'redis' | 'clickhouse', start: () => Promise<Running & { url: string }>): Promise<void> =>
    steps.step(`start ${name} on port ${ports[name]}`, () =>
      supervisor.start({
        name,
        start: async () => {
          const running = await start();
          urls[name] = running.url;
          return running;
        },
      }));

  try {
    await store('postgres', () => startPostgres({ dataDir: join(dataDir.path, 'postgres'), port: ports.postgres, logFile: logFile('postgres') }));
    await store('redis', () => startRedis({ dataDir: join(dataDir.path, 'redis'), port: ports.redis, logFile: logFile('redis') }));
    await store('clickhouse', () => startClickHouse({ dataDir: join(dataDir.path, 'clickhouse'), port: ports.clickhouse, logFile: logFile('clickhouse') }));
    await steps.step('make signing keys', () => Promise.all([ensureKey(dataDir.path, 'session'), ensureKey(dataDir.path, 'capability')]));
    const env = roleEnvironment(dataDir.path, ports, urls);
    await steps.step('migrate both stores', () => migrate(readSettings({ ...process.env, ...env }), { dryRun: false }));
    const readyPorts: Record<RoleName, number> = { worker: ports.workerAdmin, proxy: ports.proxyAdmin, api: ports.api };
    for (const name of ['worker', 'proxy', 'api'] as const) {
      const readyUrl = `http://127.0.0.1:${readyPorts[name]}/healthz`;
      await steps.step(`start ${name} on port ${ports[name === 'worker' ? 'workerAdmin' : name]}`, () =>
        supervisor.start({ name, start: () => startRole({ name, env, logDir: dataDir.logDir, readyUrl }) }));
    }
    return {
      urls,
      env,
      pids: () => Object.fromEntries(processNames.map((name) => [name, supervisor.pidOf(name)])) as Record<ProcessName, number>,
      stop: () => supervisor.stop(),
    };
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}
