import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { columns } from '../../src/events/columns.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import type { Query } from '../api/ask.ts';
import { allPages, ask } from '../api/ask.ts';
import { openEventStream } from '../api/event-stream.ts';
import { runCli, startUp } from '../support/up.ts';
import { until } from '../workers/until.ts';
import { csvRecords, exampleFile, inOrder, readRows, rowsOfWorkspaces } from './story-rows.ts';

// The time of a loaded machine.
t.setTimeout(120_000);

// What a newcomer does, end to end: up, import, page, count, export, watch. Every number is held against the lines of the files.

const stack = await startUp(t);
const { base_url: base, orgs } = stack.dev();
const [demo, other] = orgs;
if (demo === undefined || other === undefined) throw new Error('two orgs are seeded');
const [owner, operator, member] = demo.users;
if (owner === undefined || operator === undefined || member === undefined) throw new Error('three users are seeded');
const cli = (...args: string[]): ReturnType<typeof runCli> => runCli([...args, '--data-dir', stack.dataDir]);

const columnNames = columns.map(({ name }) => name as string);
const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
const sorted = (rows: readonly { id: string }[]): string[] => ids(rows).toSorted();
const page = async (credential: string, path = '/v1/audit', query: Query = {}): Promise<AuditEvent[]> => (await allPages(base, path, credential, { limit: 10_000, ...query })).events;
const total = async (credential: string, query: Query = {}, path = '/v1/audit/stats'): Promise<number> => (await ask(base, path, credential, query)).body.buckets.reduce((sum, bucket) => sum + bucket.value, 0);
const ndjson = (text: string): AuditEvent[] => text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as AuditEvent);

function countBy<T>(rows: readonly T[], key: (row: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[key(row)] = (counts[key(row)] ?? 0) + 1;
  return counts;
}

// The last row that `up` causes is the other org's key: rows are stored in the order in which they were caused.
await until('what up seeded is stored', async () => (await page(other.api_key)).length === 1);
const seeded = { demo: await page(demo.api_key), other: await page(other.api_key) };
const fileRows = readRows(exampleFile);
/** Everything that the org must have, as the test knows it: grows with each step. */
let truth: AuditEvent[] = inOrder(seeded.demo);

t.test('what up seeded is in the log', async (t) => {
  t.same(countBy(seeded.demo, (row) => row.event_type), { membership_invited: 3, membership_accepted: 3, provider_created: 1, agent_role_created: 2, workspace_created: 2, api_key_created: 1 });
  t.same(countBy(seeded.other, (row) => row.event_type), { api_key_created: 1 });
});

t.test('import takes every line of the file', async (t) => {
  const result = await cli('import', exampleFile, '--org', demo.org_id);
  t.equal(result.code, 0, result.stderr);
  t.match(result.stdout, `${fileRows.length.toLocaleString('en-US')} lines, ${fileRows.length.toLocaleString('en-US')} stored, 0 rejected`);
  truth = inOrder([...truth, ...fileRows.map((row) => ({ ...row, org_id: demo.org_id }))]);

  const again = await cli('import', exampleFile, '--org', demo.org_id);
  t.equal(again.code, 0, again.stderr);
  t.match(again.stdout, /^already imported/);
});

t.test('pages of 137 in both orders are the file and the seeded rows, each once, unchanged', async (t) => {
  for (const order of ['asc', 'desc'] as const) {
    const { events, pages } = await allPages(base, '/v1/audit', demo.api_key, { limit: 137, order });
    t.equal(events.length, fileRows.length + seeded.demo.length, 'rows of all pages');
    t.equal(pages, Math.ceil(events.length / 137));
    t.same(events, order === 'asc' ? truth : truth.toReversed(), `${order}: every column of every row`);
  }
  const shell = await cli('audit', 'query', '--all', '--order', 'asc');
  t.same(ndjson(shell.stdout), truth, 'the same rows from a shell');
});

t.test('stats agree with the pages', async (t) => {
  t.equal(await total(demo.api_key), truth.length);
  const grouped = async (query: Query): Promise<Record<string, number>> => Object.fromEntries((await ask(base, '/v1/audit/stats', demo.api_key, query)).body.buckets.map(({ group, value }) => [Object.values(group).join('/'), value]));
  t.same(await grouped({ group_by: 'event_type' }), countBy(truth, (row) => row.event_type));
  t.same(await grouped({ group_by: 'decision,reason' }), countBy(truth, (row) => `${row.decision ?? ''}/${row.reason ?? ''}`));
  const tokens = truth.reduce((sum, row) => sum + (row.debits?.['tokens'] ?? 0), 0);
  t.ok(tokens > 0);
  t.equal(await total(demo.api_key, { metric: 'sum:tokens' }), tokens);
  const latencies = truth.map((row) => row.latency_ms).filter((value) => value !== undefined);
  const mean = latencies.reduce((sum, value) => sum + value, 0) / latencies.length;
  t.ok(Math.abs(await total(demo.api_key, { metric: 'avg:latency_ms' }) - mean) < 1e-6, `mean of ${latencies.length} latencies`);
  t.equal(await total(demo.api_key, { time_bucket: '1h' }), truth.length, 'the hours hold every row');
  t.equal(await total(demo.api_key, { filter: 'decision=deny' }), truth.filter((row) => row.decision === 'deny').length);
  const shell = await cli('audit', 'stats', '--group-by', 'category');
  t.same(Object.fromEntries(shell.stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as { group: { category: string }; value: number }).map(({ group, value }) => [group.category, value])), countBy(truth, (row) => row.category));
});

t.test('exports hold every row, and their digest is that of the bytes', async (t) => {
  for (const format of ['ndjson', 'csv'] as const) {
    const file = join(stack.dataDir, `audit.${format}`);
    const result = await cli('audit', 'export', '--format', format, '--order', 'asc', '--output', file);
    t.equal(result.code, 0, result.stderr);
    const bytes = await readFile(file);
    t.match(result.stderr, `${truth.length.toLocaleString('en-US')} rows, ${bytes.length.toLocaleString('en-US')} bytes, sha256 ${createHash('sha256').update(bytes).digest('hex')}`);
    if (format === 'ndjson') {
      t.same(ndjson(bytes.toString()), truth);
    } else {
      const [header, ...records] = csvRecords(bytes.toString());
      t.same(header, columnNames);
      t.same(records.map((record) => record[columnNames.indexOf('id')]), ids(truth));
    }
  }
});

const liveRows = rowsOfWorkspaces(fileRows.slice(0, 400), demo, [owner.user_id, member.user_id]);

t.test('streams show exactly the rows that arrive while they are open, each to those who may see it', async (t) => {
  const [coder, support] = demo.workspaces;
  if (coder === undefined || support === undefined) throw new Error('two workspaces are seeded');
  const live = liveRows.map((row) => ({ ...row, org_id: demo.org_id }));
  const open = (path: string, credential: string | undefined, query: Query = {}): ReturnType<typeof openEventStream> => openEventStream(base, path, { query, ...(credential === undefined ? {} : { credential }) });
  const watchers = await Promise.all([
    { who: 'the org\'s key', stream: open('/v1/audit/stream', undefined, { api_key: demo.api_key }), sees: () => true },
    { who: 'the operator, denials only', stream: open('/v1/audit/stream', operator.token, { filter: 'decision=deny' }), sees: (row: AuditEvent) => row.decision === 'deny' },
    { who: 'the member', stream: open('/v1/audit/stream', member.token), sees: (row: AuditEvent) => row.user_id === member.user_id },
    { who: 'activity of a workspace', stream: open(`/v1/workspaces/${coder.id}/activity/stream`, owner.token), sees: (row: AuditEvent) => row.workspace_id === coder.id && row.category === 'activity' },
    { who: 'activity of the member\'s workspace', stream: open(`/v1/workspaces/${support.id}/activity/stream`, member.token), sees: (row: AuditEvent) => row.workspace_id === support.id && row.category === 'activity' },
    { who: 'the other org', stream: open('/v1/audit/stream', other.api_key), sees: () => false },
  ].map(async ({ stream, ...rest }) => ({ ...rest, client: await stream })));
  t.teardown(() => watchers.forEach(({ client }) => client.close()));
  for (const { who, client } of watchers) t.equal(client.status, 200, who);
  t.equal((await openEventStream(base, `/v1/workspaces/${coder.id}/activity/stream`, { credential: member.token })).status, 403, 'a workspace that the member did not create');
  t.equal((await openEventStream(base, `/v1/workspaces/${coder.id}/activity/stream`, { credential: other.api_key })).status, 404, 'a workspace of another org');

  // From the last row of the first file on, so it does not matter when the tail has connected.
  const tail = cli('audit', 'tail', '--last-event-id', fileRows.at(-1)?.id ?? '', '--count', String(live.length));
  // In two files: a row of the first that somebody must not see would be there before the last of the second is.
  for (const [part, rows] of [liveRows.slice(0, 200), liveRows.slice(200)].entries()) {
    const file = join(stack.dataDir, `live-${part}.ndjson`);
    await writeFile(file, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
    const result = await cli('import', file, '--org', demo.org_id);
    t.equal(result.code, 0, result.stderr);
  }
  truth = inOrder([...truth, ...live]);
  for (const { who, client, sees } of watchers) {
    const expected = live.filter(sees);
    await client.received(expected.length);
    t.same(inOrder(client.events.map(({ row }) => row)), inOrder(expected), `${who}: ${expected.length} rows`);
    t.ok(client.events.every(({ id, row }) => id === row.id), 'the event id is the row\'s');
    t.ok(client.events.every(({ event }) => event === (who.startsWith('activity') ? 'activity' : 'audit')));
  }
  const shown = await tail;
  t.same({ code: shown.code, stderr: shown.stderr }, { code: 0, stderr: '' });
  t.same(sorted(ndjson(shown.stdout)), sorted(live), 'the same rows in a shell');
});

t.test('routes of a workspace hold its part of the whole', async (t) => {
  for (const { id } of demo.workspaces) {
    const own = truth.filter((row) => row.workspace_id === id);
    t.ok(own.length > 200, `${own.length} rows`);
    t.same(sorted(await page(owner.token, `/v1/workspaces/${id}/audit`)), sorted(own));
    t.same(await page(owner.token, `/v1/workspaces/${id}/activity`), own.filter((row) => row.category === 'activity'), 'oldest first');
    t.equal(await total(owner.token, {}, `/v1/workspaces/${id}/audit/stats`), own.length);
    t.equal(await total(owner.token, { filter: `workspace_id=${id}` }), own.length);
  }
});

t.test('a member sees the own rows and nothing else, everywhere', async (t) => {
  const own = truth.filter((row) => row.user_id === member.user_id);
  t.ok(own.length > 200 && own.length < truth.length);
  t.same(await page(member.token, '/v1/audit', { order: 'asc' }), own);
  t.equal(await total(member.token), own.length);
  const exported = await cli('audit', 'export', '--user', 'member', '--order', 'asc');
  t.same(ndjson(exported.stdout), own);
  const [coder, support] = demo.workspaces;
  t.equal((await ask(base, `/v1/workspaces/${coder?.id ?? ''}/audit`, member.token)).body.events.length, 0, 'may ask, has nothing there');
  t.equal((await ask(base, `/v1/workspaces/${coder?.id ?? ''}/activity`, member.token)).status, 403);
  t.same(sorted(await page(member.token, `/v1/workspaces/${support?.id ?? ''}/audit`)), sorted(own.filter((row) => row.workspace_id === support?.id)));
});

t.test('a session narrowed to activity sees all of the org\'s activity and no audit rows', async (t) => {
  const { code, stdout } = await cli('token', 'session', '--org', demo.org_id, '--user', operator.user_id, '--role', 'operator', '--scope', 'workspace:read');
  t.equal(code, 0);
  t.same(await page(stdout.trim(), '/v1/audit', { order: 'asc' }), truth.filter((row) => row.category === 'activity'));
});

t.test('the other org has its own row and no way to these', async (t) => {
  t.same(await page(other.api_key), seeded.other);
  t.equal(await total(other.api_key), 1);
  for (const { id } of demo.workspaces) for (const path of ['audit', 'activity', 'audit/stats']) t.equal((await ask(base, `/v1/workspaces/${id}/${path}`, other.api_key)).status, 404, path);
  const { cursor } = (await ask(base, '/v1/audit', demo.api_key, { limit: 5 })).body;
  const stolen = await ask(base, '/v1/audit', other.api_key, { limit: 5, cursor: cursor ?? '' });
  t.same([stolen.status, stolen.body.error.code], [400, 'invalid_cursor']);
});

t.test('in the end every count is the same, and the ledger proves it', async (t) => {
  t.equal(truth.length, fileRows.length + liveRows.length + seeded.demo.length, 'lines of the files and what up seeded');
  t.same(await page(demo.api_key, '/v1/audit', { order: 'asc', limit: 137 }), truth);
  t.equal(await total(owner.token), truth.length);
  t.match((await cli('audit', 'export', '--output', join(stack.dataDir, 'all.ndjson'))).stderr, `${truth.length.toLocaleString('en-US')} rows`);
  const verified = await cli('audit', 'verify');
  t.equal(verified.code, 0, verified.stdout + verified.stderr);
});
