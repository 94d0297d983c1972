import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { startApi } from '../../src/api/start.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { createApiKey } from '../../src/identity/api-key.ts';
import { createApiKeyStore } from '../../src/store/pg/api-keys.ts';
import { createDeadLetterStore } from '../../src/store/pg/dead-letters.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { runList, runReplay } from '../../src/cli/audit/dead-letters.ts';
import { CommandFailure } from '../../src/cli/audit/failure.ts';
import { runQuery } from '../../src/cli/audit/query.ts';
import type { QueryOptions } from '../../src/cli/audit/query.ts';
import { runStats } from '../../src/cli/audit/stats.ts';
import { runTail } from '../../src/cli/audit/tail.ts';
import { runVerify } from '../../src/cli/audit/verify.ts';
import { runCli } from '../support/up.ts';
import { importFile, rows, startPipeline } from './pipeline-rig.ts';

type Captured = { text: string; write(text: string): void; isTTY: boolean; columns: number; hasColors(): boolean };

function screen(isTTY: boolean, columns = 120): Captured {
  return { text: '', isTTY, columns, hasColors: () => isTTY, write(text) { this.text += text; } };
}

function ndjson<T>(text: string): T[] {
  return text === '' ? [] : text.trimEnd().split('\n').map((line) => JSON.parse(line) as T);
}

const escape = String.fromCharCode(27);

t.test('the audit commands over a real API', { timeout: 110_000 }, async (t) => {
  const rig = await startPipeline(t);
  const [one] = rig.orgIds;
  await rig.startWorker();
  let api = await startApi(rig.settings);
  t.teardown(() => api.stop());
  const apiPort = Number(new URL(api.url).port);
  const { key, prefix, hash } = createApiKey();
  await createApiKeyStore({ sql: rig.sql, outbox: createOutbox({ mode: 'refuse', retentionDays: 400 }) })
    .create({ orgId: one, userId: 'system', label: 'test', prefix, hash, permissionSet: 'full' });
  const target = { baseUrl: api.url, token: key.reveal() };
  const events = rows(one, 1000);
  events.forEach((event, n) => {
    event.destination = n % 10 === 0 ? `evil${escape}[2J.example` : 'api.example.com';
    if (n % 4 === 0) Object.assign(event, { decision: 'deny', reason: 'no_match' });
  });
  const imported = await importFile(rig, await rig.write('events.ndjson', events.map((event) => JSON.stringify(event))));
  t.equal(imported.code, 0);
  const newest = [...events].reverse().map((event) => event.id);
  const decisions = ['event_type=policy_decision'];

  const query = async (options: Partial<QueryOptions>, out = screen(false)): Promise<AuditEvent[]> => {
    await runQuery({ ...target, limit: 100, filter: decisions, ...options }, out);
    return out.isTTY ? [] : ndjson<AuditEvent>(out.text);
  };

  t.test('query: pages by itself, filters, windows, cursors', async (t) => {
    t.same((await query({})).map((event) => event.id), newest.slice(0, 100));
    t.same((await query({ all: true })).map((event) => event.id), newest);
    t.same((await query({ limit: 950, order: 'asc' })).map((event) => event.id), events.slice(0, 950).map((event) => event.id));
    t.equal((await query({ all: true, filter: [...decisions, 'decision=deny'] })).length, 250);
    t.same((await query({ from: events[10]?.timestamp ?? '', to: events[12]?.timestamp ?? '' })).map((event) => event.id), [events[11]?.id, events[10]?.id]);
    t.equal((await query({ filter: [...decisions, 'destination=nowhere'] })).length, 0);
  });

  t.test('query on a terminal: a table of its width that the rows cannot break', async (t) => {
    for (const width of [60, 80, 150]) {
      const out = screen(true, width);
      await query({ limit: 250 }, out);
      const lines = out.text.split('\n');
      t.match(lines[0], /time/);
      const visible = lines.map((line) => line.replaceAll(new RegExp(`${escape}\\[[0-9;]*m`, 'g'), ''));
      t.ok(visible.every((line) => line.length <= width || line.startsWith('250 rows')), `fits ${width} columns`);
      t.notMatch(out.text, new RegExp(`${escape}\\[2J`), 'no control sequence of a row reaches the terminal');
      t.match(out.text, new RegExp(`${escape}\\[31mdeny`));
      t.match(visible.at(-2), /^250 rows; more with --all, or --cursor \S+$/);
    }
    const named = screen(true);
    await query({ limit: 1, columns: 'id, latency_ms' }, named);
    t.match(named.text, new RegExp(newest[0] ?? '-'));
    await t.rejects(query({ columns: 'colour' }), /--columns: no column colour; there are id, org_id/);
    const none = screen(true);
    await query({ filter: ['destination=nowhere'] }, none);
    t.match(none.text, /no rows/);
  });

  t.test('query of a workspace and of its activity', async (t) => {
    await t.rejects(query({ workspace: 'nope' }), /^404 workspace_not_found: .* \(request [0-9a-f-]{36}\)$/);
    await t.rejects(query({ activity: true }), /--activity: needs --workspace/);
    await t.rejects(query({ taskId: 't' }), /only with --activity/);
    await t.rejects(query({ activity: true, workspace: 'w' }), /takes --task-id/);
  });

  t.test('errors are one line with code, message and request id, and an exit code', async (t) => {
    const failure = async (options: Partial<QueryOptions>): Promise<CommandFailure> => {
      try {
        await query(options);
      } catch (error) {
        if (error instanceof CommandFailure) return error;
        throw error;
      }
      throw new Error('no failure');
    };
    const filter = await failure({ filter: ['colour=red'] });
    t.match(filter.message, /^400 validation_error: filter: .*\(request [0-9a-f-]{36}\)$/);
    t.equal(filter.exitCode, 2);
    t.match(await failure({ token: 'ch_wrong' }), { exitCode: 2, message: /^401 unauthenticated: / });
    t.match(await failure({ cursor: 'x' }), { exitCode: 2, message: /^400 invalid_cursor: / });
    t.match(await failure({ baseUrl: 'http://127.0.0.1:1' }), { exitCode: 4, message: /^http:\/\/127\.0\.0\.1:1: cannot be reached \(/ });
    await t.rejects(query({ baseUrl: 'ftp://x' }), /--base-url: expected/);
  });

  t.test('stats', async (t) => {
    const piped = screen(false);
    await runStats({ ...target, groupBy: 'decision', filter: decisions }, piped);
    t.same(ndjson<{ group: { decision: string }; value: number }>(piped.text).map(({ group, value }) => [group.decision, value]).sort(), [['allow', 750], ['deny', 250]]);
    const table = screen(true);
    await runStats({ ...target, groupBy: 'decision', metric: 'avg:latency_ms', timeBucket: '1d', filter: decisions }, table);
    t.match(table.text, /time.*decision.*avg:latency_ms/);
    t.match(table.text, /12/);
    await t.rejects(runStats({ ...target, metric: 'nonsense' }, screen(false)), /^400 validation_error: metric/);
  });

  t.test('tail: rows as they come, over the server\'s closing and a restart of the API, each once', async (t) => {
    const out = screen(false);
    const notes = screen(false);
    const tailing = runTail({ ...target, filter: decisions, count: 900 }, out, notes, new AbortController().signal);
    const later = rows(one, 900, 500_000);
    const send = async (part: number): Promise<void> => {
      const run = await importFile(rig, await rig.write(`tail-${part}.ndjson`, later.slice(part * 300, part * 300 + 300).map((event) => JSON.stringify(event))));
      t.equal(run.code, 0);
    };
    // The stream must stand before the first row is sent: what comes earlier is not its matter.
    while (!/^customhouse_api_streams_open\{.*\} 1$/m.test(await (await fetch(`${api.url}/metrics`)).text())) await new Promise((resolve) => setTimeout(resolve, 20));
    await send(0);
    while (ndjson(out.text).length < 300) await new Promise((resolve) => setTimeout(resolve, 20));
    await api.stop();
    await send(1);
    api = await startApi({ ...rig.settings, apiPort, streamDurationMs: 300 });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await send(2);
    await tailing;
    t.same(ndjson<AuditEvent>(out.text).map((event) => event.id), later.map((event) => event.id));
  });

  t.test('tail: from a row on, on a terminal, and refused', async (t) => {
    const out = screen(true, 100);
    await runTail({ ...target, filter: decisions, count: 3, lastEventId: events[0]?.id ?? '' }, out, screen(false), new AbortController().signal);
    t.equal(out.text.trimEnd().split('\n').length, 3);
    t.match(out.text, /policy_deci/);
    await t.rejects(runTail({ ...target, filter: ['colour=red'] }, screen(false), screen(false), new AbortController().signal), /^400 validation_error/);
    await t.rejects(runTail({ ...target, eventType: 'x' }, screen(false), screen(false), new AbortController().signal), /only with --workspace/);
    const stopped = new AbortController();
    const running = runTail(target, screen(false), screen(false), stopped.signal);
    stopped.abort();
    await running;
  });

  t.test('export to a file, checked against the trailers', async (t) => {
    const path = join(rig.stack.dir, 'out.ndjson');
    const env = { CUSTOMHOUSE_URL: target.baseUrl, CUSTOMHOUSE_TOKEN: target.token };
    const run = await runCli(['audit', 'export', '--output', path, '--filter', 'decision=deny', '--order', 'asc', '--to', events[999]?.timestamp ?? ''], env);
    t.equal(run.code, 0, run.stderr);
    const text = await readFile(path, 'utf8');
    t.same(ndjson<AuditEvent>(text).map((event) => event.id), events.filter((event) => event.decision === 'deny').map((event) => event.id));
    t.match(run.stderr, new RegExp(`^250 rows, .* sha256 ${createHash('sha256').update(text).digest('hex')}\n$`));
    const csv = await runCli(['audit', 'export', '--format', 'csv', '--filter', 'decision=deny'], env);
    t.equal(csv.code, 0);
    t.match(csv.stdout, /^id,org_id,/);
    const refused = await runCli(['audit', 'export', '--filter', 'colour=red'], env);
    t.equal(refused.code, 2);
    t.match(refused.stderr, /^customhouse: 400 validation_error: /);
  });

  t.test('an export that is cut, or lies about its content, fails and leaves no file', async (t) => {
    const path = join(rig.stack.dir, 'bad.ndjson');
    const body = '{"id":"a"}\n';
    const sha = createHash('sha256').update(body).digest('hex');
    const answers: [string, RegExp][] = [
      [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n${body}\r\n`, /broke off after 11 bytes/],
      [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n${body}\r\n0\r\n\r\n`, /without its row count and digest/],
      [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n${body}\r\n0\r\nx-export-rows: 1\r\nx-export-sha256: ${'0'.repeat(64)}\r\n\r\n`, /is damaged/],
      [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n${body}\r\n0\r\nx-export-rows: 2\r\nx-export-sha256: ${sha}\r\n\r\n`, /has 1 rows, the server sent 2/],
    ];
    for (const [answer, expected] of answers) {
      const server: Server = createServer((request) => { request.socket.end(answer); });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const run = await runCli(['audit', 'export', '--output', path, '--base-url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`, '--token', 'x']);
      t.equal(run.code, 1);
      t.match(run.stderr, expected);
      t.notOk(existsSync(path) || existsSync(`${path}.partial`));
      server.close();
    }
  });

  t.test('verify: sound, and a hole by name', async (t) => {
    const sound = screen(true);
    t.equal(await runVerify({ dataDir: rig.dataDir }, sound), 0, sound.text);
    t.match(sound.text, /import:events-[0-9a-f]{6} +1 +1,000 +1,000 +0 +0 /);
    t.match(sound.text, /sound: stored/);
    await rig.clickhouse.client.command({ query: `ALTER TABLE ${rig.clickhouse.events} DELETE WHERE id = {id:UUID}`, query_params: { id: events[7]?.id ?? '' }, clickhouse_settings: { mutations_sync: '2' } });
    const hole = screen(true);
    t.equal(await runVerify({ dataDir: rig.dataDir }, hole), 1);
    t.match(hole.text, /import:events-[0-9a-f]{6}: short: batch 1 \([0-9a-f-]{36}\), 999 of 1000 rows/);
    t.match(hole.text, /NOT sound/);
    const piped = await runCli(['audit', 'verify', '--data-dir', rig.dataDir]);
    t.equal(piped.code, 1);
    t.match(ndjson(piped.stdout).find((report) => (report as { holes: unknown[] }).holes.length > 0), { acceptedRows: 1000, storedRows: 999, holes: [{ kind: 'short' }] });
    await t.rejects(runVerify({ dataDir: rig.dataDir, journal: [rig.stack.dir] }, screen(false)), /is not a journal/);
  });

  t.test('dead letters: listed, replayed once', async (t) => {
    const deadLetters = createDeadLetterStore(rig.sql);
    const [event] = rows(one, 1, 800_000);
    if (event === undefined) throw new Error('no row');
    const { timestamp, detail: _detail, budget_state: _state, ...rest } = event;
    const line = JSON.stringify({ ...rest, timestamp: `${timestamp.slice(0, 10)} ${timestamp.slice(11, 26)}`, retention_days: 400 });
    const { org_id, ...others } = JSON.parse(line) as Record<string, unknown>;
    const batchId = uuidv7();
    const common = { batchId, producer: 'proxy:gone', batchNo: 1, orgId: one, errorCode: '27', error: `bad${escape}[2J row` };
    await deadLetters.keep({ ...common, lineNo: 0, line: Buffer.from(JSON.stringify({ org_id, ...others })) });
    await deadLetters.keep({ ...common, lineNo: 1, line: Buffer.from('not json') });
    const table = screen(true, 200);
    await runList({ dataDir: rig.dataDir, limit: 100 }, table);
    t.match(table.text, /proxy:gone +1:0/);
    t.notMatch(table.text, new RegExp(`${escape}\\[2J`));
    const piped = screen(false);
    await runList({ dataDir: rig.dataDir, limit: 1 }, piped);
    const [letter] = ndjson<{ id: number; line: string; errorCode: string }>(piped.text);
    t.match(letter, { errorCode: '27', line: /^\{"org_id"/ });
    await t.rejects(runReplay([], { dataDir: rig.dataDir }, screen(false)), /give the ids to send again, or --all/);
    await t.rejects(runReplay(['x'], { dataDir: rig.dataDir }, screen(false)), /expected an integer/);
    const replayed = screen(false);
    t.equal(await runReplay([], { dataDir: rig.dataDir, all: true }, replayed), 1, 'one of them cannot be repaired');
    t.match(replayed.text, /stays: not a line of JSON/);
    t.match(replayed.text, /1 sent again/);
    const again = screen(false);
    t.equal(await runReplay([String(letter?.id ?? 0)], { dataDir: rig.dataDir }, again), 1);
    t.match(again.text, /1 of these are no waiting dead letters\n0 sent again/);
    while (!(await rig.storedIds(one)).includes(event.id)) await new Promise((resolve) => setTimeout(resolve, 50));
    t.equal((await rig.storedIds(one)).filter((id) => id === event.id).length, 1);
  });

  t.test('where the API is: options, data directory, environment', async (t) => {
    const none = await runCli(['audit', 'query', '--data-dir', join(rig.stack.dir, 'nowhere')]);
    t.equal(none.code, 1);
    t.match(none.stderr, /no stack in .*nowhere: there is no dev\.json/);
    const half = await runCli(['audit', 'query', '--base-url', target.baseUrl], { CUSTOMHOUSE_TOKEN: '' });
    t.match(half.stderr, /no credentials/);
    const both = await runCli(['audit', 'query', '--limit', '1', '--base-url', `${target.baseUrl}/v1/`], { CUSTOMHOUSE_TOKEN: target.token });
    t.equal(both.code, 0, both.stderr);
    t.equal(ndjson(both.stdout).length, 1);
    const bad = await runCli(['audit', 'query', '--limit', '0']);
    t.not(bad.code, 0);
    t.match(bad.stderr, /--limit: expected an integer from 1/);
  });
});
