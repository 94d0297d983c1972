import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { DevFile } from '../dev-file.ts';
import { devFilePath, readDevFile, writeDevFile } from '../dev-file.ts';
import { claimDataDir, ownerOf } from './data-dir.ts';
import { choosePorts } from './ports.ts';
import { seedOrgs } from './seed.ts';
import { startStack } from './stack.ts';
import { createSteps } from './steps.ts';
import { isAlive } from './supervisor.ts';

type UpOptions = { dataDir: string; port?: number; demo: boolean; detach?: boolean };

const detachedStartMs = 180_000;
const downMs = 60_000;

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 65_535) throw new Error('--port: expected an integer from 1 to 65535');
  return value;
}

function welcome(file: DevFile, dataDir: string): string {
  const demo = file.orgs[0];
  const key = demo?.api_key ?? '';
  const token = demo?.workspaces[0]?.capability_token ?? '';
  return `
  Customhouse is up. Ctrl-C stops it; the data stays in ${dataDir}.

  API      ${file.base_url}/v1        docs: ${file.base_url}/docs
  proxy    ${file.proxy_url}
  API key  ${key}   (org ${demo?.name ?? ''}; everything else is in ${devFilePath(dataDir)})

  Try:
    curl -H "Authorization: Bearer ${key}" "${file.base_url}/v1/audit?limit=5"
    curl -N "${file.base_url}/v1/audit/stream?api_key=${key}"
    curl -x "http://agent:${token.length > 24 ? '$TOKEN' : token}@${new URL(file.proxy_url).host}" http://example.com/    (TOKEN=$(scripts/customhouse token capability --data-dir ${dataDir} --workspace ${demo?.workspaces[0]?.id ?? ''}))
`;
}

async function runUp(options: UpOptions): Promise<void> {
  const dataDir = claimDataDir(resolve(options.dataDir));
  const steps = createSteps(process.stdout);
  let stopRequested = false;
  const stopSignal = new Promise<void>((resolveStop) => {
    const request = (): void => {
      if (stopRequested) return;
      stopRequested = true;
      resolveStop();
    };
    process.on('SIGINT', request);
    process.on('SIGTERM', request);
  });
  try {
    const before = readDevFile(dataDir.path);
    // Whoever waits for the file must not read the last run's.
    rmSync(devFilePath(dataDir.path), { force: true });
    const ports = await choosePorts(dataDir.path, { apiPort: options.port });
    let file: DevFile | undefined;
    const changed = (): void => {
      if (file !== undefined) writeDevFile(dataDir.path, { ...file, pids: stack.pids() });
    };
    const stack = await startStack({ dataDir, ports, steps, changed });
    try {
      const orgs = await steps.step('seed the orgs demo and other', () => seedOrgs({ dataDir: dataDir.path, postgresUrl: stack.urls.postgres, before }));
      file = {
        base_url: `http://127.0.0.1:${ports.api}`,
        proxy_url: `http://127.0.0.1:${ports.proxy}`,
        dns: null,
        transparent_tls: null,
        ca_cert: null,
        postgres_url: stack.urls.postgres,
        redis_url: stack.urls.redis,
        clickhouse_url: stack.urls.clickhouse,
        orgs,
        pids: stack.pids(),
      };
      writeDevFile(dataDir.path, file);
      process.stdout.write(welcome(file, dataDir.path));
      await stopSignal;
    } finally {
      process.stdout.write('\n');
      await stack.stop();
      steps.note('all stopped');
    }
  } finally {
    dataDir.release();
  }
}

/** Runs `up` in the background and comes back when everything answers. */
async function detach(options: UpOptions): Promise<void> {
  const dataDir = resolve(options.dataDir);
  if (ownerOf(dataDir) !== undefined) throw new Error(`a stack is already up in ${dataDir}`);
  claimDataDir(dataDir).release();
  rmSync(devFilePath(dataDir), { force: true });
  const logFile = join(dataDir, 'logs', 'up.log');
  const log = openSync(logFile, 'a', 0o600);
  const args = [...process.execArgv, process.argv[1] ?? '', 'up', '--data-dir', dataDir, ...(options.port === undefined ? [] : ['--port', String(options.port)]), ...(options.demo ? [] : ['--no-demo'])];
  const child = spawn(process.execPath, args, { stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  const deadline = Date.now() + detachedStartMs;
  while (!existsSync(devFilePath(dataDir))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`up ended while starting; the end of ${logFile}:\n${readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-20).join('\n')}`);
    }
    if (Date.now() > deadline) throw new Error(`up is not ready after ${detachedStartMs / 1000} s; see ${logFile}`);
    await sleep(100);
  }
  child.unref();
  const file = readDevFile(dataDir);
  if (file !== undefined) process.stdout.write(welcome(file, dataDir));
  console.log(`  Running in the background (pid ${child.pid ?? 0}). Stop it with: scripts/customhouse down --data-dir ${dataDir}`);
}

async function down(options: { dataDir: string }): Promise<void> {
  const dataDir = resolve(options.dataDir);
  const owner = ownerOf(dataDir);
  if (owner === undefined) {
    console.log(`no stack is up in ${dataDir}`);
    return;
  }
  process.kill(owner, 'SIGTERM');
  const deadline = Date.now() + downMs;
  while (isAlive(owner)) {
    if (Date.now() > deadline) throw new Error(`the stack (pid ${owner}) did not stop within ${downMs / 1000} s; see ${join(dataDir, 'logs')}`);
    await sleep(50);
  }
  console.log('stopped');
}

/** `customhouse up` and `customhouse down` (design 4). */
export function registerUp(program: Command): void {
  program.command('up')
    .description('start everything on this machine: stores, api, proxy, worker, two seeded orgs')
    .option('--data-dir <dir>', 'where all state goes', '.data')
    .option('--port <port>', 'port of the API (default 8080, or a free one when that is taken)', port)
    .option('--no-demo', 'without the demo agents')
    .option('--detach', 'come back when everything answers and leave it running')
    .action((options: UpOptions) => (options.detach === true ? detach(options) : runUp(options)));
  program.command('down').description('stop the stack of a data directory').option('--data-dir <dir>', 'its data directory', '.data').action(down);
}
