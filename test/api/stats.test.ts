import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import type { StatsBucket } from '../../src/query/stats-request.ts';
import type { Query } from './ask.ts';
import { ask } from './ask.ts';
import { startLiveApi } from './live-api.ts';
import { tenantRows } from './rows.ts';

const live = await startLiveApi(t);
const { url, a, b } = live;
const rows = tenantRows(a, 500);
await live.commitRows(rows);
await live.commitRows(tenantRows(b, 100));
const owner = await a.token('carol', 'owner');

/** What the answer must be, computed from the rows. */
function counted(selected: readonly AuditEvent[], key: (row: AuditEvent) => { group: Record<string, string>; bucket?: string } | undefined, value: (group: AuditEvent[]) => number): StatsBucket[] {
  const found = new Map<string, AuditEvent[]>();
  for (const row of selected) {
    const at = key(row);
    if (at === undefined) continue;
    const text = JSON.stringify(at);
    found.set(text, [...found.get(text) ?? [], row]);
  }
  return [...found].map(([text, group]) => ({ ...JSON.parse(text) as { group: Record<string, string> }, value: value(group) }));
}

const byText = (buckets: readonly StatsBucket[]): string[] => buckets.map(({ group, bucket, value }) => JSON.stringify([bucket ?? '', group, Math.round(value * 1e6) / 1e6])).sort();
const size = (group: AuditEvent[]): number => group.length;
const latency = (row: AuditEvent): number => row.latency_ms ?? 0;
const proxied = rows.filter((row) => row.event_type === 'policy_decision');
const hourOf = (row: AuditEvent): string => `${row.timestamp.slice(0, 13)}:00:00.000000Z`;

t.test('aggregations agree with the rows', async (t) => {
  const cases: [Query, StatsBucket[]][] = [
    [{}, [{ group: {}, value: rows.length }]],
    [{ group_by: 'decision' }, counted(rows, (row) => ({ group: { decision: row.decision ?? '' } }), size)],
    [{ group_by: 'destination,reason', filter: 'decision=deny' }, counted(rows.filter((row) => row.decision === 'deny'), (row) => ({ group: { destination: row.destination ?? '', reason: row.reason ?? '' } }), size)],
    [{ group_by: 'user_id', filter: 'category=activity' }, counted(rows.filter((row) => row.category === 'activity'), (row) => ({ group: { user_id: row.user_id } }), size)],
    [{ group_by: 'counter' }, counted(rows.flatMap((row) => Object.keys(row.debits ?? {}).map((counter) => ({ ...row, method: counter }))), (row) => ({ group: { counter: row.method ?? '' } }), size)],
    [{ time_bucket: '1h' }, counted(rows, (row) => ({ group: {}, bucket: hourOf(row) }), size)],
    [{ time_bucket: '1h', group_by: 'category' }, counted(rows, (row) => ({ group: { category: row.category }, bucket: hourOf(row) }), size)],
    [{ metric: 'sum:tokens', group_by: 'destination', filter: 'counter=tokens' }, counted(rows.filter((row) => row.debits?.['tokens'] !== undefined), (row) => ({ group: { destination: row.destination ?? '' } }), (group) => group.reduce((sum, row) => sum + (row.debits?.['tokens'] ?? 0), 0))],
    [{ metric: 'avg:latency_ms', group_by: 'decision', filter: 'decision!=' }, counted(proxied, (row) => ({ group: { decision: row.decision ?? '' } }), (group) => group.reduce((sum, row) => sum + latency(row), 0) / group.length)],
    [{ metric: 'max:latency_ms', filter: 'decision=allow' }, [{ group: {}, value: Math.max(...proxied.filter((row) => row.decision === 'allow').map(latency)) }]],
    [{ bucket_by: 'latency_ms:50,200' }, counted(proxied, (row) => ({ group: {}, bucket: latency(row) < 50 ? '<50' : latency(row) < 200 ? '50-200' : '>=200' }), size)],
    [{ from: '2026-11-20T10:10:00Z', to: '2026-11-20T10:20:00Z' }, [{ group: {}, value: rows.filter((row) => row.timestamp >= '2026-11-20T10:10:00' && row.timestamp < '2026-11-20T10:20:00').length }]],
  ];
  for (const [query, expected] of cases) {
    const { status, body } = await ask(url, '/v1/audit/stats', owner, query);
    t.equal(status, 200, JSON.stringify(query));
    t.same(Object.keys(body), ['buckets']);
    t.same(byText(body.buckets), byText(expected), JSON.stringify(query));
  }
  const top = await ask(url, '/v1/audit/stats', owner, { group_by: 'event_type', top: '2:event_type' });
  const counts = counted(rows, (row) => ({ group: { event_type: row.event_type } }), size).sort((x, y) => y.value - x.value);
  t.equal(top.body.buckets.length, 2);
  t.equal(Math.max(...top.body.buckets.map((bucket) => bucket.value)), counts[0]?.value);
});

t.test('the workspace variant is the filter on the workspace, with the caller\'s visibility', async (t) => {
  for (const credential of [owner, a.keys.audit, await a.token('alice', 'member'), await a.token('bob', 'member'), await a.token('x', 'owner', 'workspace:read')]) {
    const query = { group_by: 'category,user_id' };
    const pinned = await ask(url, `/v1/workspaces/${a.aliceWorkspace}/audit/stats`, credential, query);
    const filtered = await ask(url, '/v1/audit/stats', credential, { ...query, filter: `workspace_id=${a.aliceWorkspace}` });
    t.equal(pinned.status, 200);
    t.same(pinned.body, filtered.body);
  }
  t.same((await ask(url, '/v1/audit/stats', await a.token('nobody', 'member'))).body.buckets.reduce((sum, bucket) => sum + bucket.value, 0), 0, 'nothing visible counts as nothing');
});

t.test('wrong queries are named', async (t) => {
  const cases: [Query, string][] = [
    [{ group_by: 'colour' }, 'group_by'], [{ group_by: '' }, 'group_by'], [{ group_by: 'decision,decision' }, 'group_by'], [{ group_by: 'latency_ms' }, 'group_by'], [{ group_by: ['a', 'b'] }, 'group_by'],
    [{ time_bucket: '7m' }, 'time_bucket'], [{ time_bucket: '' }, 'time_bucket'], [{ bucket_by: 'latency_ms' }, 'bucket_by'], [{ bucket_by: 'latency_ms:5,1' }, 'bucket_by'], [{ bucket_by: 'path:1' }, 'bucket_by'],
    [{ time_bucket: '1h', bucket_by: 'latency_ms:1' }, 'bucket_by'], [{ metric: 'avg' }, 'metric'], [{ metric: 'sum:' }, 'metric'], [{ metric: 'avg:tokens' }, 'metric'], [{ metric: 'count()' }, 'metric'], [{ metric: '' }, 'metric'],
    [{ top: '5' }, 'top'], [{ top: '0:decision', group_by: 'decision' }, 'top'], [{ top: '5:decision' }, 'top'], [{ top: '5:colour', group_by: 'decision' }, 'top'],
    [{ filter: 'x' }, 'filter'], [{ from: 'x' }, 'from'], [{ to: 'x' }, 'to'], [{ limit: 5 }, 'limit'], [{ order: 'asc' }, 'order'], [{ cursor: 'x' }, 'cursor'],
  ];
  for (const path of ['/v1/audit/stats', `/v1/workspaces/${a.aliceWorkspace}/audit/stats`]) {
    for (const [query, field] of cases) {
      const { status, body } = await ask(url, path, owner, query);
      t.equal(status, 400, JSON.stringify(query));
      t.equal(body.error.code, 'validation_error', JSON.stringify(query));
      t.ok(Object.hasOwn(body.error.details?.fields ?? {}, field), `names ${field}`);
    }
  }
});
