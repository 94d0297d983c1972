import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DevFile } from '../../src/cli/dev-file.ts';
import { writeDevFile } from '../../src/cli/dev-file.ts';
import type { ImportIo, ImportOptions } from '../../src/cli/import/run.ts';
import { runImport } from '../../src/cli/import/run.ts';
import { migrate } from '../../src/cli/migrate.ts';
import { readSettings } from '../../src/config/settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { formatTimestamp } from '../../src/kernel/clock.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/kernel/log.ts';
import type { ClickHouse } from '../../src/store/ch/connection.ts';
import { connectClickHouse } from '../../src/store/ch/connection.ts';
import type { Sql } from '../../src/store/pg/connect.ts';
import { connectPostgres } from '../../src/store/pg/connect.ts';
import { createOrgStore } from '../../src/store/pg/orgs.ts';
import { startWorker } from '../../workers/worker.ts';
import { sampleEvent } from '../support/sample-events.ts';
import type { Stack, Teardown } from '../support/stack.ts';
import { startStack } from '../support/stack.ts';

export type PipelineRig = {
  readonly stack: Stack;
  readonly settings: Settings;
  readonly sql: Sql;
  readonly clickhouse: ClickHouse;
  /** Holds a dev.json that names the stores, as commands expect it. */
  readonly dataDir: string;
  readonly orgIds: readonly [string, string];
  startWorker(): Promise<{ stop(): Promise<void> }>;
  /** Every stored row's id, doubled ones twice. */
  storedIds(orgId?: string): Promise<string[]>;
  write(name: string, lines: readonly string[]): Promise<string>;
};

/** The three stores, migrated, with two orgs; the worker is started by the test. */
export async function startPipeline(t: Teardown, env: Record<string, string> = {}): Promise<PipelineRig> {
  const stack = await startStack(t, { postgres: true, redis: true, clickhouse: true });
  const settings = readSettings({
    CUSTOMHOUSE_ENV: 'test', LOG_LEVEL: 'silent', POSTGRES_URL: stack.postgresUrl, REDIS_URL: stack.redisUrl, CLICKHOUSE_URL: stack.clickhouseUrl,
    API_PORT: '0', PROXY_PORT: '0', PROXY_ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', WRITER_RETRY_MS_MAX: '200', OUTBOX_POLL_MS: '20', ...env,
  });
  await migrate(settings, { dryRun: false });
  const sql = connectPostgres({ url: stack.postgresUrl, poolMax: 4, applicationName: 'test' });
  t.teardown(() => sql.end({ timeout: 1 }));
  const clickhouse = connectClickHouse({ url: stack.clickhouseUrl, user: 'default', password: '', database: settings.clickhouseDatabase });
  t.teardown(() => clickhouse.close());
  const orgs = createOrgStore(sql);
  const [one, two] = [await orgs.create({ name: 'one' }), await orgs.create({ name: 'two', retentionDays: 30 })];
  const dataDir = join(stack.dir, 'data');
  await mkdir(dataDir);
  const dev: DevFile = {
    base_url: 'http://127.0.0.1:1', proxy_url: 'http://127.0.0.1:1', dns: null, transparent_tls: null, ca_cert: null,
    postgres_url: stack.postgresUrl, redis_url: stack.redisUrl, clickhouse_url: stack.clickhouseUrl, orgs: [],
    pids: { api: 0, proxy: 0, worker: 0, postgres: stack.postgres.pid, redis: stack.redis.pid, clickhouse: stack.clickhouse.pid },
  };
  writeDevFile(dataDir, dev);
  return {
    stack, settings, sql, clickhouse, dataDir,
    orgIds: [one.id, two.id],
    async startWorker() {
      const worker = await startWorker(settings, createLog('worker', 'silent'));
      let stopped: Promise<void> | undefined;
      const stop = (): Promise<void> => (stopped ??= worker.stop());
      t.teardown(stop);
      return { stop };
    },
    async storedIds(orgId) {
      const result = await clickhouse.client.query({ query: `SELECT id FROM ${clickhouse.events} ${orgId === undefined ? '' : 'WHERE org_id = {org:String}'}`, query_params: { org: orgId ?? '' }, format: 'JSONEachRow' });
      return (await result.json<{ id: string }>()).map((row) => row.id).sort();
    },
    async write(name, lines) {
      const path = join(stack.dir, name);
      await writeFile(path, lines.map((line) => `${line}\n`).join(''));
      return path;
    },
  };
}

const startMicros = Date.UTC(2026, 10, 1) * 1000;

/** Rows of one org, a millisecond apart, with ids of their own times. */
export function rows(orgId: string, count: number, from = 0): AuditEvent[] {
  return Array.from({ length: count }, (_, n) => {
    const micros = startMicros + (from + n) * 1000;
    return sampleEvent('policy_decision', { id: uuidv7(), org_id: orgId, timestamp: formatTimestamp(micros), source_seq: from + n });
  });
}

export type ImportRun = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs an import in this process. */
export async function importFile(rig: Pick<PipelineRig, 'dataDir'>, path: string, options: Partial<ImportOptions> = {}, stdin: AsyncIterable<Buffer> = emptyStdin(), signal = new AbortController().signal): Promise<ImportRun> {
  let stdout = '';
  let stderr = '';
  const io: ImportIo = { stdin, stdout: { write: (text) => { stdout += text; } }, stderr: { write: (text) => { stderr += text; } } };
  const code = await runImport(path, { dataDir: rig.dataDir, wait: true, ...options }, io, signal);
  return { code, stdout, stderr };
}

async function* emptyStdin(): AsyncGenerator<Buffer> {
  // Nothing: the test gives a file.
}
