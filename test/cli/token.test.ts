import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compactVerify, decodeJwt, decodeProtectedHeader } from 'jose';
import t from 'tap';
import type { Test } from 'tap';
import type { DevFile } from '../../src/cli/dev-file.ts';
import { writeDevFile } from '../../src/cli/dev-file.ts';
import { ensureKey, jwksFile } from '../../src/cli/up/keys.ts';
import type { KeyPurpose } from '../../src/cli/up/keys.ts';
import { createKeySet } from '../../src/identity/key-set.ts';
import { startStack } from '../support/stack.ts';
import { runCli } from '../support/up.ts';

// The time of a loaded machine.
t.setTimeout(120_000);

const stack = await startStack(t, { postgres: true, clickhouse: true });
const env = { POSTGRES_URL: stack.postgresUrl, CLICKHOUSE_URL: stack.clickhouseUrl };
const dataDir = await mkdtemp(join(stack.dir, 'data-'));
const empty = await mkdtemp(join(stack.dir, 'empty-'));
await ensureKey(dataDir, 'session');
await ensureKey(dataDir, 'capability');
const migrated = await runCli(['migrate', '--data-dir', empty], env);
if (migrated.code !== 0) throw new Error(migrated.stderr);

const token = (...args: string[]): ReturnType<typeof runCli> => runCli(['token', ...args, '--data-dir', dataDir]);
const orgCommand = (...args: string[]): ReturnType<typeof runCli> => runCli(['org', ...args, '--data-dir', empty], env);

/** Claims of a token, once its signature is found to be that of the purpose's key. */
async function verified(t: Pick<Test, 'equal' | 'notMatch'>, text: string, purpose: KeyPurpose): Promise<Record<string, unknown>> {
  const compact = text.trimEnd();
  t.notMatch(compact, /\s/, 'the token and nothing else, for $(…)');
  await compactVerify(compact, createKeySet({ url: pathToFileURL(jwksFile(dataDir, purpose)).href }));
  t.equal(decodeProtectedHeader(compact).alg, 'EdDSA');
  return decodeJwt(compact);
}

t.test('session: claims as the identity provider would make them', async (t) => {
  const { code, stdout } = await token('session', '--org', 'org-1', '--user', 'user_1', '--role', 'operator');
  t.equal(code, 0);
  const claims = await verified(t, stdout, 'session');
  t.match(claims, { sub: 'user_1', org_id: 'org-1', role: 'operator' });
  t.notOk('scope' in claims);
  t.equal(Number(claims['exp']) - Number(claims['iat']), 30 * 86_400);
  const narrow = await verified(t, (await token('session', '--org', 'org-1', '--user', 'user_1', '--role', 'owner', '--scope', 'audit:read:own workspace:read', '--days', '1')).stdout, 'session');
  t.equal(narrow['scope'], 'audit:read:own workspace:read');
  t.equal(Number(narrow['exp']) - Number(narrow['iat']), 86_400);
  await t.rejects(compactVerify(stdout.trimEnd(), createKeySet({ url: pathToFileURL(jwksFile(dataDir, 'capability')).href })), 'the two purposes have keys of their own');
});

t.test('what is wrong with the options is told by name', async (t) => {
  const wrong: [string[], RegExp][] = [
    [['session', '--org', 'o', '--user', 'u', '--role', 'king'], /--role <role>.*king.*owner, operator, member/s],
    [['session', '--org', 'o', '--user', 'u'], /--role/],
    [['session', '--user', 'u', '--role', 'owner'], /--org/],
    [['session', '--org', 'o', '--user', 'u', '--role', 'owner', '--days', '0'], /--days: expected an integer from 1 to 365/],
    [['session', '--org', 'o', '--user', 'u', '--role', 'owner', '--days', '366'], /--days: expected an integer from 1 to 365/],
    [['session', '--org', 'o', '--user', 'u', '--role', 'owner', '--days', '1.5'], /--days: expected an integer from 1 to 365/],
    [['capability'], /--workspace/],
  ];
  for (const [args, text] of wrong) {
    const { code, stdout, stderr } = await token(...args);
    t.equal(code, 1, args.join(' '));
    t.equal(stdout, '');
    t.match(stderr, text);
  }
  const elsewhere = await runCli(['token', 'session', '--org', 'o', '--user', 'u', '--role', 'owner', '--data-dir', empty]);
  t.equal(elsewhere.code, 1);
  t.match(elsewhere.stderr, /^customhouse: no signing keys in .*: run customhouse up first/);
});

t.test('capability: of a workspace that exists, with its org and creator', async (t) => {
  t.match((await token('capability', '--workspace', 'x')).stderr, /no stack in .*: run customhouse up first/);
  const { id: orgId } = JSON.parse((await orgCommand('create', '--name', 'agents')).stdout) as { id: string };
  const { id: workspaceId } = JSON.parse((await orgCommand('workspace', '--org', orgId, '--user', 'user_7', '--role', 'coder')).stdout) as { id: string };
  const dev: DevFile = {
    base_url: 'http://127.0.0.1:1', proxy_url: 'http://127.0.0.1:1', dns: null, transparent_tls: null, ca_cert: null, orgs: [],
    postgres_url: stack.postgresUrl, redis_url: 'redis://127.0.0.1:1', clickhouse_url: stack.clickhouseUrl, pids: { api: 0, proxy: 0, worker: 0, postgres: 0, redis: 0, clickhouse: 0 },
  };
  writeDevFile(dataDir, dev);
  const claims = await verified(t, (await token('capability', '--workspace', workspaceId, '--task', 'task_1', '--days', '2')).stdout, 'capability');
  t.match(claims, { aud: 'proxy', org_id: orgId, workspace_id: workspaceId, user: 'user_7', task_id: 'task_1' });
  t.equal(Number(claims['exp']) - Number(claims['iat']), 2 * 86_400);
  for (const unknown of ['x', orgId]) {
    const { code, stderr } = await token('capability', '--workspace', unknown);
    t.equal(code, 1);
    t.equal(stderr, `customhouse: --workspace: no workspace ${unknown} in this stack\n`);
  }
});

t.test('org: create, list, state, key, workspace; and what is wrong is told', async (t) => {
  const made = JSON.parse((await orgCommand('create', '--name', 'second', '--retention-days', '30')).stdout) as { id: string };
  t.match(made, { name: 'second', state: 'active', retentionDays: 30 });
  const listed = (await orgCommand('list')).stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as { id: string });
  t.match(listed.find(({ id }) => id === made.id), made);
  for (const state of ['past_due', 'trial', 'trial_expired', 'decommissioning', 'active']) {
    t.match(JSON.parse((await orgCommand('state', '--org', made.id, '--state', state)).stdout), { id: made.id, state });
  }
  const key = JSON.parse((await orgCommand('api-key', '--org', made.id, '--permission-set', 'audit')).stdout) as { id: string; key: string };
  t.match(key.key, /^ch_[A-Za-z0-9]{30,}$/);
  t.equal((await orgCommand('workspace', '--org', made.id, '--user', 'u', '--role', 'coder')).code, 0);

  const wrong: [string[], RegExp][] = [
    [['create', '--name', ''], /^customhouse: --name: expected 1 to 200 characters/],
    [['create', '--name', 'x', '--retention-days', '0'], /^customhouse: --retention-days: expected an integer from 1 to 3653/],
    [['create', '--name', 'x', '--retention-days', 'many'], /^customhouse: --retention-days: expected an integer from 1 to 3653/],
    [['state', '--org', made.id, '--state', 'asleep'], /--state.*active, trial, past_due, decommissioning, trial_expired/s],
    [['state', '--org', key.id, '--state', 'active'], /^customhouse: --org: no org .* \(customhouse org list shows them\)\n$/],
    [['api-key', '--org', 'demo'], /^customhouse: --org: no org demo/],
    [['api-key', '--org', made.id, '--permission-set', 'none'], /--permission-set.*full, operate, audit/s],
    [['workspace', '--org', key.id, '--user', 'u', '--role', 'r'], /^customhouse: --org: no org/],
    [['workspace', '--org', made.id, '--user', 'u', '--role', 'coder'], /^customhouse: --role: this org has an agent role coder/],
  ];
  for (const [args, text] of wrong) {
    const { code, stdout, stderr } = await orgCommand(...args);
    t.equal(code, 1, args.join(' '));
    t.equal(stdout, '');
    t.match(stderr, text);
  }
});
