import { spawn } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { SealedBatch } from '../../src/queue/batch.ts';
import { parseSealedFileName, sealedPointer } from '../../src/journal/sealed-file.ts';
import { batchRows, batches, open, row, tempDir } from './journal-fixture.ts';

/** Runs the child on the journal and kills it with SIGKILL after it has acknowledged `acks` more things and `extraMs` have passed. */
async function runAndKill(dir: string, aside: string, run: number, acks: number, extraMs: number): Promise<string[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'crash-child.ts'), dir, aside, String(run)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  let due: NodeJS.Timeout | undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.split('\n').length > acks) due ??= setTimeout(() => child.kill('SIGKILL'), extraMs);
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => child.once('close', (...ended) => { resolve(ended); }));
  if (signal !== 'SIGKILL') throw new Error(`the child ended by itself with ${code ?? signal}`);
  return output.split('\n').slice(0, -1);
}

async function putAside(aside: string): Promise<SealedBatch[]> {
  const loaded: SealedBatch[] = [];
  for (const name of await readdir(aside)) {
    const sealed = parseSealedFileName(name);
    if (sealed === undefined) throw new Error(`not a batch: ${name}`);
    const payload = await readFile(join(aside, name));
    loaded.push({ ...sealedPointer(sealed, 'proxy:test', payload.length), payload });
  }
  return loaded;
}

t.test('after kill -9 at any point every acknowledged row is there once, and batch numbers have no gap', async (t) => {
  const base = await tempDir(t);
  const dir = join(base, 'journal');
  const aside = join(base, 'aside');
  const said: string[] = [];
  for (let run = 0; run < 14; run++) said.push(...await runAndKill(dir, aside, run, run % 4 === 3 ? 1 : 50 + 120 * (run % 5), Math.random() * 25));

  const journal = await open(dir);
  t.teardown(() => journal.close());
  const byId = new Map([...await putAside(aside), ...await batches(journal.source)].map((batch) => [batch.id, batch]));
  const numbers = [...byId.values()].map((batch) => batch.batchNo).sort((a, b) => a - b);
  t.same(numbers, Array.from({ length: numbers.length }, (_, index) => index + 1), `${numbers.length} batch numbers without gap or repetition`);

  const stored = new Map<string, number>();
  let rows = 0;
  for (const batch of byId.values()) {
    const stamped = await batchRows(batch);
    if (stamped.length !== batch.rows || stamped.some((one) => one.batch_id !== batch.id || one.batch_no !== batch.batchNo || one.batch_rows !== batch.rows)) t.fail(`batch ${batch.batchNo}: stamp and content disagree`);
    for (const { destination } of stamped) stored.set(destination, (stored.get(destination) ?? 0) + 1);
    rows += stamped.length;
  }
  t.same([...stored].filter(([, count]) => count !== 1), [], 'no row twice');

  const wrong: string[] = [];
  for (const line of said) {
    const [what, name = ''] = line.split(' ');
    const done = stored.has(`${name}/done`);
    const interrupted = stored.has(`${name}/interrupted`);
    if (what === 'row' && !stored.has(name)) wrong.push(`lost ${name}`);
    if (what === 'done' && (!done || interrupted)) wrong.push(`${name}: done ${done}, interrupted ${interrupted}`);
    if (what === 'intent' && done === interrupted) wrong.push(`${name}: done ${done}, interrupted ${interrupted}`);
  }
  t.same(wrong, []);
  t.ok([...stored.keys()].some((name) => name.endsWith('/interrupted')), 'some requests were interrupted');
  t.ok(rows >= said.filter((line) => line.startsWith('row') || line.startsWith('done')).length);
});

t.test('the lock of a killed process is free at once', async (t) => {
  const base = await tempDir(t);
  const dir = join(base, 'journal');
  const child = spawn(process.execPath, [join(import.meta.dirname, 'crash-child.ts'), dir, join(base, 'aside'), '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  await t.rejects(open(dir), { name: 'JournalOpenError', message: new RegExp(`pid ${child.pid}`) }, 'refused while the other process lives');
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
  const journal = await open(dir);
  await journal.append(row('mine').line, row('').timestamp);
  await journal.close();
});
