import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { findOnPath } from '../../src/embedded/find-on-path.ts';
import { PortInUseError, freePort, withPort } from '../../src/embedded/free-port.ts';
import { startProcess, waitUntilReady } from '../../src/embedded/service.ts';
import { errorOf, eventually } from './quiet-client.ts';

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

t.test('kill -9 of the parent leaves no service behind', { skip: findOnPath('setpriv') === undefined ? 'needs setpriv (util-linux)' : false }, async (t) => {
  const stackFile = new URL('../support/stack.ts', import.meta.url).href;
  const script = `import { startStack } from ${JSON.stringify(stackFile)};
    const stack = await startStack(undefined, { postgres: true, redis: true, clickhouse: true });
    console.log(JSON.stringify({ dir: stack.dir, pids: [stack.postgres.pid, stack.redis.pid, stack.clickhouse.pid] }));
    setInterval(() => undefined, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => parent.kill('SIGKILL'));
  let line = '';
  for await (line of createInterface(parent.stdout)) break;
  const { dir, pids } = JSON.parse(line) as { dir: string; pids: number[] };
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  t.ok(pids.every(isAlive));
  parent.kill('SIGKILL');
  await eventually('all services have ended', async () => !pids.some(isAlive));
});

t.test('a process that ends while it starts, or never gets ready, is reported with its log', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-test-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const run = (script: string): ReturnType<typeof startProcess> => startProcess({ name: 'Thing', command: '/bin/sh', args: ['-c', script], logFile: join(dir, 'log'), parentDeathSignal: 'TERM' });
  const dies = await run('echo it is broken; exit 3');
  t.match((await errorOf(waitUntilReady('Thing', dies, async () => false, 30_000))).message, /^Thing ended while starting \(exit code 3\)\. Its log ends with:\nit is broken$/);
  const hangs = await run('echo still trying; exec sleep 1000');
  t.match((await errorOf(waitUntilReady('Thing', hangs, async () => false, 200))).message, /^Thing did not become ready within 200 ms\. Its log ends with:\nstill trying$/);
  t.equal(hangs.ended(), 'signal SIGKILL');
  const stubborn = await run('trap "" TERM; echo up; while :; do sleep 0.05; done');
  await eventually('it is up', async () => (await stubborn.logTail()).includes('up'));
  await stubborn.stop('SIGTERM', 100);
  t.equal(stubborn.ended(), 'signal SIGKILL');
  t.match(await errorOf(startProcess({ name: 'Thing', command: join(dir, 'nothing'), args: [], logFile: join(dir, 'log'), parentDeathSignal: 'TERM' }).then((started) => waitUntilReady('Thing', started, async () => false, 30_000))), { message: /nothing/ });
});

t.test('a free port is tried again when a neighbour takes it, a given one is not', async (t) => {
  const taken: number[] = [];
  const got = await withPort(0, async (port) => {
    taken.push(port);
    if (taken.length < 3) throw new PortInUseError(port);
    return port;
  });
  t.equal(taken.length, 3);
  t.equal(got, taken[2]);
  const given = await freePort();
  t.match(await errorOf(withPort(given, async (port) => Promise.reject(new PortInUseError(port)))), { message: `port ${given} on 127.0.0.1 is already in use` });
  const neighbour = createServer();
  await new Promise<void>((resolve) => neighbour.listen(given, '127.0.0.1', resolve));
  t.teardown(() => neighbour.close());
  t.not(await freePort(), given);
});
