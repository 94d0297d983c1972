import t from 'tap';
import { routeTable } from '../../src/api/routes/table.ts';
import type { Query } from './ask.ts';
import { ask, queryText } from './ask.ts';
import { openEventStream } from './event-stream.ts';
import { startLiveApi } from './live-api.ts';
import { ids, sorted, tenantRows } from './rows.ts';

const live = await startLiveApi(t, { STREAM_DURATION_MS: '1500' });
const { url, a, b } = live;
const mine = tenantRows(a, 150);
const theirs = tenantRows(b, 150);
await live.commitRows([...mine, ...theirs]);
const owner = await a.token('alice', 'owner');
const theirOwner = await b.token('alice', 'owner');
/** Everything by which a text can be told to be the other org's. */
const marks = [b.orgId, b.aliceWorkspace, b.bobWorkspace, ...ids(theirs)];

const tenantRoutes = routeTable.filter((row) => row.scopes !== 'public');

function pathWith(path: string, workspace: string): string {
  return path.replace('{id}', workspace);
}

t.test('every route of the table says who may call it', async (t) => {
  for (const row of routeTable) {
    const open = row.path === '/v1/openapi.json' || !row.path.startsWith('/v1/');
    t.equal(row.scopes === 'public', open, `${row.path}: only health, metrics and the document are public`);
  }
  t.equal(new Set(routeTable.map((row) => `${row.method} ${row.path}`)).size, routeTable.length, 'no route twice');
});

t.test('without a credential every tenant route is closed', async (t) => {
  for (const { path } of tenantRoutes) {
    for (const credential of [undefined, 'nonsense', a.keys.revoked, `${a.keys.full}x`, `${owner}x`]) {
      const answer = await ask(url, pathWith(path, a.aliceWorkspace), credential);
      t.equal(answer.status, 401, path);
      t.match(answer.body.error, { code: 'unauthenticated', message: 'missing or invalid credential' });
    }
  }
});

t.test('another org\'s names, ids and cursors open nothing, on any route', async (t) => {
  const theirCursor = (await ask(url, '/v1/audit', theirOwner, { limit: 5 })).body.cursor ?? '';
  const theirActivityCursor = (await ask(url, `/v1/workspaces/${b.aliceWorkspace}/activity`, theirOwner, { limit: 5 })).body.cursor ?? '';
  t.ok(theirCursor !== '' && theirActivityCursor !== '');
  for (const { path, stream } of tenantRoutes) {
    for (const credential of [owner, a.keys.full, await a.token('alice', 'member')]) {
      if (path.includes('{id}')) {
        const answer = await ask(url, pathWith(path, b.aliceWorkspace), credential);
        t.ok([403, 404].includes(answer.status), `${path}: their workspace`);
        t.equal(answer.body.error.code, credential.startsWith('ch_') || answer.status === 404 ? 'workspace_not_found' : 'permission_denied', `${path}: as if it did not exist`);
      }
      const header = await ask(url, pathWith(path, a.aliceWorkspace), credential, {}, { 'x-org-id': b.orgId });
      t.equal(header.status, 403, `${path}: asking for their org by header`);
      if (stream === true) continue;
      const queries: Query[] = [{}, { cursor: theirCursor }, { cursor: theirActivityCursor }, { filter: `workspace_id=${b.aliceWorkspace}` }, { filter: 'category=audit,activity', limit: 10_000 }, { group_by: 'workspace_id,user_id' }];
      for (const query of queries) {
        const response = await fetch(`${url}${pathWith(path, a.aliceWorkspace)}${queryText(query)}`, { headers: { authorization: `Bearer ${credential}` } });
        const text = await response.text();
        const found = marks.filter((mark) => text.includes(mark) && !decodeURIComponent(queryText(query)).includes(mark));
        t.same(found, [], `${path} ${JSON.stringify(query)}: nothing of theirs`);
        t.ok(response.status < 500, `${path} ${JSON.stringify(query)}: ${response.status}`);
      }
    }
  }
});

t.test('their rows never reach our streams', async (t) => {
  const clients = await Promise.all([
    openEventStream(url, '/v1/audit/stream', { credential: owner }),
    openEventStream(url, '/v1/audit/stream', { credential: owner, query: { filter: `workspace_id=${b.aliceWorkspace}` } }),
    openEventStream(url, '/v1/audit/stream', { credential: owner, lastEventId: theirs[3]?.id ?? '' }),
    openEventStream(url, `/v1/workspaces/${a.aliceWorkspace}/activity/stream`, { credential: a.keys.full }),
  ]);
  const more = tenantRows(a, 20, 1000);
  await live.commitRows([...tenantRows(b, 50, 1000), ...more]);
  const [everything, none] = clients;
  t.same((await everything?.received(20))?.map((event) => event.id), ids(sorted(more, 'asc')));
  for (const client of clients) {
    await client.ended;
    t.same(client.events.filter((event) => event.row.org_id !== a.orgId), []);
  }
  t.equal(none?.events.length, 0);
});

t.test('the same names in both orgs stay apart', async (t) => {
  const [ours, other] = [await ask(url, '/v1/audit', await a.token('alice', 'member'), { limit: 10_000 }), await ask(url, '/v1/audit', await b.token('alice', 'member'), { limit: 10_000 })];
  t.ok(ours.body.events.length > 0 && other.body.events.length > 0);
  t.ok(ours.body.events.every((row) => row.org_id === a.orgId));
  t.ok(other.body.events.every((row) => row.org_id === b.orgId));
});
