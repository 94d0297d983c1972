import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { createCommitReader } from '../../src/stream/commit-reader.ts';
import { createLimiter } from '../../src/stream/limiter.ts';
import { Truth, row, rows } from './truth.ts';

const limits = { concurrency: 4, cacheBytesMax: 1_000_000 };

t.test('a page reaches as far as was known before it was asked, never further', async (t) => {
  const truth = new Truth();
  const org = uuidv7();
  const other = uuidv7();
  truth.record(row(org, 1));
  const [first] = truth.commits;
  const head = truth.record(row(other, 1)).seq;
  const reader = createCommitReader(truth.log, limits);
  t.same((await reader.page(org, 0)).through, first?.seq, 'nothing known but the page itself');
  await reader.headSeq();
  t.same(await reader.page(org, first?.seq ?? 0), { commits: [], complete: true, through: head }, 'the org has nothing up to the head');
  // The answer is taken before the commit, the commit is known before the answer arrives: the page must not claim it.
  const asked = reader.page(org, head);
  const later = truth.record(row(org, 2)).seq;
  reader.sawSeq(later);
  t.same((await asked).through, head);
  t.equal((await reader.page(org, head)).through, later);
});

t.test('a page cut by its limit says so and reaches to its last commit', async (t) => {
  const truth = new Truth();
  const org = uuidv7();
  for (let n = 0; n < 450; n += 1) truth.record(row(org, n));
  const reader = createCommitReader(truth.log, limits);
  await reader.headSeq();
  const seqs: number[] = [];
  for (let page = await reader.page(org, 0); ; page = await reader.page(org, page.through)) {
    seqs.push(...page.commits.map(({ seq }) => seq));
    if (page.complete) break;
    t.equal(page.through, page.commits.at(-1)?.seq);
  }
  t.same(seqs, truth.commits.map(({ seq }) => seq));
});

t.test('reads are bounded in rows, take at least one batch, and are kept for the next one', async (t) => {
  const truth = new Truth();
  const org = uuidv7();
  for (const count of [900, 900, 900, 5000, 1]) truth.record(...rows(org, count));
  const reader = createCommitReader(truth.log, { concurrency: 4, cacheBytesMax: 100_000_000 });
  const { commits } = await reader.page(org, 0);
  t.same((await reader.rows(org, commits)).map((part) => part.rows.length), [900, 900]);
  t.same((await reader.rows(org, commits.slice(3))).map((part) => part.rows.length), [5000]);
  t.equal(truth.calls.readBatchRows, 2);
  const [one, two] = await Promise.all([reader.rows(org, commits), reader.rows(org, commits)]);
  t.equal(one[0]?.rows, two[0]?.rows, 'decoded once');
  t.equal(truth.calls.readBatchRows, 2);
  t.same(await reader.rows(uuidv7(), commits.slice(0, 1)), [{ seq: commits[0]?.seq, rows: [] }], 'kept per org');
});

t.test('what is kept is bounded in bytes, the longest unused going first', async (t) => {
  const truth = new Truth();
  const org = uuidv7();
  for (let n = 0; n < 6; n += 1) truth.record(...rows(org, 1, n, { detail: { text: 'x'.repeat(1500) } }));
  const reader = createCommitReader(truth.log, { concurrency: 4, cacheBytesMax: 10_000 });
  const { commits } = await reader.page(org, 0);
  const one = commits.slice(0, 1);
  for (const commit of commits) {
    await reader.rows(org, [commit]);
    await reader.rows(org, one);
  }
  t.equal(truth.calls.readBatchRows, 6, 'the one in use stayed');
  await reader.rows(org, commits.slice(1, 2));
  t.equal(truth.calls.readBatchRows, 7, 'the oldest unused went');
  reader.forgetRows();
  await reader.rows(org, one);
  t.equal(truth.calls.readBatchRows, 8);
});

t.test('a failed read is not kept', async (t) => {
  const truth = new Truth();
  const org = uuidv7();
  truth.record(row(org, 1));
  const reader = createCommitReader(truth.log, limits);
  const { commits } = await reader.page(org, 0);
  truth.outage = new Error('away');
  await t.rejects(reader.rows(org, commits), { message: 'away' });
  await t.rejects(reader.page(org, 0), { message: 'away' });
  truth.outage = undefined;
  t.equal((await reader.rows(org, commits))[0]?.rows.length, 1);
});

t.test('a row that the store holds twice comes once', async (t) => {
  const truth = new Truth();
  const org = uuidv7();
  const [a, b] = [row(org, 1), row(org, 2)];
  truth.record(a, b, a);
  const reader = createCommitReader(truth.log, limits);
  const { commits } = await reader.page(org, 0);
  t.same((await reader.rows(org, commits))[0]?.rows.map(({ event }) => event.id), [a.id, b.id]);
});

t.test('the limiter runs so many at a time, in order, also after failures', async (t) => {
  const limit = createLimiter(3);
  let running = 0;
  let peak = 0;
  const order: number[] = [];
  const works = Array.from({ length: 20 }, (_, n) => limit(async () => {
    running += 1;
    peak = Math.max(peak, running);
    order.push(n);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (n % 4 === 0) throw new Error(`work ${n}`);
    return n;
  }));
  const settled = await Promise.allSettled(works);
  t.equal(peak, 3);
  t.same(order, Array.from({ length: 20 }, (_, n) => n));
  t.equal(settled.filter(({ status }) => status === 'rejected').length, 5);
  t.equal(await limit(async () => 'free again'), 'free again');
});
