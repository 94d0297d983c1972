import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import { formatTimestamp } from '../../src/kernel/clock.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { Query } from './ask.ts';
import { allPages, ask } from './ask.ts';
import { startLiveApi } from './live-api.ts';
import { ids, sorted, startMicros, tenantRows } from './rows.ts';

const live = await startLiveApi(t);
const { url, a, b } = live;
const rows = tenantRows(a, 500);
await live.commitRows(rows);
await live.commitRows(tenantRows(b, 120));
const owner = await a.token('carol', 'owner');
const at = (seconds: number): string => formatTimestamp(startMicros + seconds * 1_000_000);

t.test('a page has the stored rows as they were, newest first', async (t) => {
  const { status, headers, body } = await ask(url, '/v1/audit', owner);
  t.equal(status, 200);
  t.match(headers.get('content-type'), /^application\/json/);
  t.same(Object.keys(body).sort(), ['cursor', 'events']);
  t.same(body.events, sorted(rows, 'desc').slice(0, 100), 'every column, absent ones left out, in order');
});

t.test('filters, bounds and order, against the rows themselves', async (t) => {
  const cases: [Query, (row: AuditEvent) => boolean][] = [
    [{}, () => true],
    [{ filter: 'decision=deny' }, (row) => row.decision === 'deny'],
    [{ filter: 'decision!=deny' }, (row) => row.decision !== 'deny'],
    [{ filter: 'decision!=' }, (row) => row.decision !== undefined],
    [{ filter: ['decision=allow', 'destination=api.example.com,files.example.org'] }, (row) => row.decision === 'allow' && ['api.example.com', 'files.example.org'].includes(row.destination ?? '')],
    [{ filter: 'counter=tokens' }, (row) => Object.hasOwn(row.debits ?? {}, 'tokens') || Object.hasOwn(row.budget_state ?? {}, 'tokens')],
    [{ filter: `workspace_id=${a.bobWorkspace}` }, (row) => row.workspace_id === a.bobWorkspace],
    [{ filter: 'path=/v1\\,messages' }, () => false],
    [{ from: at(600), to: at(1220) }, (row) => row.timestamp >= at(600) && row.timestamp < at(1220)],
    [{ from: '2026-11-20T12:10:00+02:00' }, (row) => row.timestamp >= at(600)],
    [{ to: at(0) }, () => false],
    [{ filter: 'event_type=tool_call', from: at(300) }, (row) => row.event_type === 'tool_call' && row.timestamp >= at(300)],
  ];
  for (const [query, holds] of cases) {
    for (const order of ['asc', 'desc'] as const) {
      const { body, status } = await ask(url, '/v1/audit', owner, { ...query, order, limit: 10_000 });
      t.equal(status, 200);
      t.same(ids(body.events), ids(sorted(rows.filter(holds), order)), `${JSON.stringify(query)} ${order}`);
      t.notOk(body.cursor, 'a page that is not full has no cursor');
    }
  }
});

t.test('pages put together equal one scan, in both directions, and the cursor ends with the rows', async (t) => {
  const expected = rows.filter((row) => row.destination === 'api.example.com' && row.decision === 'allow');
  for (const order of ['asc', 'desc'] as const) {
    for (const limit of [1, 7, expected.length, 100]) {
      const { events, pages } = await allPages(url, '/v1/audit', owner, { filter: ['destination=api.example.com', 'decision=allow'], order, limit });
      t.same(ids(events), ids(sorted(expected, order)), `${order} by ${limit}`);
      t.equal(pages, Math.floor(expected.length / limit) + 1, 'a cursor for each full page, none after the last');
    }
  }
});

t.test('pages stay whole while rows arrive', async (t) => {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await ask(url, '/v1/audit', owner, { filter: 'event_type=task_submitted', limit: 20, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...ids(body.events));
    cursor = body.cursor;
    await live.commitRows(tenantRows(b, 5, 10_000 + seen.length));
  } while (cursor !== undefined);
  t.same(seen, ids(sorted(rows.filter((row) => row.event_type === 'task_submitted'), 'desc')));
});

t.test('a cursor fits only the question it came from', async (t) => {
  const first = { filter: 'category=audit', limit: 5 };
  const { body } = await ask(url, '/v1/audit', owner, first);
  const cursor = body.cursor ?? '';
  t.equal((await ask(url, '/v1/audit', owner, { ...first, cursor })).status, 200);
  t.equal((await ask(url, '/v1/audit', owner, { ...first, limit: 50, cursor })).status, 200, 'another limit is fine');
  const others: [string, string, Query, string][] = [
    ['another filter', '/v1/audit', { filter: 'category=activity', cursor }, owner],
    ['no filter', '/v1/audit', { cursor }, owner],
    ['another order', '/v1/audit', { ...first, order: 'asc', cursor }, owner],
    ['a window', '/v1/audit', { ...first, from: at(0), cursor }, owner],
    ['another route', `/v1/workspaces/${a.aliceWorkspace}/audit`, { ...first, cursor }, owner],
    ['another caller', '/v1/audit', { ...first, cursor }, await a.token('alice', 'member')],
    ['another org', '/v1/audit', { ...first, cursor }, await b.token('carol', 'owner')],
    ['a letter changed', '/v1/audit', { ...first, cursor: `${cursor.slice(0, 20)}${cursor[20] === 'A' ? 'B' : 'A'}${cursor.slice(21)}` }, owner],
    ['cut', '/v1/audit', { ...first, cursor: cursor.slice(0, -1) }, owner],
    ['empty', '/v1/audit', { ...first, cursor: '' }, owner],
    ['nonsense', '/v1/audit', { ...first, cursor: "' OR 1=1 --" }, owner],
  ];
  for (const [name, path, query, credential] of others) {
    const answer = await ask(url, path, credential, query);
    t.equal(answer.status, 400, name);
    t.equal(answer.body.error.code, 'invalid_cursor', name);
  }
});

t.test('wrong parameters are named', async (t) => {
  const activity = `/v1/workspaces/${a.aliceWorkspace}/activity`;
  const audit = `/v1/workspaces/${a.aliceWorkspace}/audit`;
  const cases: [string, Query, string][] = [
    ...['/v1/audit', audit].flatMap((path): [string, Query, string][] => [
      [path, { limit: 0 }, 'limit'], [path, { limit: 10_001 }, 'limit'], [path, { limit: 'ten' }, 'limit'], [path, { limit: ['1', '2'] }, 'limit'],
      [path, { order: 'ASC' }, 'order'], [path, { from: 'yesterday' }, 'from'], [path, { from: '2026-02-30T00:00:00Z' }, 'from'],
      [path, { from: '2026-11-20 10:00:00Z' }, 'from'], [path, { from: '2026-11-20T10:00:00' }, 'from'], [path, { to: '1763632800' }, 'to'], [path, { from: at(5), to: at(1) }, 'to'],
      [path, { filter: 'decision' }, 'filter'], [path, { filter: 'decision=' }, 'filter'], [path, { filter: 'nothing=x' }, 'filter'], [path, { filter: 'user_id=alice' }, 'filter'],
      [path, { filter: '=x' }, 'filter'], [path, { filter: 'decision=a\\b' }, 'filter'], [path, { filter: 'decision=a,,b' }, 'filter'], [path, { filter: '' }, 'filter'],
      [path, { filters: 'decision=deny' }, 'filters'], [path, { offset: 5 }, 'offset'], [path, { after: at(1) }, 'after'], [path, { api_key: 'x' }, 'api_key'],
    ]),
    [activity, { limit: 0 }, 'limit'], [activity, { after: 'x' }, 'after'], [activity, { order: '' }, 'order'], [activity, { filter: 'decision=deny' }, 'filter'],
    [activity, { from: at(1) }, 'from'], [activity, { task_id: '' }, 'task_id'], [activity, { event_type: ['a', 'b'] }, 'event_type'], [activity, { after: at(1), cursor: 'x' }, 'after'],
  ];
  for (const [path, query, field] of cases) {
    const { status, body } = await ask(url, path, owner, query);
    t.equal(status, 400, `${path} ${JSON.stringify(query)}`);
    t.equal(body.error.code, 'validation_error');
    t.ok(Object.hasOwn(body.error.details?.fields ?? {}, field), `names ${field}: ${JSON.stringify(body.error.details)}`);
  }
});

t.test('who sees what of the org', async (t) => {
  const own = (user: string, workspace: string) => (row: AuditEvent) => row.user_id === user || (row.category === 'activity' && row.workspace_id === workspace);
  const cases: [string, string, (row: AuditEvent) => boolean][] = [
    ['an owner', owner, () => true],
    ['an operator', await a.token('carol', 'operator'), () => true],
    ['a full key', a.keys.full, () => true],
    ['an audit key', a.keys.audit, () => true],
    ['a member who created a workspace', await a.token('alice', 'member'), own('alice', a.aliceWorkspace)],
    ['another member', await a.token('bob', 'member'), own('bob', a.bobWorkspace)],
    ['a member without anything', await a.token('dave', 'member'), () => false],
    ['audit:read:own alone', await a.token('alice', 'owner', 'audit:read:own'), (row) => row.user_id === 'alice'],
    ['workspace:read alone', await a.token('carol', 'owner', 'workspace:read'), (row) => row.category === 'activity'],
    ['workspace:read:own alone', await a.token('bob', 'owner', 'workspace:read:own'), (row) => row.category === 'activity' && row.workspace_id === a.bobWorkspace],
    ['workspace:read and audit:read:own', await a.token('bob', 'owner', 'workspace:read audit:read:own'), (row) => row.category === 'activity' || row.user_id === 'bob'],
  ];
  for (const [name, credential, sees] of cases) {
    const { body, status } = await ask(url, '/v1/audit', credential, { limit: 10_000, order: 'asc' });
    t.equal(status, 200, name);
    t.same(ids(body.events), ids(sorted(rows.filter(sees), 'asc')), name);
  }
  const none = await ask(url, '/v1/audit', await a.token('carol', 'owner', 'members:read auth:write'));
  t.equal(none.status, 403);
  t.equal(none.body.error.code, 'permission_denied');
});

t.test('the rows of one workspace', async (t) => {
  const path = `/v1/workspaces/${a.aliceWorkspace}/audit`;
  const here = rows.filter((row) => row.workspace_id === a.aliceWorkspace);
  const audit = here.filter((row) => row.category === 'audit');
  const activity = here.filter((row) => row.category === 'activity');
  const cases: [string, string, AuditEvent[]][] = [
    ['an owner', owner, here],
    ['an audit key', a.keys.audit, audit],
    ['workspace:read', await a.token('carol', 'owner', 'workspace:read'), activity],
    ['its creator', await a.token('alice', 'member'), here],
    ['its creator, audit:read:own', await a.token('alice', 'member', 'audit:read:own'), audit],
    ['its creator, workspace:read:own', await a.token('alice', 'member', 'workspace:read:own'), activity],
    ['another member', await a.token('bob', 'member'), []],
  ];
  for (const [name, credential, expected] of cases) {
    const { body, status } = await ask(url, path, credential, { limit: 10_000 });
    t.equal(status, 200, name);
    t.same(ids(body.events), ids(sorted(expected, 'desc')), name);
  }
  t.same(ids((await allPages(url, path, owner, { limit: 33, filter: 'decision=deny', order: 'asc' })).events), ids(sorted(here.filter((row) => row.decision === 'deny'), 'asc')));
});

t.test('the activity of one workspace', async (t) => {
  const path = `/v1/workspaces/${a.aliceWorkspace}/activity`;
  const here = sorted(rows.filter((row) => row.workspace_id === a.aliceWorkspace && row.category === 'activity'), 'asc');
  t.same((await ask(url, path, owner)).body.events, here.slice(0, 100), 'oldest first, a hundred');
  t.same(ids((await ask(url, path, owner, { order: 'desc', limit: 9 })).body.events), ids(here.toReversed().slice(0, 9)));
  t.same(ids((await ask(url, path, owner, { task_id: 'task_1', event_type: 'tool_call' })).body.events), ids(here.filter((row) => row.task_id === 'task_1' && row.event_type === 'tool_call')));
  const after = here[30]?.timestamp ?? '';
  t.same(ids((await ask(url, path, owner, { after, limit: 1000 })).body.events), ids(here.filter((row) => row.timestamp > after)), 'strictly after');
  t.same(ids((await allPages(url, path, owner, { limit: 11 })).events), ids(here));
  t.same(ids((await ask(url, path, await a.token('alice', 'member'), { limit: 1000 })).body.events), ids(here), 'its creator');
  for (const [name, credential] of [['another member', await a.token('bob', 'member')], ['an audit key', a.keys.audit], ['audit:read', await a.token('carol', 'owner', 'audit:read')]] as const) {
    const refused = await ask(url, path, credential);
    t.equal(refused.status, 403, name);
    t.equal(refused.body.error.code, 'permission_denied', name);
  }
  t.equal((await ask(url, path, owner, { cursor: 'x' })).body.error.code, 'invalid_cursor');
});

t.test('unknown workspaces', async (t) => {
  for (const id of [uuidv7(), b.aliceWorkspace, 'x', '%00', '..%2f..', "'%20or%201=1", a.aliceWorkspace.toUpperCase()]) {
    for (const rest of ['audit', 'activity', 'audit/stats', 'activity/stream']) {
      const { status, body } = await ask(url, `/v1/workspaces/${id}/${rest}`, owner);
      t.equal(status, 404, `${id} ${rest}`);
      t.equal(body.error.code, 'workspace_not_found', `${id} ${rest}`);
    }
  }
});
