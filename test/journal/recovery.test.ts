import { appendFile, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { batches, files, names, open, row, tempDir } from './journal-fixture.ts';

const first = 'open-000000000001.log';
const second = 'open-000000000002.log';

/** The open segment as kill -9 would leave it: a copy of a running journal's file in a directory of its own. */
async function crashedCopy(dir: string, copies: readonly string[]): Promise<string> {
  const copy = `${dir}-crashed`;
  await mkdir(copy, { recursive: true });
  for (const name of [...copies, 'journal.json']) await copyFile(join(dir, name), join(copy, name));
  return copy;
}

async function reopen(dir: string): Promise<{ names: string[]; numbers: number[]; recovered: unknown }> {
  const journal = await open(dir);
  const found = { names: await names(journal.source), numbers: (await batches(journal.source)).map((batch) => batch.batchNo), recovered: journal.stats().recovered };
  await journal.close();
  return found;
}

async function journalWith(t: { teardown(fn: () => Promise<void>): unknown }, count: number): Promise<string> {
  const dir = join(await tempDir(t), 'journal');
  const journal = await open(dir);
  t.teardown(() => journal.close());
  await Promise.all(Array.from({ length: count }, (_, index) => row(`r${index}`)).map(({ line, timestamp }) => journal.append(line, timestamp)));
  return dir;
}

t.test('a torn last line is cut, at every byte it can be torn at', async (t) => {
  const dir = await journalWith(t, 3);
  const whole = await readFile(join(dir, first));
  const lastStart = whole.lastIndexOf(0x0a, whole.length - 2) + 1;
  for (let cut = lastStart; cut < whole.length; cut += 37) {
    const copy = `${dir}-${cut}`;
    await mkdir(copy);
    await copyFile(join(dir, 'journal.json'), join(copy, 'journal.json'));
    await writeFile(join(copy, first), whole.subarray(0, cut));
    t.same(await reopen(copy), { names: ['r0', 'r1'], numbers: [1], recovered: { rows: 2, interrupted: 0, damaged: 0 } }, `cut at ${cut}`);
    t.same(await files(copy, '.log'), [second]);
  }
});

t.test('a damaged record costs itself and not the rows behind it', async (t) => {
  const dir = await journalWith(t, 5);
  const copy = await crashedCopy(dir, [first]);
  const bytes = await readFile(join(copy, first));
  bytes.fill(0, bytes.indexOf('"r2"'), bytes.indexOf('"r2"') + 4);
  await writeFile(join(copy, first), bytes);
  t.same(await reopen(copy), { names: ['r0', 'r1', 'r3', 'r4'], numbers: [1], recovered: { rows: 4, interrupted: 0, damaged: 1 } });
});

t.test('crash after the rename of a sealed batch, before its segment is removed', async (t) => {
  const dir = await journalWith(t, 4);
  const copy = await crashedCopy(dir, [first]);
  const sealed = await reopen(copy);
  await copyFile(join(dir, first), join(copy, first));
  t.same((await reopen(copy)).names, sealed.names, 'each row once');
  t.same(await files(copy, '.log'), [second]);
});

t.test('crash while a sealed batch is written', async (t) => {
  const dir = await journalWith(t, 4);
  const copy = await crashedCopy(dir, [first]);
  await writeFile(join(copy, '000000000001_01a1fc20-7247-7000-a812-5f1428e27eb3_4_1_2.ndjson.zst.tmp'), 'half');
  t.same(await reopen(copy), { names: ['r0', 'r1', 'r2', 'r3'], numbers: [1], recovered: { rows: 4, interrupted: 0, damaged: 0 } });
  t.same(await files(copy, '.tmp'), []);
});

t.test('crash between opening the next segment and sealing this one', async (t) => {
  const dir = await journalWith(t, 4);
  const copy = await crashedCopy(dir, [first]);
  await writeFile(join(copy, second), '');
  t.same(await reopen(copy), { names: ['r0', 'r1', 'r2', 'r3'], numbers: [1], recovered: { rows: 4, interrupted: 0, damaged: 0 } });
  const again = await open(copy);
  await again.append(row('next').line, row('').timestamp);
  await again.seal();
  t.same((await batches(again.source)).map((batch) => batch.batchNo), [1, 2]);
  await again.close();
});

t.test('an intent counts only when nothing settled it, whichever segment holds either', async (t) => {
  const dir = join(await tempDir(t), 'journal');
  const journal = await open(dir);
  t.teardown(() => journal.close());
  const intent = (name: string) => journal.intent(name, row(`${name}/interrupted`).line, row('').timestamp);
  const settle = (name: string) => journal.append(row(`${name}/done`).line, row('').timestamp, { closes: name });
  await Promise.all([intent('a'), intent('b'), intent('c')]);
  await settle('a');
  t.equal(journal.stats().openIntents, 2);
  const before = await readFile(join(dir, first));
  t.same((await reopen(await crashedCopy(dir, [first]))).names.sort(), ['a/done', 'b/interrupted', 'c/interrupted']);

  await journal.seal();
  await settle('b');
  t.same(await names(journal.source), ['a/done'], 'a sealed batch holds no open intent');
  const carried = `${dir}-carried`;
  await mkdir(carried);
  await copyFile(join(dir, 'journal.json'), join(carried, 'journal.json'));
  await copyFile(join(dir, second), join(carried, second));
  t.same((await reopen(carried)).names.sort(), ['b/done', 'c/interrupted'], 'carried to the next segment');

  const both = `${dir}-both`;
  await mkdir(both);
  await copyFile(join(dir, 'journal.json'), join(both, 'journal.json'));
  await writeFile(join(both, first), before);
  await copyFile(join(dir, second), join(both, second));
  t.same(await reopen(both), { names: ['a/done', 'b/done', 'c/interrupted'], numbers: [1, 2], recovered: { rows: 3, interrupted: 1, damaged: 0 } }, 'crash before the first was sealed: carried intents count once');
  t.same((await reopen(both)).names, ['a/done', 'b/done', 'c/interrupted'], 'and not again at the next opening');
});

t.test('a closed journal keeps open intents for the next opening', async (t) => {
  const dir = join(await tempDir(t), 'journal');
  const journal = await open(dir);
  await journal.intent('a', row('a/interrupted').line, row('').timestamp);
  await journal.append(row('b').line, row('').timestamp);
  await journal.close();
  t.same((await reopen(dir)).names, ['b', 'a/interrupted']);
});

t.test('an empty batch file that a power cut left is put aside and counted', async (t) => {
  const dir = await journalWith(t, 2);
  const copy = await crashedCopy(dir, [first]);
  await reopen(copy);
  const [name = ''] = await files(copy, '.zst');
  await writeFile(join(copy, name), '');
  await appendFile(join(copy, second), '');
  t.same(await reopen(copy), { names: [], numbers: [], recovered: { rows: 0, interrupted: 0, damaged: 1 } });
  t.same(await files(copy, '.damaged'), [`${name}.damaged`]);
});
