import { join } from 'node:path';
import { startClickHouse } from '../../embedded/clickhouse.ts';
import { startPostgres } from '../../embedded/postgres.ts';
import { startRedis } from '../../embedded/redis.ts';
import { readSettings } from '../../config/settings.ts';
import type { ProcessName } from '../dev-file.ts';
import { processNames } from '../dev-file.ts';
import { migrate } from '../migrate.ts';
import type { DataDir } from './data-dir.ts';
import { apiEnvironment, roleEnvironment } from './environment.ts';
import type { StoreUrls } from './environment.ts';
import { ensureKey, ensureSharedSecret } from './keys.ts';
import { forgetParts, recordParts } from './leftovers.ts';
import type { HeldPorts, PortName } from './ports.ts';
import { startRole, waitUntilAllReady } from './role.ts';
import type { Steps } from './steps.ts';
import type { Running } from './supervisor.ts';
import { Supervisor } from './supervisor.ts';

export type Stack = {
  readonly urls: StoreUrls;
  readonly env: Readonly<Record<string, string>>;
  pids: () => Record<ProcessName, number>;
  stop: () => Promise<void>;
};

/** Which port each role is asked for its health on. */
const adminPort = { worker: 'workerAdmin', proxy: 'proxyAdmin', api: 'api' } as const satisfies Record<string, PortName>;

/** What each role listens on. */
const portsOf = { worker: ['workerAdmin'], proxy: ['proxy', 'transparent', 'dns', 'proxyAdmin'], api: ['api', 'internal'] } as const satisfies Record<string, readonly PortName[]>;

/**
 * Starts stores, migrates them, then starts the roles, each part supervised from its first moment; resolves when every role says that
 * it is ready. When a step fails everything started so far is stopped again before the error goes on. `changed` is called when a part
 * that died is back.
 */
export async function startStack(options: { dataDir: DataDir; held: HeldPorts; steps: Steps; changed: () => void }): Promise<Stack> {
  const { dataDir, held, steps } = options;
  const { ports } = held;
  const pids = (): Record<ProcessName, number> => Object.fromEntries(processNames.map((name) => [name, supervisor.pidOf(name)])) as Record<ProcessName, number>;
  const supervisor = new Supervisor({
    report: (text) => steps.note(text),
    started: () => recordParts(dataDir.path, pids()),
    returned: options.changed,
  });
  const logFile = (name: string): string => join(dataDir.logDir, `${name}.log`);
  const urls: Record<'postgres' | 'redis' | 'clickhouse', string> = { postgres: '', redis: '', clickhouse: '' };

  const store = (name: 'postgres' | 'redis' | 'clickhouse', start: () => Promise<Running & { url: string }>): Promise<void> =>
    steps.step(`start ${name} on port ${ports[name]}`, () =>
      supervisor.start({
        name,
        start: async () => {
          await held.release(name);
          const running = await start();
          urls[name] = running.url;
          return running;
        },
      }));

  const stop = async (): Promise<void> => {
    await supervisor.stop();
    forgetParts(dataDir.path);
  };

  try {
    await store('postgres', () => startPostgres({ dataDir: join(dataDir.path, 'postgres'), port: ports.postgres, logFile: logFile('postgres') }));
    await store('redis', () => startRedis({ dataDir: join(dataDir.path, 'redis'), port: ports.redis, logFile: logFile('redis') }));
    await store('clickhouse', () => startClickHouse({ dataDir: join(dataDir.path, 'clickhouse'), port: ports.clickhouse, logFile: logFile('clickhouse') }));
    await steps.step('make keys', async () => {
      await Promise.all([ensureKey(dataDir.path, 'session'), ensureKey(dataDir.path, 'capability')]);
      ensureSharedSecret(dataDir.path, 'secrets-key');
      ensureSharedSecret(dataDir.path, 'internal-token');
    });
    const env = roleEnvironment(dataDir.path, ports, urls);
    await steps.step('migrate both stores', () => migrate(readSettings({ ...process.env, ...env }), { dryRun: false }));
    const address = (name: keyof typeof adminPort): string => `http://127.0.0.1:${ports[adminPort[name]]}`;
    for (const name of ['worker', 'proxy', 'api'] as const) {
      await steps.step(`start ${name} on port ${ports[name === 'worker' ? 'workerAdmin' : name]}`, async () => {
        await Promise.all(portsOf[name].map(held.release));
        const roleEnv = name === 'api' ? { ...env, ...apiEnvironment(dataDir.path) } : env;
        await supervisor.start({ name, start: () => startRole({ name, env: roleEnv, logDir: dataDir.logDir, healthUrl: `${address(name)}/healthz` }) });
      });
    }
    await steps.step('ask every role whether it is ready', () => waitUntilAllReady((['worker', 'proxy', 'api'] as const).map((name) => `${address(name)}/readyz`)));
    return {
      urls,
      env,
      pids,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
