import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { request } from 'node:http';
import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import { columns } from '../../src/events/columns.ts';
import { sampleEvent } from '../support/sample-events.ts';
import type { Query } from './ask.ts';
import { ask, queryText } from './ask.ts';
import { startLiveApi } from './live-api.ts';
import { ids, sorted, tenantRows } from './rows.ts';

const live = await startLiveApi(t);
const { url, a, b } = live;
const rows = tenantRows(a, 400);
await live.commitRows(rows);
await live.commitRows(tenantRows(b, 100));
const owner = await a.token('carol', 'owner');

type Export = { readonly status: number; readonly headers: NodeJS.Dict<string | string[]>; readonly trailers: NodeJS.Dict<string>; readonly body: Buffer; readonly complete: boolean };

/** With node:http, because fetch does not show trailers. */
function download(credential: string, query: Query): Promise<Export> {
  return new Promise((resolve, reject) => {
    request(`${url}/v1/audit/export${queryText(query)}`, { headers: { authorization: `Bearer ${credential}` } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => undefined);
      response.on('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, trailers: response.trailers, body: Buffer.concat(chunks), complete: response.complete }));
    }).on('error', reject).end();
  });
}

const lines = (body: Buffer): AuditEvent[] => body.toString().split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as AuditEvent);

t.test('an NDJSON export is what the pages are, with count and digest behind it', async (t) => {
  for (const query of [{}, { order: 'asc' }, { filter: 'decision=deny' }, { filter: ['category=activity', 'task_id=task_1'], order: 'asc' }, { to: '2026-11-20T10:20:00Z' }, { filter: 'method=none' }]) {
    const page = await ask(url, '/v1/audit', owner, { ...query, limit: 10_000 });
    const got = await download(owner, query);
    t.equal(got.status, 200);
    t.ok(got.complete);
    t.same(lines(got.body), page.body.events, JSON.stringify(query));
    t.equal(got.trailers['x-export-rows'], String(page.body.events.length));
    t.equal(got.trailers['x-export-sha256'], createHash('sha256').update(got.body).digest('hex'));
    t.match(got.headers, { 'content-type': /^application\/x-ndjson/, 'content-disposition': /^attachment; filename="audit-[0-9T-]+\.ndjson"$/, 'x-request-id': /^[0-9a-f-]{36}$/, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
  }
});

t.test('visibility holds for exports', async (t) => {
  t.same(ids(lines((await download(await a.token('alice', 'owner', 'audit:read:own'), { order: 'asc' })).body)), ids(sorted(rows.filter((row) => row.user_id === 'alice'), 'asc')));
  t.same((await download(await a.token('nobody', 'member'), {})).body.length, 0);
});

t.test('CSV: a header, a row each, formulas made harmless', async (t) => {
  await live.commitRows([sampleEvent('tool_call', { org_id: a.orgId, user_id: 'mallory', workspace_id: a.bobWorkspace, task_id: '=1+1', agent_role: 'a "quoted", role' })]);
  const got = await download(owner, { format: 'csv', filter: 'workspace_id!=' });
  t.match(got.headers['content-type'], /^text\/csv/);
  const text = got.body.toString();
  t.equal(text.slice(0, text.indexOf('\r\n')), columns.map((column) => column.name).join(','));
  t.match(text, /,'=1\+1,"a ""quoted"", role",/);
  t.equal(text.trimEnd().split('\r\n').length - 1, Number(got.trailers['x-export-rows']));
  t.equal((await download(owner, { format: 'csv', filter: 'method=none' })).body.toString(), `${columns.map((column) => column.name).join(',')}\r\n`, 'no rows: the header alone');
});

t.test('Parquet', async (t) => {
  const got = await download(owner, { format: 'parquet', filter: 'decision=allow' });
  t.equal(got.headers['content-type'], 'application/vnd.apache.parquet');
  t.equal(got.body.subarray(0, 4).toString(), 'PAR1');
  t.equal(got.body.subarray(-4).toString(), 'PAR1');
  t.equal(got.trailers['x-export-rows'], String(rows.filter((row) => row.decision === 'allow').length));
  t.equal(got.trailers['x-export-sha256'], createHash('sha256').update(got.body).digest('hex'));
});

t.test('what is refused', async (t) => {
  for (const [query, field] of [[{ format: 'xml' }, 'format'], [{ limit: 5 }, 'limit'], [{ cursor: 'x' }, 'cursor'], [{ filter: 'x' }, 'filter'], [{ from: 'x' }, 'from'], [{ format: ['csv', 'csv'] }, 'format']] as [Query, string][]) {
    const { status, body } = await ask(url, '/v1/audit/export', owner, query);
    t.equal(status, 400, JSON.stringify(query));
    t.ok(Object.hasOwn(body.error.details?.fields ?? {}, field), `names ${field}`);
  }
  t.equal((await ask(url, '/v1/audit/export', undefined)).status, 401);
  t.equal((await ask(url, '/v1/audit/export', await a.token('x', 'owner', 'members:read'))).status, 403);
  const old = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(`GET /v1/audit/export HTTP/1.0\r\nauthorization: Bearer ${owner}\r\n\r\n`));
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.on('end', () => resolve(answer));
  });
  t.match(old, /^HTTP\/1\.1 400 /, 'HTTP/1.0 could not tell a broken export from a complete one');
});

t.test('an export that breaks is visibly broken, and one that cannot start has a status', async (t) => {
  // Rows that do not compress: the export must not be over before the store is killed.
  for (let batch = 0; batch < 4; batch += 1) {
    await live.commitRows(Array.from({ length: 500 }, (_, index) => sampleEvent('tool_call', {
      org_id: b.orgId, workspace_id: b.bobWorkspace, source_seq: batch * 500 + index, detail: { text: Buffer.from(Array.from({ length: 20_000 }, () => Math.random() * 256)).toString('base64') },
    })));
  }
  const broken = await new Promise<{ complete: boolean; bytes: number; trailers: object }>((resolve, reject) => {
    request(`${url}/v1/audit/export?filter=workspace_id%3D${b.bobWorkspace}`, { headers: { authorization: `Bearer ${b.keys.full}` } }, (response) => {
      let bytes = 0;
      response.once('readable', () => {
        // Read before the kill: what is still buffered when the connection breaks is thrown away with it.
        bytes += (response.read() as Buffer | null)?.length ?? 0;
        void live.stack.clickhouse.kill().then(() => response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        }));
      });
      response.on('error', () => undefined);
      response.on('close', () => resolve({ complete: response.complete, bytes, trailers: response.trailers }));
    }).on('error', reject).end();
  });
  t.notOk(broken.complete, 'the body is not complete');
  t.ok(broken.bytes > 0, 'although it had begun');
  t.same(broken.trailers, {}, 'and has no trailers');
  for (const format of ['ndjson', 'csv', 'parquet']) {
    const refused = await ask(url, '/v1/audit/export', owner, { format });
    t.equal(refused.status, 503, format);
    t.equal(refused.body.error.code, 'dependency_unavailable', format);
    t.notOk(refused.headers.get('content-disposition'), format);
  }
  for (const path of ['/v1/audit', '/v1/audit/stats', `/v1/workspaces/${a.aliceWorkspace}/activity`]) {
    const refused = await ask(url, path, owner);
    t.equal(refused.status, 503, path);
    t.match(refused.body.error, { code: 'dependency_unavailable', details: { dependency: 'clickhouse' } });
    t.notMatch(JSON.stringify(refused.body), /SELECT|127\.0\.0\.1|ECONN/);
  }
  const ready = await ask(url, '/readyz', undefined);
  t.equal(ready.status, 503);
  t.match(ready.body.error.details, { dependencies: { clickhouse: 'down', postgres: 'ok', redis: 'ok' } });
  await live.stack.clickhouse.restart();
  t.equal((await ask(url, '/readyz', undefined)).status, 200);
  t.same((await ask(url, '/v1/audit', owner, { filter: 'decision=deny', limit: 10_000 })).body.events.length, rows.filter((row) => row.decision === 'deny').length, 'and it serves again');
});
