import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { JournalClosedError, JournalFullError, JournalOpenError } from '../../src/journal/journal-error.ts';
import { decodeRecords } from '../../src/journal/record.ts';
import { nowMicros } from '../../src/kernel/clock.ts';
import { batchRows, batches, files, names, open, row, tempDir } from './journal-fixture.ts';

t.test('appends of one turn are one write, in order, and readable before any sealing', async (t) => {
  const dir = await tempDir(t);
  const journal = await open(dir);
  t.teardown(() => journal.close());
  const rows = Array.from({ length: 50 }, (_, index) => row(`r${index}`));
  const promises = rows.map(({ line, timestamp }) => journal.append(line, timestamp));
  let first = 0;
  await promises[0]?.then(async () => {
    const { records } = decodeRecords(await readFile(join(dir, 'open-000000000001.log')));
    first = records.length;
  });
  await Promise.all(promises);
  t.equal(first, 50, 'the first answer came when all of the turn were on the disk');
  const { records } = decodeRecords(await readFile(join(dir, 'open-000000000001.log')));
  t.same(records.map((record) => record.line), rows.map(({ line }) => line), 'lines are kept as they were appended');
  t.same(await journal.source.pending(10), [], 'nothing is shown before it is sealed');
});

t.test('a sealed batch carries its stamp on every row and its bounds in the pointer', async (t) => {
  const dir = await tempDir(t);
  const journal = await open(dir);
  t.teardown(() => journal.close());
  const rows = ['a', 'b', 'c'].map((name) => row(name));
  await Promise.all([1, 0, 2].flatMap((index) => rows[index] ?? []).map(({ line, timestamp }) => journal.append(line, timestamp)));
  const sealed: string[] = [];
  journal.onSealed((batch) => sealed.push(batch.id));
  await journal.seal();
  const [batch] = await batches(journal.source);
  if (batch === undefined) throw new Error('no batch');
  t.match(batch, { producer: 'proxy:test', batchNo: 1, rows: 3, bytes: batch.payload.length, minTimestamp: rows[0]?.timestamp ?? '', maxTimestamp: rows[2]?.timestamp ?? '' });
  t.same(sealed, [batch.id]);
  const stored = await batchRows(batch);
  t.same(stored.map(({ destination }) => destination), ['b', 'a', 'c'], 'in the order of the appends');
  for (const stamped of stored) t.match(stamped, { producer: 'proxy:test', batch_id: batch.id, batch_no: 1, batch_rows: 3, retention_days: 30 });
  t.same(await files(dir, '.log'), ['open-000000000002.log']);
});

t.test('segments seal at rows, at bytes and after time, and a turn larger than a segment is cut', async (t) => {
  const dir = await tempDir(t);
  const byRows = await open(join(dir, 'rows'), { sealRows: 10 });
  await Promise.all(Array.from({ length: 35 }, () => row('x')).map(({ line, timestamp }) => byRows.append(line, timestamp)));
  await byRows.close();
  t.same((await open(join(dir, 'rows')).then(async (journal) => { const found = await batches(journal.source); await journal.close(); return found; })).map(({ rows, batchNo }) => [batchNo, rows]), [[1, 10], [2, 10], [3, 10], [4, 5]]);

  const byBytes = await open(join(dir, 'bytes'), { sealBytes: 20_000 });
  for (let index = 0; index < 40; index++) await byBytes.append(row('x', 900).line, row('x').timestamp);
  await byBytes.seal();
  const found = await batches(byBytes.source);
  t.equal(found.reduce((rows, batch) => rows + batch.rows, 0), 40);
  t.ok(found.length >= 2, 'more than one batch');
  await byBytes.close();

  const byTime = await open(join(dir, 'time'), { sealMs: 20 });
  t.teardown(() => byTime.close());
  const sealed = new Promise<void>((resolve) => { byTime.onSealed(() => { resolve(); }); });
  await byTime.append(row('x').line, row('x').timestamp);
  await sealed;
  t.equal((await byTime.source.pending(10)).length, 1);
});

t.test('batch numbers stay gapless and are never used twice, also when all was confirmed', async (t) => {
  const dir = await tempDir(t);
  const numbers: number[] = [];
  const seqs: number[] = [];
  for (let round = 0; round < 4; round++) {
    const journal = await open(dir);
    for (let batch = 0; batch < 3; batch++) {
      seqs.push(journal.nextSeq());
      await journal.append(row(`${round}.${batch}`).line, row('').timestamp);
      await journal.seal();
    }
    for (const { id, batchNo } of await journal.source.pending(100)) {
      numbers.push(batchNo);
      await journal.source.confirm(id);
      await journal.source.confirm(id);
      t.equal(await journal.source.load(id), undefined, 'a confirmed batch is gone');
    }
    t.match(journal.stats(), { batches: 0, rows: 0, bytes: 0, oldestMs: 0 });
    await journal.close();
    t.same(await files(dir, '.zst'), []);
  }
  t.same(numbers, Array.from({ length: 12 }, (_, index) => index + 1));
  t.same(seqs, [...seqs].sort((a, b) => a - b));
  t.equal(new Set(seqs).size, seqs.length);
});

t.test('source_seq goes on above what was given out when the clock is behind it', async (t) => {
  const dir = await tempDir(t);
  const journal = await open(dir);
  let highest = 0;
  const ahead = nowMicros() + 5_000_000;
  while (highest < ahead) highest = journal.nextSeq();
  await journal.close();
  const again = await open(dir);
  t.teardown(() => again.close());
  t.ok(again.nextSeq() > highest);
});

t.test('pending gives the oldest first, up to the limit', async (t) => {
  const dir = await tempDir(t);
  const journal = await open(dir, { sealRows: 1 });
  t.teardown(() => journal.close());
  for (let index = 0; index < 5; index++) await journal.append(row(`r${index}`).line, row('').timestamp);
  await journal.seal();
  t.same((await journal.source.pending(3)).map(({ batchNo }) => batchNo), [1, 2, 3]);
  t.same(await names(journal.source), ['r0', 'r1', 'r2', 'r3', 'r4']);
  t.match(journal.stats(), { batches: 5, rows: 5, lastBatchRows: 1, openRows: 0 });
});

t.test('what cannot be a row is refused by name and disturbs nothing', async (t) => {
  const dir = await tempDir(t);
  const journal = await open(dir);
  const { line, timestamp } = row('good');
  const accepted = journal.append(line, timestamp);
  await t.rejects(journal.append(`${line}\n${line}`, timestamp), { name: 'RangeError', message: /^line:/ });
  await t.rejects(journal.append('[1]', timestamp), { name: 'RangeError', message: /^line:/ });
  await t.rejects(journal.append(line, '2026-02-30T00:00:00Z'), { name: 'RangeError', message: /^timestamp:/ });
  await t.rejects(journal.intent('a\tb', line, timestamp), { name: 'RangeError', message: /^id:/ });
  await accepted;
  await journal.seal();
  t.same(await names(journal.source), ['good']);
  await journal.close();
  await t.rejects(journal.append(line, timestamp), JournalClosedError);
  await journal.close();
});

t.test('over its bound on the disk it refuses rows, and takes them again after a confirmation', async (t) => {
  const dir = await tempDir(t);
  const journal = await open(dir, { diskBytesMax: 300_000, sealBytes: 40_000 });
  t.teardown(() => journal.close());
  let accepted = 0;
  await t.rejects(async () => {
    for (;;) {
      const { line, timestamp } = row(`r${accepted}`, 900);
      await journal.append(line, timestamp);
      accepted += 1;
    }
  }, JournalFullError);
  t.ok(accepted > 0);
  await journal.seal();
  t.same(await names(journal.source), Array.from({ length: accepted }, (_, index) => `r${index}`), 'what was accepted is there');
  for (const { id } of await journal.source.pending(1000)) await journal.source.confirm(id);
  await journal.append(row('later').line, row('').timestamp);
  await journal.seal();
  t.same(await names(journal.source), ['later']);
});

t.test('one directory serves one journal and one producer', async (t) => {
  const dir = await tempDir(t);
  const journal = await open(dir);
  await t.rejects(open(dir), JournalOpenError);
  await t.rejects(open(dir), { message: new RegExp(`in use by another process \\(pid ${process.pid}\\)`) });
  await journal.append(row('kept').line, row('').timestamp);
  await journal.close();
  await t.rejects(open(dir, { producer: 'proxy:other' }), { name: 'JournalOpenError', message: /belongs to producer proxy:test, not proxy:other/ });
  const again = await open(dir);
  t.teardown(() => again.close());
  t.same(await names(again.source), ['kept']);
});

t.test('with fsync always and never the same rows are kept', async (t) => {
  for (const fsync of ['always', 'never'] as const) {
    const dir = await tempDir(t);
    const journal = await open(dir, { fsync, sealRows: 7 });
    await Promise.all(Array.from({ length: 20 }, (_, index) => row(`r${index}`)).map(({ line, timestamp }) => journal.append(line, timestamp)));
    await journal.close();
    const again = await open(dir, { fsync });
    t.same(await names(again.source), Array.from({ length: 20 }, (_, index) => `r${index}`), fsync);
    await again.close();
  }
});
