import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { sampleEvent } from '../support/sample-events.ts';
import type { Query } from './ask.ts';
import { ask } from './ask.ts';
import type { StreamClient } from './event-stream.ts';
import { openEventStream } from './event-stream.ts';
import { startLiveApi } from './live-api.ts';
import { ids, sorted, tenantRows } from './rows.ts';

const live = await startLiveApi(t, { STREAM_HEARTBEAT_MS: '200' });
const { url, a, b } = live;
const owner = await a.token('carol', 'owner');
const activityPath = `/v1/workspaces/${a.aliceWorkspace}/activity/stream`;
let seq = 1;

/** Commits rows of both tenants in one batch; answers those of `a`. */
async function commit(count: number): Promise<AuditEvent[]> {
  const rows = tenantRows(a, count, seq);
  await live.commitRows([...rows, ...tenantRows(b, 20, seq)]);
  seq += count;
  return rows;
}

/** Rows of `a` that mark the end, so that what was not delivered is known to be left out. */
async function commitEnd(): Promise<string[]> {
  const ends = [
    sampleEvent('task_completed', { org_id: a.orgId, user_id: 'alice', workspace_id: a.aliceWorkspace, task_id: 'end', detail: { status: 'completed' } }),
    sampleEvent('task_completed', { org_id: a.orgId, user_id: 'bob', workspace_id: a.bobWorkspace, task_id: 'end', detail: { status: 'completed' } }),
  ];
  await live.commitRows(ends);
  return ids(ends);
}

/** Everything up to the end rows that the client may see. */
async function untilEnd(client: StreamClient, ends: string[]): Promise<string[]> {
  for (let count = 1; ; count += 1) {
    const got = (await client.received(count)).map((event) => event.id);
    const at = got.findIndex((id) => ends.includes(id));
    if (at !== -1) return got.slice(0, at);
  }
}

t.test('the stream is what the page is: filters and visibility', async (t) => {
  const cases: [string, string, string, Query][] = [
    ['an owner', '/v1/audit', owner, {}],
    ['a filter', '/v1/audit', owner, { filter: ['category=activity,audit', 'event_type!=provider_created'] }],
    ['deny or completed', '/v1/audit', owner, { filter: 'event_type=task_completed,tool_call' }],
    ['a key', '/v1/audit', a.keys.audit, {}],
    ['alice', '/v1/audit', await a.token('alice', 'member'), {}],
    ['bob, activity', '/v1/audit', await a.token('bob', 'owner', 'workspace:read:own'), {}],
    ['workspace:read', '/v1/audit', await a.token('x', 'owner', 'workspace:read'), { filter: 'task_id!=' }],
    ['a workspace', `/v1/workspaces/${a.aliceWorkspace}/activity`, owner, {}],
    ['one event type', `/v1/workspaces/${a.aliceWorkspace}/activity`, await a.token('alice', 'member'), { event_type: 'task_completed' }],
  ];
  const clients = await Promise.all(cases.map(([, path, credential, query]) => openEventStream(url, `${path}/stream`, { credential, query })));
  const first = await commit(60);
  const second = await commit(60);
  const ends = await commitEnd();
  for (const [index, [name, path, credential, query]] of cases.entries()) {
    const client = clients[index] as StreamClient;
    t.equal(client.status, 200, name);
    const got = await untilEnd(client, ends);
    const page = await ask(url, path, credential, { ...query, limit: 10_000, order: 'asc' });
    const visible = new Set(ids(page.body.events));
    const expected = [first, second].flatMap((batch) => ids(sorted(batch, 'asc'))).filter((id) => visible.has(id));
    t.same(got, expected, name);
    t.ok(client.events.every((event) => event.event === (path.includes('activity') ? 'activity' : 'audit')), `${name}: event name`);
    t.same(client.events.filter((event) => visible.has(event.id)).map((event) => event.row), page.body.events.length === 0 ? [] : client.events.filter((event) => visible.has(event.id)).map((event) => page.body.events.find((row) => row.id === event.id)), `${name}: the same JSON`);
    client.close();
  }
});

t.test('headers, heartbeat, and the key in the query', async (t) => {
  const client = await openEventStream(url, '/v1/audit/stream', { query: { api_key: a.keys.full } });
  t.equal(client.status, 200);
  t.equal(client.headers.get('content-type'), 'text/event-stream');
  t.match(client.headers.get('x-request-id'), /^[0-9a-f-]{36}$/);
  t.equal(client.headers.get('x-content-type-options'), 'nosniff', 'security headers are there too');
  await client.commented('heartbeat');
  client.close();
  for (const secret of [a.keys.full, a.keys.full.slice(11)]) t.notOk(live.log().includes(secret), 'the key is not in the log');
});

t.test('Last-Event-ID resumes in the middle of a batch, and across batches', async (t) => {
  const missed = [...sorted(await commit(40), 'asc'), ...sorted(await commit(40), 'asc')];
  for (const at of [0, 17, 39, 40, 78]) {
    const client = await openEventStream(url, '/v1/audit/stream', { credential: owner, lastEventId: missed[at]?.id ?? '' });
    const expected = ids(missed).slice(at + 1);
    t.same((await client.received(expected.length)).slice(0, expected.length).map((event) => event.id), expected, `after row ${at}`);
    client.close();
  }
  const foreign = tenantRows(b, 3, 90_000);
  await live.commitRows(foreign);
  for (const [name, lastEventId] of [['an unknown id', uuidv7()], ['no id', 'nonsense'], ['a row of another org', foreign[0]?.id ?? '']] as const) {
    const client = await openEventStream(url, '/v1/audit/stream', { credential: owner, lastEventId });
    await client.commented('Last-Event-ID is unknown');
    const fresh = await commit(5);
    t.same((await client.received(5)).map((event) => event.id), ids(sorted(fresh, 'asc')), `${name}: starts with what comes now`);
    client.close();
  }
});

t.test('a workspace made while the stream is open is seen by its creator', async (t) => {
  const client = await openEventStream(url, '/v1/audit/stream', { credential: await a.token('erin', 'owner', 'workspace:read:own') });
  const workspace = await live.makeWorkspace(a, 'erin');
  const rows = [
    sampleEvent('workspace_created', { org_id: a.orgId, user_id: 'erin', workspace_id: workspace, detail: { forked: false } }),
    sampleEvent('tool_call', { org_id: a.orgId, user_id: 'erin', workspace_id: workspace, source_seq: 8 }),
    sampleEvent('tool_call', { org_id: a.orgId, user_id: 'alice', workspace_id: a.aliceWorkspace, source_seq: 9 }),
  ];
  await live.commitRows(rows);
  const [created, called] = rows;
  await live.commitRows([sampleEvent('tool_call', { org_id: a.orgId, user_id: 'erin', workspace_id: workspace, source_seq: 10 })]);
  const got = await client.received(3);
  t.same(got.slice(0, 2).map((event) => event.id), [created?.id, called?.id]);
  t.ok(got.every((event) => event.row.workspace_id === workspace));
  client.close();
});

t.test('what is refused is refused with a status, before the stream opens', async (t) => {
  const cases: [string, string, Parameters<typeof openEventStream>[2], number, string][] = [
    ['no credential', '/v1/audit/stream', {}, 401, 'unauthenticated'],
    ['a revoked key', '/v1/audit/stream', { query: { api_key: a.keys.revoked } }, 401, 'unauthenticated'],
    ['a session token in the query', '/v1/audit/stream', { query: { api_key: owner } }, 401, 'unauthenticated'],
    ['no scope', '/v1/audit/stream', { credential: await a.token('x', 'owner', 'members:read') }, 403, 'permission_denied'],
    ['audit scopes on an activity stream', activityPath, { credential: a.keys.audit }, 403, 'permission_denied'],
    ['another member\'s workspace', activityPath, { credential: await a.token('bob', 'member') }, 403, 'permission_denied'],
    ['a bad filter', '/v1/audit/stream', { credential: owner, query: { filter: 'x' } }, 400, 'validation_error'],
    ['an unknown parameter', '/v1/audit/stream', { credential: owner, query: { from: '2026-11-20T10:00:00Z' } }, 400, 'validation_error'],
    ['an empty task', activityPath, { credential: owner, query: { task_id: '' } }, 400, 'validation_error'],
    ['an unknown workspace', `/v1/workspaces/${uuidv7()}/activity/stream`, { credential: owner }, 404, 'workspace_not_found'],
    ['a workspace of another org', `/v1/workspaces/${b.aliceWorkspace}/activity/stream`, { credential: owner }, 404, 'workspace_not_found'],
  ];
  for (const [name, path, options, status, code] of cases) {
    const client = await openEventStream(url, path, options);
    t.equal(client.status, status, name);
    t.match(client.body, { error: { code } }, name);
  }
});
