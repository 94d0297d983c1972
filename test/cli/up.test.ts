import { spawn } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { devFilePath } from '../../src/cli/dev-file.ts';
import type { DevFile } from '../../src/cli/dev-file.ts';
import { isAlive } from '../../src/cli/up/supervisor.ts';
import { readRedisFacts } from '../../src/queue/redis-facts.ts';
import { connectPostgres } from '../../src/store/pg/connect.ts';
import { allPages, ask } from '../api/ask.ts';
import { runCli, startUp } from '../support/up.ts';
import { until } from '../workers/until.ts';

// The time of a loaded machine.
t.setTimeout(120_000);

const stack = await startUp(t);
const first = stack.dev();

function org(file: DevFile, name: string): DevFile['orgs'][number] {
  const found = file.orgs.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no org ${name} in dev.json`);
  return found;
}

/** The answer of the proxy to a call with this token. */
async function throughProxy(file: DevFile, token: string | undefined): Promise<{ status: number; code: string }> {
  const args = ['-s', '-w', '\n%{http_code}', '-x', token === undefined ? file.proxy_url : file.proxy_url.replace('http://', `http://agent:${token}@`), 'http://example.com/'];
  const curl = spawn('curl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  curl.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(curl, 'close');
  const [body = '', status] = text.split('\n');
  return { status: Number(status), code: (JSON.parse(body) as { error: { code: string } }).error.code };
}

t.test('dev.json has the designed keys, no others, and only its owner may read it', async (t) => {
  t.same(Object.keys(first).toSorted(), ['base_url', 'ca_cert', 'clickhouse_url', 'dns', 'orgs', 'pids', 'postgres_url', 'proxy_url', 'redis_url', 'transparent_tls']);
  t.equal((await stat(devFilePath(stack.dataDir))).mode & 0o777, 0o600);
  t.same(Object.keys(first.pids).toSorted(), ['api', 'clickhouse', 'postgres', 'proxy', 'redis', 'worker']);
  t.equal(new Set(Object.values(first.pids)).size, 6, 'six processes of their own');
  for (const [name, pid] of Object.entries(first.pids)) t.ok(isAlive(pid), `${name} lives`);
  t.same(first.orgs.map(({ name }) => name), ['demo', 'other']);
  const demo = org(first, 'demo');
  t.same(demo.users.map(({ role }) => role), ['owner', 'operator', 'member']);
  t.same(demo.workspaces.map((workspace) => Object.keys(workspace).toSorted()), [['agent_role', 'capability_token', 'id'], ['agent_role', 'capability_token', 'id']]);
  t.same(org(first, 'other').users, []);
  for (const one of first.orgs) t.same(Object.keys(one).toSorted(), ['api_key', 'name', 'org_id', 'users', 'workspaces']);
});

t.test('everything in dev.json answers', async (t) => {
  for (const path of ['/healthz', '/readyz', '/v1/openapi.json']) t.equal((await fetch(`${first.base_url}${path}`)).status, 200, path);
  const sql = connectPostgres({ url: first.postgres_url, poolMax: 1, applicationName: 'up-test' });
  t.same([...await sql`select current_database() as name`], [{ name: 'customhouse' }]);
  await sql.end();
  const resolver = new Resolver();
  resolver.setServers([first.dns ?? '']);
  await t.rejects(resolver.resolve4('example.com'), { code: 'EREFUSED' }, 'nobody is known at this address');
  const [host, port] = (first.transparent_tls ?? '').split(':');
  const agent = request({ host, port, servername: 'example.com', headers: { host: 'example.com' }, ca: await readFile(first.ca_cert ?? ''), agent: false }).end();
  const [answer] = await once(agent, 'response') as [IncomingMessage];
  t.equal(answer.statusCode, 407);
  answer.destroy();
  t.equal((await readRedisFacts(first.redis_url, 5_000)).evictionPolicy, 'noeviction');
  t.equal(await (await fetch(`${first.clickhouse_url}/?query=${encodeURIComponent('select count() > 0 from system.tables')}`)).text(), '1\n');
});

t.test('every credential in dev.json is who it says', async (t) => {
  const demo = org(first, 'demo');
  const session = async (credential: string): Promise<unknown> => {
    const { kind, org: { id }, user_id: user, role } = (await ask(first.base_url, '/v1/session', credential)).body as unknown as { kind: string; org: { id: string }; user_id: string; role?: string };
    return { kind, id, user, role };
  };
  for (const one of first.orgs) t.same(await session(one.api_key), { kind: 'api_key', id: one.org_id, user: 'system', role: undefined });
  for (const user of demo.users) t.same(await session(user.token), { kind: 'session', id: demo.org_id, user: user.user_id, role: user.role });
  for (const workspace of demo.workspaces) t.same(await throughProxy(first, workspace.capability_token), { status: 403, code: 'no_policy' }, 'the token is believed');
  t.same(await throughProxy(first, undefined), { status: 407, code: 'no_token' });
});

t.test('doctor finds nothing to do, and names the processes', async (t) => {
  const { code, stdout } = await runCli(['doctor', '--json', '--data-dir', stack.dataDir]);
  const findings = stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as { check: string; state: string; text: string });
  t.equal(code, 0, stdout);
  t.same(findings.filter(({ state }) => state !== 'ok'), []);
  t.equal(findings.find(({ check }) => check === 'processes')?.text, Object.entries(first.pids).map(([name, pid]) => `${name} ${pid}`).join(', '));
});

t.test('the state of an org that the command line sets is that of its next request', async (t) => {
  const { org_id: id, api_key: key } = org(first, 'other');
  for (const state of ['past_due', 'active']) {
    t.equal((await runCli(['org', 'state', '--org', id, '--state', state, '--data-dir', stack.dataDir])).code, 0);
    const { status, body } = await ask(first.base_url, '/v1/session', key);
    t.same([status, (body as unknown as { org: { state: string } }).org.state], [200, state]);
    t.equal((await ask(first.base_url, '/v1/audit', key)).status, 200, 'reads go on');
  }
});

t.test('up on a data directory that is up is refused, and harms nothing', async (t) => {
  for (const extra of [[], ['--detach']]) {
    const again = await runCli(['up', ...extra, '--data-dir', stack.dataDir]);
    t.equal(again.code, 1);
    t.match(again.stderr, /^customhouse: a stack is already up in .* \(pid \d+\); stop it with: scripts\/customhouse down --data-dir /);
  }
  t.same(stack.dev(), first);
  t.equal((await fetch(`${first.base_url}/readyz`)).status, 200);
});

t.test('a port that is taken, and one that is none, are clear errors', async (t) => {
  const squatter = createServer().listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  t.teardown(() => void squatter.close());
  const dataDir = await mkdtemp(join(tmpdir(), 'customhouse-up-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const { port } = squatter.address() as AddressInfo;
  const taken = await runCli(['up', '--data-dir', dataDir, '--port', String(port)]);
  t.equal(taken.code, 1);
  t.equal(taken.stderr, `customhouse: port ${port} is in use on 127.0.0.1; choose another with --port, or leave it out for a free one\n`);
  t.equal(taken.stdout, '', 'said before anything is started');
  for (const wrong of ['0', '65536', 'http', '80.5', '']) {
    const none = await runCli(['up', '--data-dir', dataDir, '--port', wrong]);
    t.equal(none.code, 1);
    t.match(none.stderr, /--port: expected an integer from 1 to 65535/, JSON.stringify(wrong));
  }
});

t.test('two stacks side by side, started at the same time, share nothing', async (t) => {
  const [left, right] = await Promise.all([startUp(t), startUp(t)]);
  const files = [first, left.dev(), right.dev()];
  for (const address of [(file: DevFile) => file.base_url, (file: DevFile) => file.proxy_url, (file: DevFile) => file.dns, (file: DevFile) => file.transparent_tls, (file: DevFile) => file.postgres_url, (file: DevFile) => file.redis_url, (file: DevFile) => file.clickhouse_url]) {
    t.equal(new Set(files.map(address)).size, 3, 'an address of its own');
  }
  t.equal(new Set(files.flatMap((file) => Object.values(file.pids))).size, 18);
  for (const file of files) t.equal((await fetch(`${file.base_url}/readyz`)).status, 200);
  // The other stack's key is nobody here, although its org has the same name.
  t.equal((await ask(left.dev().base_url, '/v1/audit', org(right.dev(), 'demo').api_key)).status, 401);
});

t.test('stopped and up again on the same data: orgs, keys, ports and rows are the same', async (t) => {
  const demo = org(first, 'demo');
  const rows = async (base: string): Promise<string[]> => (await allPages(base, '/v1/audit', demo.api_key, { limit: 1000 })).events.map(({ id }) => id);
  await until('seeded rows are stored', async () => (await rows(first.base_url)).length >= 12);
  const before = await rows(first.base_url);

  const down = await runCli(['down', '--data-dir', stack.dataDir]);
  t.same({ code: down.code, stdout: down.stdout }, { code: 0, stdout: 'stopped\n' });
  for (const [name, pid] of Object.entries(first.pids)) t.notOk(isAlive(pid), `${name} has ended`);
  await t.rejects(stat(devFilePath(stack.dataDir)), { code: 'ENOENT' }, 'dev.json is of a stack that is up');
  t.match((await runCli(['down', '--data-dir', stack.dataDir])).stdout, /^no stack is up in /);
  t.equal((await runCli(['doctor', '--data-dir', stack.dataDir])).code, 1, 'a stack that is not up is something to do');
  t.match((await runCli(['org', 'list', '--data-dir', stack.dataDir])).stderr, /the stack in .* is not up; start it with/);

  const up = await runCli(['up', '--detach', '--data-dir', stack.dataDir]);
  t.equal(up.code, 0, up.stderr);
  const second = stack.dev();
  t.same(second.orgs.map(({ org_id, api_key }) => [org_id, api_key]), first.orgs.map(({ org_id, api_key }) => [org_id, api_key]));
  t.same(org(second, 'demo').users.map(({ user_id }) => user_id), demo.users.map(({ user_id }) => user_id));
  t.same(org(second, 'demo').workspaces.map(({ id }) => id), demo.workspaces.map(({ id }) => id));
  t.same([second.base_url, second.proxy_url, second.postgres_url, second.redis_url, second.clickhouse_url], [first.base_url, first.proxy_url, first.postgres_url, first.redis_url, first.clickhouse_url]);
  t.same(await rows(second.base_url), before, 'every row, none new');
  t.equal((await ask(second.base_url, '/v1/session', demo.users[2]?.token)).status, 200, 'tokens of the first run still count: the keys are the same');
});

t.test('no key or token is in a log file', async (t) => {
  const secrets = [first, stack.dev()].flatMap((file) => file.orgs.flatMap((one) => [one.api_key, ...one.users.map(({ token }) => token), ...one.workspaces.map(({ capability_token: token }) => token)]));
  t.equal(new Set(secrets).size > 6, true);
  for (const name of ['up', 'api', 'proxy', 'worker', 'postgres', 'redis', 'clickhouse']) {
    const log = await readFile(join(stack.dataDir, 'logs', `${name}.log`), 'utf8');
    t.ok(log.length > 0, `${name} has a log`);
    t.notOk(secrets.some((secret) => log.includes(secret)), `${name}.log`);
  }
});
