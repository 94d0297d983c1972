import { existsSync } from 'node:fs';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { importFile, rows, startPipeline } from './pipeline-rig.ts';

t.test('import through the whole pipeline', { timeout: 110_000 }, async (t) => {
  const rig = await startPipeline(t);
  const [one, two] = rig.orgIds;
  await rig.startWorker();
  const sorted = (events: readonly { id: string }[]): string[] => events.map((event) => event.id).sort();

  t.test('good and bad lines of two orgs', async (t) => {
    const good = [...rows(one, 500), ...rows(two, 300)];
    const lines = good.map((event) => JSON.stringify(event));
    lines.splice(10, 0, '{"broken"', '', JSON.stringify({ ...good[0], org_id: '01900000-0000-7000-8000-00000000dead' }));
    const path = await rig.write('mixed.ndjson', lines);
    const run = await importFile(rig, path);
    t.equal(run.code, 3);
    t.match(run.stdout, /803 lines, 800 stored, 2 rejected \(see .*mixed\.ndjson\.rejected\.ndjson\)/);
    t.match(run.stderr, /line 11: line: not JSON: ends too early \(column 10\)\nline 13: org_id: no such org\n/);
    const rejected = (await readFile(`${path}.rejected.ndjson`, 'utf8')).trimEnd().split('\n').map((line) => JSON.parse(line) as unknown);
    t.same(rejected, [{ line: 11, problems: ['line: not JSON: ends too early (column 10)'] }, { line: 13, problems: ['org_id: no such org'] }]);
    t.same(await rig.storedIds(one), sorted(good.slice(0, 500)));
    t.same(await rig.storedIds(two), sorted(good.slice(500)));
    const result = await rig.clickhouse.client.query({ query: `SELECT org_id, retention_days, count() AS n, min(source_seq) AS seq, any(startsWith(producer, 'import:mixed-')) AS named FROM ${rig.clickhouse.events} GROUP BY org_id, retention_days ORDER BY n`, format: 'JSONEachRow' });
    t.match(await result.json(), [{ org_id: two, retention_days: 30 }, { org_id: one, retention_days: 400 }], 'retention is the org\'s');
  });

  t.test('the same file again does nothing; --again finds every row and stores none', async (t) => {
    const path = join(rig.stack.dir, 'mixed.ndjson');
    const before = await rig.storedIds();
    const again = await importFile(rig, path);
    t.equal(again.code, 0);
    t.match(again.stdout, /^already imported at .*: 800 rows taken, 2 rejected; nothing to do/);
    const checked = await importFile(rig, path, { again: true });
    t.equal(checked.code, 3);
    t.match(checked.stdout, /0 stored, 800 stored before, 2 rejected/);
    t.same(await rig.storedIds(), before);
  });

  t.test('--again stores what is missing', async (t) => {
    const path = join(rig.stack.dir, 'mixed.ndjson');
    const before = await rig.storedIds();
    const lost = before.slice(0, 5);
    await rig.clickhouse.client.command({ query: `ALTER TABLE ${rig.clickhouse.events} DELETE WHERE id IN {ids:Array(UUID)}`, query_params: { ids: lost }, clickhouse_settings: { mutations_sync: '2' } });
    t.equal((await rig.storedIds()).length, before.length - 5);
    const run = await importFile(rig, path, { again: true });
    t.match(run.stdout, /5 stored, 795 stored before/);
    t.same(await rig.storedIds(), before);
  });

  t.test('a file that has grown: only its new rows are stored', async (t) => {
    const path = join(rig.stack.dir, 'mixed.ndjson');
    const before = await rig.storedIds();
    const more = rows(one, 50, 10_000);
    await appendFile(path, more.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const run = await importFile(rig, path);
    t.match(run.stderr, /has grown/);
    t.match(run.stdout, /50 stored, 800 stored before/);
    t.same(await rig.storedIds(), [...before, ...sorted(more)].sort());
  });

  t.test('--org gives rows their org; an org nobody knows stops the import', async (t) => {
    const events = rows('01900000-0000-7000-8000-00000000beef', 20, 20_000);
    const path = await rig.write('orgless.ndjson', events.map(({ org_id: _, ...event }) => JSON.stringify(event)));
    await t.rejects(importFile(rig, path, { org: '01900000-0000-7000-8000-00000000dead' }), /--org: no org 01900000-0000-7000-8000-00000000dead/);
    await t.rejects(importFile(rig, path, { org: 'demo' }), /--org: not an org id/);
    t.equal((await importFile(rig, path, { org: two })).code, 0);
    const stored = await rig.storedIds(two);
    t.ok(events.every((event) => stored.includes(event.id)));
    await t.rejects(importFile(rig, path), /imported with --org .*: give the same, or another --name/);
  });

  t.test('standard input, and a name that is taken by an unfinished import', async (t) => {
    const events = rows(one, 30, 30_000);
    async function* input(): AsyncGenerator<Buffer> {
      for (const event of events) yield Buffer.from(`${JSON.stringify(event)}\nnonsense\n`);
    }
    const run = await importFile(rig, '-', {}, input());
    t.equal(run.code, 3);
    t.match(run.stdout, /^standard input: 60 lines, 30 stored, 30 rejected/);
    t.equal(run.stderr.match(/^line \d+: /gm)?.length, 20, 'the first twenty are shown');
    const rejectedFile = join(rig.dataDir, 'import/stdin/rejected.ndjson');
    t.equal((await readFile(rejectedFile, 'utf8')).trimEnd().split('\n').length, 30);
  });

  t.test('files that cannot be read, bad names', async (t) => {
    await t.rejects(importFile(rig, join(rig.stack.dir, 'nowhere.ndjson')), /nowhere\.ndjson: cannot be read \(ENOENT\)/);
    await t.rejects(importFile(rig, rig.stack.dir), /not a regular file/);
    await t.rejects(importFile(rig, '-', { name: '../x' }), /--name: /);
    const empty = await rig.write('empty.ndjson', []);
    const run = await importFile(rig, empty);
    t.equal(run.code, 0);
    t.match(run.stdout, /0 lines, 0 stored, 0 rejected/);
    t.notOk(existsSync(`${empty}.rejected.ndjson`));
  });

  t.test('an interrupt keeps the place; a second import of the name is refused meanwhile', async (t) => {
    const events = rows(one, 45_000, 100_000);
    const path = await rig.write('long.ndjson', events.map((event) => JSON.stringify(event)));
    const interrupted = new AbortController();
    const running = importFile(rig, path, {}, undefined, interrupted.signal);
    while (!existsSync(join(rig.dataDir, 'import/long/checkpoint.json'))) await new Promise((resolve) => setTimeout(resolve, 5));
    await t.rejects(importFile(rig, path), /in use by another process/);
    interrupted.abort();
    const first = await running;
    t.equal(first.code, 130);
    t.match(first.stderr, /interrupted after line \d+; run the same command again/);
    const other = await rig.write('other.ndjson', rows(one, 1, 900_000).map((event) => JSON.stringify(event)));
    await t.rejects(importFile(rig, other, { name: 'long' }), /the import long of another file stopped at byte \d+ of \d+/);
    const second = await importFile(rig, path);
    t.equal(second.code, 0);
    const stored = await rig.storedIds(one);
    const wanted = new Set(sorted(events));
    const found = stored.filter((id) => wanted.has(id));
    t.equal(found.length, 45_000, 'each once');
    t.equal(new Set(found).size, 45_000);
    await rm(path);
  });
});
