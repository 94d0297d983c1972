import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { importFile, rows, startPipeline } from './pipeline-rig.ts';

const root = join(import.meta.dirname, '../..');

/** Starts the import as a process of its own and kills it without warning after `ms` of its reading. True when it was killed at work. */
async function killedAfter(dataDir: string, path: string, ms: number): Promise<boolean> {
  const child = spawn(join(root, 'node_modules/.bin/node'), ['--disable-warning=ExperimentalWarning', join(root, 'src/cli/main.ts'), 'import', path, '--data-dir', dataDir], { stdio: 'ignore' });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
  const owner = join(dataDir, 'import/killed/journal/owner');
  while (child.exitCode === null && !(existsSync(owner) && (await readFile(owner, 'utf8')).trim() === `pid ${child.pid ?? 0}`)) await new Promise((resolve) => setTimeout(resolve, 5));
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, ms))]);
  child.kill('SIGKILL');
  return (await ended) === 'SIGKILL';
}

t.test('kill -9 at any point: the next run continues, nothing is lost or doubled', { timeout: 110_000 }, async (t) => {
  const rig = await startPipeline(t);
  const [one, two] = rig.orgIds;
  const worker = await rig.startWorker();
  const events = [...rows(one, 60_000), ...rows(two, 40_000)];
  const lines = events.map((event) => JSON.stringify(event));
  for (let at = 999; at < lines.length; at += 1000) lines[at] = '{"bad":';
  const path = await rig.write('killed.ndjson', lines);
  const wanted = events.filter((_, at) => at % 1000 !== 999).map((event) => event.id).sort();

  let kills = 0;
  for (const ms of [0, 30, 80, 150, 250, 400, 550, 700]) if (await killedAfter(rig.dataDir, path, ms)) kills += 1;
  t.ok(kills >= 5, `${kills} runs were killed at work`);
  // Once more with nobody to store what the journal holds, so that its rows are in doubt for longer.
  await worker.stop();
  await killedAfter(rig.dataDir, path, 300);
  await rig.startWorker();

  const last = await importFile(rig, path);
  t.equal(last.code, 3);
  t.match(last.stdout, /100,000 lines, .* 100 rejected/);
  const stored = await rig.storedIds();
  t.equal(stored.length, wanted.length, 'no row doubled');
  t.same(stored, wanted, 'no row lost');
  // A merge may have removed a doubled row from the table; the ledger of batches forgets none.
  const [accepted] = await rig.sql<{ rows: number }[]>`select sum(rows)::bigint as rows from audit_batches where producer like 'import:killed-%'`;
  t.equal(accepted?.rows, wanted.length, 'no row was sent twice');
  const rejected = (await readFile(`${path}.rejected.ndjson`, 'utf8')).trimEnd().split('\n').map((line) => (JSON.parse(line) as { line: number }).line);
  t.same(rejected, Array.from({ length: 100 }, (_, n) => (n + 1) * 1000), 'each rejected line is listed once, in order');
});
