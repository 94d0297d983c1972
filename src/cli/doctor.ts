import { accessSync, constants, mkdirSync, statfsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Settings } from '../config/settings.ts';
import { createKeySet } from '../identity/key-set.ts';
import { readRedisFacts } from '../queue/redis-facts.ts';
import { connectClickHouse } from '../store/ch/connection.ts';
import { clickHouseFacts } from '../store/ch/facts.ts';
import { connectPostgres } from '../store/pg/connect.ts';
import { rowSecurityBinds } from '../store/pg/scope.ts';
import { readDevFile } from './dev-file.ts';
import { migrate } from './migrate.ts';
import { stackSettings } from './org.ts';

/** One finding: `fix` says what to do when `ok` is not true. A `warn` does not fail the command. */
type Finding = { check: string; state: 'ok' | 'warn' | 'fail'; text: string; fix?: string };

const probeMs = 5_000;
const freeBytesMin = 1_073_741_824;

function failed(check: string, error: unknown, fix: string): Finding {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return { check, state: 'fail', text: `${error instanceof Error ? error.message : String(error)}${code}`, fix };
}

async function postgresFindings(settings: Settings): Promise<Finding[]> {
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 1, applicationName: 'customhouse-doctor', connectTimeoutMs: probeMs });
  try {
    const [row] = await sql<{ version: string; skew: number }[]>`select current_setting('server_version') as version, extract(epoch from clock_timestamp())::float8 * 1000 - ${Date.now()} as skew`;
    const skewMs = Math.round(Math.abs(row?.skew ?? 0));
    const binds = await rowSecurityBinds(sql);
    return [
      { check: 'postgres', state: 'ok', text: `version ${row?.version ?? '?'}` },
      skewMs < 1_000 ? { check: 'clock', state: 'ok', text: `${skewMs} ms from Postgres` } : { check: 'clock', state: 'warn', text: `${skewMs} ms from Postgres`, fix: 'run a time service (chrony, systemd-timesyncd) on every machine: rows are ordered by their time' },
      binds ? { check: 'row security', state: 'ok', text: 'binds this role' } : { check: 'row security', state: 'warn', text: 'does not bind this role', fix: 'connect as a role that is neither superuser nor BYPASSRLS, so that Postgres guards tenants a second time' },
    ];
  } catch (error) {
    return [failed('postgres', error, 'start Postgres, or correct POSTGRES_URL')];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function redisFindings(settings: Settings): Promise<Finding[]> {
  try {
    const facts = await readRedisFacts(settings.redisUrl, probeMs);
    const findings: Finding[] = [{ check: 'redis', state: 'ok', text: `version ${facts.version}, ${Math.round(facts.usedMemoryBytes / 1_048_576)} MiB used` }];
    if (facts.evictionPolicy !== 'noeviction') findings.push({ check: 'redis eviction', state: 'fail', text: `maxmemory-policy is ${facts.evictionPolicy}`, fix: 'set maxmemory-policy noeviction: an evicting Redis drops queued batches, which then wait to be sent again' });
    if (!facts.appendOnly) findings.push({ check: 'redis persistence', state: 'warn', text: 'append-only file is off', fix: 'set appendonly yes: nothing is lost without it, but a restart sends every batch in flight again' });
    return findings;
  } catch (error) {
    return [failed('redis', error, 'start Redis, or correct REDIS_URL')];
  }
}

async function clickHouseFindings(settings: Settings): Promise<Finding[]> {
  const client = connectClickHouse({ url: settings.clickhouseUrl, user: settings.clickhouseUser, password: settings.clickhousePassword, database: settings.clickhouseDatabase, cluster: settings.clickhouseCluster });
  try {
    const facts = await clickHouseFacts(client);
    return [{ check: 'clickhouse', state: 'ok', text: `version ${facts.version}, timezone ${facts.timezone}` }];
  } catch (error) {
    return [failed('clickhouse', error, 'start ClickHouse, or correct CLICKHOUSE_URL, CLICKHOUSE_USER and CLICKHOUSE_PASSWORD')];
  } finally {
    await client.close();
  }
}

async function migrationFindings(settings: Settings): Promise<Finding[]> {
  try {
    const pending = (await migrate(settings, { dryRun: true })).filter((line) => line.state === 'pending');
    if (pending.length === 0) return [{ check: 'migrations', state: 'ok', text: 'all applied' }];
    return [{ check: 'migrations', state: 'fail', text: `pending: ${pending.map((line) => `${line.store} ${line.name}`).join(', ')}`, fix: 'run customhouse migrate' }];
  } catch (error) {
    return [failed('migrations', error, 'bring the stores up first; a changed file must be put back')];
  }
}

async function keyFindings(settings: Settings, dataDir: string): Promise<Finding[]> {
  const dev = readDevFile(dataDir) !== undefined;
  const rows = [['session keys', dev ? `file://${join(dataDir, 'keys/session.jwks.json')}` : settings.sessionJwksUrl, 'SESSION_JWKS_URL'], ['capability keys', dev ? `file://${join(dataDir, 'keys/capability.jwks.json')}` : settings.capabilityJwksUrl, 'CAPABILITY_JWKS_URL']] as const;
  return Promise.all(rows.map(async ([check, url, env]): Promise<Finding> => {
    try {
      // No key has this id: reaching "no such key" proves that the set was read and has the right shape.
      await createKeySet({ url, timeoutMs: probeMs })({ alg: 'EdDSA', kid: 'customhouse-doctor' }, { payload: '', signature: '', protected: '' });
      return { check, state: 'ok', text: 'readable' };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      return code === 'ERR_JWKS_NO_MATCHING_KEY' ? { check, state: 'ok', text: 'readable' } : failed(check, error, `make the JWK Set at ${env} reachable`);
    }
  }));
}

function journalFinding(settings: Settings, dataDir: string): Finding {
  const dir = readDevFile(dataDir) === undefined ? settings.journalDir : join(dataDir, 'journal');
  try {
    mkdirSync(dir, { recursive: true });
    accessSync(dir, constants.W_OK);
    const { bavail, bsize } = statfsSync(dir);
    const freeBytes = bavail * bsize;
    const text = `${dir}, ${(freeBytes / 1_073_741_824).toFixed(1)} GiB free`;
    return freeBytes > freeBytesMin ? { check: 'journal', state: 'ok', text } : { check: 'journal', state: 'warn', text, fix: 'free disk space: a proxy that cannot journal refuses calls' };
  } catch (error) {
    return failed('journal', error, 'make JOURNAL_DIR a directory that this user may write to');
  }
}

/** `customhouse doctor`: checks every dependency and says what to do about what is missing; exit code 1 when something must be done. */
export function registerDoctor(program: Command): void {
  program.command('doctor')
    .description('check every dependency and say what to do about what is missing')
    .option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment', '.data')
    .option('--json', 'findings as JSON lines')
    .action(async (options: { dataDir: string; json?: boolean }) => {
      const dataDir = resolve(options.dataDir);
      const settings = stackSettings(dataDir);
      const node: Finding = { check: 'node', state: Number(process.versions.node.split('.')[0]) >= 24 ? 'ok' : 'fail', text: process.version, fix: 'run through scripts/customhouse, which uses the Node pinned in package.json' };
      const groups = await Promise.all([postgresFindings(settings), redisFindings(settings), clickHouseFindings(settings), migrationFindings(settings), keyFindings(settings, dataDir)]);
      const findings = [node, ...groups.flat(), journalFinding(settings, dataDir)];
      for (const finding of findings) {
        if (options.json === true) console.log(JSON.stringify(finding));
        else console.log(`${finding.state.padEnd(6)}${finding.check.padEnd(20)}${finding.text}${finding.state !== 'ok' && finding.fix !== undefined ? `\n      → ${finding.fix}` : ''}`);
      }
      process.exitCode = findings.some((finding) => finding.state === 'fail') ? 1 : 0;
    });
}
