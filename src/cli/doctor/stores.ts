import type { Settings } from '../../config/settings.ts';
import { readRedisFacts } from '../../queue/redis-facts.ts';
import { connectClickHouse } from '../../store/ch/connection.ts';
import { clickHouseFacts } from '../../store/ch/facts.ts';
import { connectPostgres } from '../../store/pg/connect.ts';
import { rowSecurityBinds } from '../../store/pg/scope.ts';
import { migrate } from '../migrate.ts';
import type { Finding } from './finding.ts';
import { failed, ok } from './finding.ts';

const probeMs = 5_000;
const skewMsMax = 1_000;
/** Below it an import and a busy worker at the same time fill Redis. */
const payloadShareMax = 0.8;

async function postgresFindings(settings: Settings): Promise<Finding[]> {
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 1, applicationName: 'customhouse-doctor', connectTimeoutMs: probeMs });
  try {
    const [row] = await sql<{ version: string; now: number }[]>`select current_setting('server_version') as version, extract(epoch from clock_timestamp())::float8 * 1000 as now`;
    const skewMs = Math.round(Math.abs((row?.now ?? 0) - Date.now()));
    return [
      ok('postgres', `version ${row?.version ?? '?'}`),
      skewMs < skewMsMax
        ? ok('clock', `${skewMs} ms from Postgres`)
        : { check: 'clock', state: 'warn', text: `${skewMs} ms from Postgres`, fix: 'run a time service (chrony, systemd-timesyncd) on every machine: rows are ordered by their time' },
      (await rowSecurityBinds(sql))
        ? ok('row security', 'binds this role')
        : { check: 'row security', state: 'warn', text: 'does not bind this role', fix: 'connect as a role that is neither superuser nor BYPASSRLS, so that Postgres guards tenants a second time' },
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
    const findings: Finding[] = [ok('redis', `version ${facts.version}, ${Math.round(facts.usedMemoryBytes / 1_048_576)} MiB used`)];
    if (facts.evictionPolicy !== 'noeviction') {
      findings.push({ check: 'redis eviction', state: 'fail', text: `maxmemory-policy is ${facts.evictionPolicy}`, fix: 'set maxmemory-policy noeviction: an evicting Redis drops queued batches, which then wait to be sent again' });
    }
    if (facts.maxMemoryBytes > 0 && settings.queuePayloadBytesMax > facts.maxMemoryBytes * payloadShareMax) {
      findings.push({ check: 'redis memory', state: 'warn', text: `maxmemory is ${facts.maxMemoryBytes}, QUEUE_PAYLOAD_BYTES_MAX ${settings.queuePayloadBytesMax}`, fix: 'raise maxmemory or lower QUEUE_PAYLOAD_BYTES_MAX: batches wait at their source when Redis is full' });
    }
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
    return [ok('clickhouse', `version ${facts.version}, timezone ${facts.timezone}`)];
  } catch (error) {
    return [failed('clickhouse', error, 'start ClickHouse, or correct CLICKHOUSE_URL, CLICKHOUSE_USER and CLICKHOUSE_PASSWORD')];
  } finally {
    await client.close();
  }
}

async function migrationFinding(settings: Settings): Promise<Finding> {
  try {
    const pending = (await migrate(settings, { dryRun: true })).filter((line) => line.state === 'pending');
    if (pending.length === 0) return ok('migrations', 'all applied');
    return { check: 'migrations', state: 'fail', text: `pending: ${pending.map((line) => `${line.store} ${line.name}`).join(', ')}`, fix: 'run customhouse migrate' };
  } catch (error) {
    return failed('migrations', error, 'put back a migration file that was changed, or run the version that made these tables');
  }
}

/** Postgres, Redis and ClickHouse, and whether their tables are those of this version; the latter only when both can be asked. */
export async function storeFindings(settings: Settings): Promise<Finding[]> {
  const [postgres, redis, clickhouse] = await Promise.all([postgresFindings(settings), redisFindings(settings), clickHouseFindings(settings)]);
  const down = [...postgres, ...clickhouse].filter(({ state }) => state === 'fail');
  const migrations: Finding = down.length === 0
    ? await migrationFinding(settings)
    : { check: 'migrations', state: 'fail', text: `not known while ${down.map(({ check }) => check).join(' and ')} cannot be asked`, fix: 'run customhouse doctor again when it is up' };
  return [...postgres, ...redis, ...clickhouse, migrations];
}
