import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { readDevFile } from '../src/cli/dev-file.ts';
import type { DevFile, DevOrg } from '../src/cli/dev-file.ts';

const root = join(import.meta.dirname, '..');

function customhouse(args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(root, 'scripts/customhouse'), args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } });
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`customhouse ${args[0] ?? ''} ended with ${code}`))));
  });
}

export type BenchStack = { readonly dataDir: string; readonly dev: DevFile; readonly org: DevOrg; readonly clickhouse: ClickHouseClient };

/** Runs `work` against a fresh stack of separate processes, as `npm run up` starts it, and removes it afterwards. */
export async function withStack(work: (stack: BenchStack) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'customhouse-bench-'));
  // The benchmark is one caller: the default rate limit would measure itself.
  await customhouse(['up', '--detach', '--no-demo', '--data-dir', dataDir], { RATE_LIMIT_PER_MINUTE: '10000000', LOG_LEVEL: 'warn' });
  try {
    const dev = readDevFile(dataDir);
    const org = dev?.orgs[0];
    if (dev === undefined || org === undefined) throw new Error('up wrote no dev.json');
    const clickhouse = createClient({ url: dev.clickhouse_url, database: 'customhouse', request_timeout: 600_000, log: { level: ClickHouseLogLevel.ERROR }, max_open_connections: 4 });
    try {
      await work({ dataDir, dev, org, clickhouse });
    } finally {
      await clickhouse.close();
    }
  } finally {
    await customhouse(['down', '--data-dir', dataDir], {});
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Resident memory of a process in MiB, from the kernel's own accounting. */
export function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kib ?? 0) / 1024);
}
