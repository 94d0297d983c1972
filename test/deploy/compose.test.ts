import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { composeRequired, composeVariables } from '../../scripts/settings-docs.ts';
import type { Setting } from '../../src/config/setting.ts';
import { readSettings, settingTable } from '../../src/config/settings.ts';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');

type Service = {
  image: string; build?: string; command?: string[]; environment: Record<string, string | null>; volumes?: string[]; networks: string[]; ports?: string[]; restart: string;
  healthcheck: { test?: string[]; disable?: boolean; retries?: number }; depends_on?: Record<string, { condition: string }>; mem_limit: string; cpus: number; pids_limit: number;
  read_only?: boolean; cap_drop?: string[]; stop_grace_period: string; logging?: object; user?: string;
};
type Compose = { services: Record<string, Service>; volumes: Record<string, unknown>; networks: Record<string, { internal?: boolean } | null> };

const compose = parse(text, { merge: true }) as Compose;
const stores = ['clickhouse', 'postgres', 'redis'];
const roles = ['api', 'proxy', 'worker', 'migrate'];
const settings: readonly Setting<unknown>[] = Object.values(settingTable);
const settingNames = new Set(settings.map((row) => row.env));
const secretNames = new Set(settings.filter((row) => row.secret).map((row) => row.env));

function service(name: string): Service {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}

/** What compose would put for ${NAME}, ${NAME:-default} and ${NAME:?message}. */
function interpolated(value: string, env: Record<string, string>): string {
  return value.replaceAll(/\$\$|\$\{([A-Z_]+)(?::([-?])([^}]*))?\}/g, (whole: string, name: string | undefined, kind: string | undefined, rest: string | undefined) => {
    if (name === undefined) return '$';
    const set = env[name];
    if (set !== undefined && set !== '') return set;
    if (kind === '-') return rest ?? '';
    throw new Error(`${whole}: ${kind === '?' ? rest ?? '' : 'unset'}`);
  });
}

const filledIn = {
  POSTGRES_ADMIN_PASSWORD: 'adminpw', POSTGRES_PASSWORD: 'pgpw', REDIS_PASSWORD: 'redispw', CLICKHOUSE_PASSWORD: 'chpw', SESSION_JWKS_URL: 'https://id.example/jwks', CAPABILITY_JWKS_URL: 'https://keys.example/jwks',
  INTERNAL_TOKEN: 'internal-token-of-at-least-32-characters', SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
};

t.test('the services', async (t) => {
  t.same(Object.keys(compose.services).sort(), [...stores, ...roles].sort());
  for (const role of roles) t.same(service(role).command, ['node', 'src/cli/main.ts', role], role);
});

t.test('every long-running service has a health check, bounds and a restart policy', async (t) => {
  for (const [name, definition] of Object.entries(compose.services)) {
    t.match(definition.mem_limit, /^\d+[mg]$/, `${name}: memory`);
    t.ok(definition.cpus > 0 && definition.pids_limit > 0, `${name}: processors and processes`);
    t.ok(definition.logging, `${name}: its log is rotated`);
    if (name === 'migrate') {
      t.equal(definition.restart, 'no');
      continue;
    }
    t.ok((definition.healthcheck.test?.length ?? 0) > 1 && (definition.healthcheck.retries ?? 0) > 0, `${name}: health check`);
    t.equal(definition.restart, 'unless-stopped', `${name}: restart`);
    t.ok(Number.parseInt(definition.stop_grace_period, 10) * 1000 > readSettings({}).shutdownMs, `${name}: has longer to stop than SHUTDOWN_MS`);
  }
});

t.test('what is started after what', async (t) => {
  const migrated = { migrate: { condition: 'service_completed_successfully' }, redis: { condition: 'service_healthy' } };
  t.same(service('migrate').depends_on, { postgres: { condition: 'service_healthy' }, clickhouse: { condition: 'service_healthy' } });
  t.same(service('api').depends_on, migrated);
  t.same(service('worker').depends_on, migrated);
  t.same(service('proxy').depends_on, { redis: { condition: 'service_healthy' } });
});

t.test('health checks of the roles ask their own port', async (t) => {
  for (const [name, port, path] of [['api', 'API_PORT', 'readyz'], ['proxy', 'PROXY_ADMIN_PORT', 'healthz'], ['worker', 'WORKER_ADMIN_PORT', 'readyz']] as const) {
    t.match(service(name).healthcheck.test?.join(' '), `http://127.0.0.1:${service(name).environment[port]}/${path}'`, name);
  }
});

t.test('images are pinned', async (t) => {
  for (const name of stores) t.match(service(name).image, /^[a-z/-]+:\d+(\.\d+)+$/, `${name}: ${service(name).image}`);
  t.match(service('clickhouse').image, ':26.7');
  t.match(service('postgres').image, ':18.');
  t.match(service('redis').image, ':7.');
  for (const role of roles) t.equal(service(role).build, '.', `${role} is built here`);
});

t.test('state is on named volumes', async (t) => {
  const mounted = Object.values(compose.services).flatMap((definition) => (definition.volumes ?? []).map((volume) => volume.split(':')[0] ?? ''));
  t.same(Object.keys(compose.volumes).sort(), ['clickhouse', 'journal', 'postgres', 'redis']);
  for (const volume of Object.keys(compose.volumes)) t.equal(mounted.filter((source) => source === volume).length, 1, `${volume} belongs to one service`);
  for (const source of mounted.filter((name) => name.startsWith('.'))) t.ok(existsSync(join(root, source)), `${source} is in the repository`);
  const journal = service('proxy').volumes?.[0]?.split(':')[1] ?? '';
  t.ok(service('proxy').environment['JOURNAL_DIR']?.startsWith(`${journal}/`), 'the journal is on its volume');
});

t.test('databases publish no port and have no way out', async (t) => {
  t.equal(compose.networks['stores']?.internal, true);
  for (const name of stores) {
    t.equal(service(name).ports, undefined, name);
    t.same(service(name).networks, ['stores'], name);
  }
  t.same(Object.keys(compose.services).filter((name) => service(name).ports !== undefined).sort(), ['api', 'proxy']);
  t.same(service('api').ports, ['${PUBLISH_ADDRESS:-127.0.0.1}:${API_PORT:-8080}:8080']);
  t.same(service('proxy').ports, ['${PUBLISH_ADDRESS:-127.0.0.1}:${PROXY_PORT:-8081}:8081']);
});

t.test('every variable is a setting, or one of those listed for docker-compose.yml', async (t) => {
  for (const role of roles) {
    for (const name of Object.keys(service(role).environment)) t.ok(settingNames.has(name), `${role}: ${name}`);
  }
  const interpolations = [...text.matchAll(/\$\{([A-Z_]+)/g)].map((match) => match[1] ?? '');
  t.ok(interpolations.length > 8);
  for (const name of interpolations) t.ok(settingNames.has(name) || Object.hasOwn(composeVariables, name), `\${${name}}`);
  t.same(Object.keys(composeVariables).filter((name) => !interpolations.includes(name)), [], 'none is listed in vain');
});

t.test('every setting can be set in .env, or is fixed by the file', async (t) => {
  const reachable = new Set(roles.flatMap((role) => Object.keys(service(role).environment)));
  // One server is no cluster; the other two are for a person's shell, not for a role.
  const elsewhere = ['CLICKHOUSE_CLUSTER', 'CUSTOMHOUSE_URL', 'CUSTOMHOUSE_TOKEN'];
  t.same(settings.map((row) => row.env).filter((name) => !reachable.has(name) && !elsewhere.includes(name)), [], 'add a new setting to x-settings');
});

t.test('no secret is written in the file', async (t) => {
  for (const [name, definition] of Object.entries(compose.services)) {
    for (const [variable, value] of Object.entries(definition.environment)) {
      const written = (value ?? '').replaceAll(/\$\{[^}]*\}/g, '');
      // The place of a file on the volume, not a key.
      if (variable === 'PROXY_CA_KEY') t.match(written, /^\/var\/lib\/customhouse\//);
      else if (/PASSWORD|SECRET|TOKEN|_KEY$/.test(variable)) t.equal(written, '', `${name}: ${variable}`);
      if (URL.canParse(written)) t.equal(new URL(written).password, '', `${name}: ${variable} has no password of its own`);
    }
  }
  t.same([...new Set([...text.matchAll(/\$\{([A-Z_]+):\?set \1 in \.env/g)].map((match) => match[1]))].sort(), [...composeRequired].sort(), 'what is required says so');
});

t.test('each role has the secrets it needs and no other', async (t) => {
  const held = (role: string): string[] => Object.keys(service(role).environment).filter((name) => secretNames.has(name)).sort();
  const all = ['CLICKHOUSE_PASSWORD', 'CLICKHOUSE_URL', 'POSTGRES_URL', 'REDIS_URL'];
  t.same(held('api'), [...all, 'INTERNAL_TOKEN', 'SECRETS_KEY'].sort());
  t.same(held('worker'), all);
  t.same(held('migrate'), all.filter((name) => name !== 'REDIS_URL'));
  t.same(held('proxy'), ['INTERNAL_TOKEN', 'PROXY_CA_KEY', 'PROXY_SOURCES', 'REDIS_URL'], 'agents talk to the proxy: it knows no database and no sealing key');
});

t.test('a filled-in .env gives settings that parse, an empty one names what is missing', async (t) => {
  for (const role of roles) {
    const environment = Object.entries(service(role).environment).filter((entry): entry is [string, string] => entry[1] !== null);
    const env = Object.fromEntries(environment.map(([name, value]) => [name, interpolated(value, filledIn)]));
    const read = readSettings(env);
    t.equal(read.environment, 'production', role);
    t.equal(read.host, '0.0.0.0', role);
    t.throws(() => environment.map(([, value]) => interpolated(value, {})), { message: /set [A-Z_]+ in \.env/ }, `${role} without .env`);
  }
  const api = readSettings(Object.fromEntries(Object.entries(service('api').environment).flatMap(([name, value]) => (value === null ? [] : [[name, interpolated(value, filledIn)]]))));
  t.equal(api.postgresUrl, 'postgres://customhouse:pgpw@postgres:5432/customhouse');
  t.equal(api.redisUrl, 'redis://:redispw@redis:6379');
  t.equal(api.sessionJwksUrl, 'https://id.example/jwks');
});

t.test('Redis keeps what it is given, and holds more than the queue may put into it', async (t) => {
  const command = service('redis').command?.join(' ') ?? '';
  t.match(command, '--appendonly yes');
  t.match(command, '--maxmemory-policy noeviction');
  const maxMemory = Number(/--maxmemory (\d+)mb/.exec(command)?.[1]) * 1_048_576;
  t.ok(maxMemory >= 1.5 * readSettings({}).queuePayloadBytesMax, 'maxmemory against QUEUE_PAYLOAD_BYTES_MAX');
});

t.test('the roles run without privileges on a file system they cannot write', async (t) => {
  for (const role of roles) t.match(service(role), { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, role);
});
