import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import type { DevFile } from '../dev-file.ts';
import { devFilePath, writeDevFile } from '../dev-file.ts';
import { endWithoutReader } from '../lost-reader.ts';
import { down, upInBackground } from './background.ts';
import type { DataDir } from './data-dir.ts';
import { claimDataDir } from './data-dir.ts';
import { endLeftovers, leftovers } from './leftovers.ts';
import { choosePorts } from './ports.ts';
import { seedOrgs } from './seed.ts';
import type { Stack } from './stack.ts';
import { startStack } from './stack.ts';
import type { Steps } from './steps.ts';
import { createSteps } from './steps.ts';
import { welcome } from './welcome.ts';

type UpOptions = { dataDir: string; port?: number; demo: boolean; detach?: boolean; background?: boolean };

function port(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > 65_535) throw new Error('--port: expected an integer from 1 to 65535');
  return value;
}

/** SIGTERM, SIGINT, or a terminal that went away: all of them stop the stack in order, and only the first counts. */
function watchStopSignals(): { stopRequested: () => boolean; stopSignal: Promise<void> } {
  let requested = false;
  const stopSignal = new Promise<void>((resolveStop) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(signal, () => {
        requested = true;
        resolveStop();
      });
    }
  });
  // What is said to a terminal or pipe that has gone is said to nobody; it must not end `up` before its parts.
  process.stdout.off('error', endWithoutReader);
  for (const out of [process.stdout, process.stderr]) out.on('error', () => undefined);
  return { stopRequested: () => requested, stopSignal };
}

/** From stores to `dev.json`, which is written when everything answers and again when a part that died is back. */
async function bringUp(dataDir: DataDir, steps: Steps, options: UpOptions): Promise<Stack> {
  const left = leftovers(dataDir.path);
  if (left.length > 0) await steps.step(`wait for ${left.length} processes of the last run`, () => endLeftovers(dataDir.path));
  const held = await choosePorts(dataDir.path, { apiPort: options.port });
  try {
    let file: DevFile | undefined;
    const stack = await startStack({ dataDir, held, steps, changed: () => {
      if (file !== undefined) writeDevFile(dataDir.path, { ...file, pids: stack.pids() });
    } });
    try {
      const orgs = await steps.step('seed the orgs demo and other', () => seedOrgs({ dataDir: dataDir.path, postgresUrl: stack.urls.postgres, redisUrl: stack.urls.redis, demo: options.demo }));
      const complete: DevFile = {
        base_url: `http://127.0.0.1:${held.ports.api}`,
        proxy_url: `http://127.0.0.1:${held.ports.proxy}`,
        dns: `127.0.0.1:${held.ports.dns}`,
        transparent_tls: `127.0.0.1:${held.ports.transparent}`,
        ca_cert: join(dataDir.path, 'ca.pem'),
        postgres_url: stack.urls.postgres,
        redis_url: stack.urls.redis,
        clickhouse_url: stack.urls.clickhouse,
        orgs,
        pids: stack.pids(),
      };
      // In the background the output is a log file, which is no place for keys: whoever waits for dev.json says the welcome.
      if (options.background !== true) process.stdout.write(welcome(complete, dataDir.path, 'here'));
      file = complete;
      writeDevFile(dataDir.path, { ...complete, pids: stack.pids() });
      return stack;
    } catch (error) {
      await stack.stop();
      throw error;
    }
  } finally {
    await held.releaseAll();
  }
}

async function runUp(options: UpOptions): Promise<void> {
  const dataDir = claimDataDir(resolve(options.dataDir));
  // Whoever waits for the file must not read that of a run which was killed.
  const forgetDevFile = (): void => rmSync(devFilePath(dataDir.path), { force: true });
  const { stopRequested, stopSignal } = watchStopSignals();
  const steps = createSteps(process.stdout, stopRequested);
  try {
    forgetDevFile();
    const stack = await bringUp(dataDir, steps, options);
    await stopSignal;
    process.stdout.write('\n');
    forgetDevFile();
    await stack.stop();
    steps.note('all stopped');
  } finally {
    dataDir.release();
  }
}

function detach(options: UpOptions): Promise<void> {
  const dataDir = resolve(options.dataDir);
  return upInBackground(dataDir, ['--background', '--data-dir', dataDir, ...(options.port === undefined ? [] : ['--port', String(options.port)]), ...(options.demo ? [] : ['--no-demo'])]);
}

/** `customhouse up` and `customhouse down` (design 4). */
export function registerUp(program: Command): void {
  program.command('up')
    .description('start everything on this machine: stores, api, proxy, worker, two seeded orgs')
    .option('--data-dir <dir>', 'where all state goes', '.data')
    .option('--port <port>', 'port of the API (default 8080, or a free one when that is taken)', port)
    .option('--no-demo', 'without a policy for the demo agents')
    .option('--detach', 'come back when everything answers and leave it running')
    .addOption(new Option('--background').hideHelp())
    .action((options: UpOptions) => (options.detach === true ? detach(options) : runUp(options)));
  program.command('down').description('stop the stack of a data directory').option('--data-dir <dir>', 'its data directory', '.data').action(down);
}
