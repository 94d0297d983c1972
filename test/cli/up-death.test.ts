import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { freePort } from '../../src/embedded/free-port.ts';
import type { DevFile } from '../../src/cli/dev-file.ts';
import { processNames, readDevFile } from '../../src/cli/dev-file.ts';
import { ask } from '../api/ask.ts';
import { runCli } from '../support/up.ts';
import { until } from '../workers/until.ts';
import type { Proc } from './processes.ts';
import { familyOf, stillAlive } from './processes.ts';

// The time of a loaded machine.
t.setTimeout(120_000);

const root = join(import.meta.dirname, '../..');
// A port of its own: other test files run beside this one, and a stack without --port would take the same default.
const port = String(await freePort());
const dataDir = await mkdtemp(join(tmpdir(), 'customhouse-up-'));
let family: Proc[] = [];
let running: ChildProcess | undefined;
t.teardown(async () => {
  if (running !== undefined && running.exitCode === null && running.signalCode === null) {
    running.kill('SIGTERM');
    await once(running, 'exit');
  }
  await until('nothing is left', () => stillAlive(family).length === 0);
  await rm(dataDir, { recursive: true, force: true });
});

/** `up` in the foreground, as a child of this process; resolved when everything answers. */
async function startForeground(): Promise<{ child: ChildProcess; output: () => string }> {
  const child = spawn(join(root, 'scripts/customhouse'), ['up', '--port', port, '--data-dir', dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
  running = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await until('up is up', () => {
    if (child.exitCode !== null) throw new Error(`up ended: ${output}`);
    // The file alone may be that of a run that was killed.
    return output.includes('Customhouse is up') && readDevFile(dataDir) !== undefined;
  });
  family = familyOf(child.pid ?? 0);
  return { child, output: () => output };
}

function dev(): DevFile {
  const file = readDevFile(dataDir);
  if (file === undefined) throw new Error('dev.json is gone');
  return file;
}

function demo(): DevFile['orgs'][number] {
  const found = dev().orgs.find(({ name }) => name === 'demo');
  if (found === undefined) throw new Error('no org demo');
  return found;
}

async function rowCount(): Promise<number> {
  const { status, body } = await ask(dev().base_url, '/v1/audit/stats', demo().api_key);
  if (status !== 200) throw new Error(`stats: ${status} ${JSON.stringify(body)}`);
  return body.buckets.reduce((sum, bucket) => sum + bucket.value, 0);
}

/** Imports rows of the example file; answers how many. */
async function importLines(from: number, to: number): Promise<number> {
  const file = join(dataDir, `rows-${from}.ndjson`);
  const lines = readFileSync(join(root, 'examples/events.ndjson'), 'utf8').trimEnd().split('\n').slice(from, to);
  await writeFile(file, `${lines.join('\n')}\n`);
  const result = await runCli(['import', file, '--org', demo().org_id, '--data-dir', dataDir]);
  if (result.code !== 0) throw new Error(`import: ${result.code} ${result.stdout}${result.stderr}`);
  return lines.length;
}

t.test('each of the six processes that is killed comes back, and then everything works', async (t) => {
  const { child, output } = await startForeground();
  // Three invitations and acceptances, a provider, a secret, two roles and their policies, two workspaces, a key: they may arrive in several batches.
  await until('seeded rows are stored', async () => await rowCount() === 15);
  const seeded = await rowCount();
  for (const name of processNames) {
    const before = dev().pids;
    process.kill(before[name], 'SIGKILL');
    await until(`${name} is back in dev.json`, () => dev().pids[name] !== before[name]);
    // A role may end when Postgres does (its driver throws from a timer on a broken connection) and is started again as well.
    if (name !== 'postgres') t.same({ ...dev().pids, [name]: 0 }, { ...before, [name]: 0 }, `${name} alone was started again`);
    await until('everything is ready', async () => (await fetch(`${dev().base_url}/readyz`).catch(() => undefined))?.status === 200);
    t.match(output(), `${name} died, starting it again`);
    t.match(output(), `${name} is back, pid ${dev().pids[name]}`);
  }
  t.equal(child.exitCode, null, 'up itself goes on');
  t.equal(await rowCount(), seeded, 'nothing was lost');
  const imported = await importLines(0, 100);
  t.equal(imported, 100);
  t.equal(await rowCount(), seeded + 100);
  family = familyOf(child.pid ?? 0);
});

t.test('kill -9 of up leaves no process behind, and the next up works, also when it comes at once', async (t) => {
  const rows = await rowCount();
  const before = { dev: dev(), family };
  t.ok(before.family.length > 7, `${before.family.length} processes, those of Postgres among them`);
  // One that takes its time to end: on a busy machine the others may be gone before the next run looks for them.
  const slow = before.dev.pids.worker;
  process.kill(slow, 'SIGSTOP');
  running?.kill('SIGKILL');
  await until('up is dead', () => stillAlive(before.family.filter(({ pid }) => pid === running?.pid)).length === 0);

  const goingOn = setTimeout(() => process.kill(slow, 'SIGCONT'), 4_000);
  const { output } = await startForeground();
  clearTimeout(goingOn);
  t.same(stillAlive(before.family), [], 'all of the first stack ended before the second was up');
  t.match(output(), /wait for \d processes of the last run +done/);
  t.same(dev().orgs.map(({ org_id: id }) => id), before.dev.orgs.map(({ org_id: id }) => id));
  t.equal(await rowCount(), rows);
  t.equal(await importLines(100, 150), 50);
  t.equal(await rowCount(), rows + 50);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  t.test(`${signal} stops everything in order and leaves no process behind`, async (t) => {
    const { child, output } = running?.exitCode === null && running.signalCode === null ? { child: running, output: () => '' } : await startForeground();
    const all = familyOf(child.pid ?? 0);
    let rest = '';
    child.stdout?.on('data', (text: string) => (rest += text));
    child.kill(signal);
    const [code] = (await once(child, 'close')) as [number | null];
    t.equal(code, 0);
    t.same([...rest.matchAll(/stopping (\w+)/g)].map(([, name]) => name), ['api', 'proxy', 'worker', 'clickhouse', 'redis', 'postgres'], 'what needs a store ends before it');
    t.match(rest, /all stopped\n$/);
    t.same(stillAlive(all), []);
    t.equal(readDevFile(dataDir), undefined);
    t.notMatch(output(), /died/);
  });
}

t.test('a signal while it starts ends it as well', async (t) => {
  const child = spawn(join(root, 'scripts/customhouse'), ['up', '--port', port, '--data-dir', dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
  running = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await until('it starts ClickHouse', () => output.includes('start clickhouse'));
  family = familyOf(child.pid ?? 0);
  child.kill('SIGTERM');
  const [code] = (await once(child, 'close')) as [number | null];
  t.equal(code, 1);
  t.match(output, /stopped before everything was up\n$/);
  t.same(stillAlive(family), []);
  t.equal((await readFile(join(dataDir, 'orgs.json'), 'utf8')).length > 0, true, 'what it knows stays');
});

t.test('a terminal that goes away ends up in order, not in the middle', async (t) => {
  const { child } = await startForeground();
  // Nobody reads what it says from here on, and writing it fails.
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.kill('SIGHUP');
  const [code] = (await once(child, 'exit')) as [number | null];
  t.equal(code, 0);
  t.same(stillAlive(family), []);
});
