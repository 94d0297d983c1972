import t from 'tap';
import { RawClient, startHarness } from './proxy-harness.ts';

/** A small seeded generator: a failure can be run again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

type Kind = 'plain' | 'post' | 'pipelined' | 'connect' | 'upgrade' | 'malformed' | 'half' | 'abortedAfterHeaders' | 'expect' | 'reset';
const kinds: readonly Kind[] = ['plain', 'post', 'pipelined', 'connect', 'upgrade', 'malformed', 'half', 'abortedAfterHeaders', 'expect', 'reset'];

/** Runs one connection; answers how many requests it made. `path` marks them, where they have one. */
async function run(kind: Kind, port: number, path: string, token: string): Promise<number> {
  const auth = `Host: up.example\r\nProxy-Authorization: Bearer ${token}\r\n`;
  const get = `GET ${path} HTTP/1.1\r\n${auth}\r\n`;
  const last = `GET ${path} HTTP/1.1\r\n${auth}Connection: close\r\n\r\n`;
  const client = new RawClient(port);
  await new Promise((resolve) => client.socket.once('connect', resolve));
  switch (kind) {
    case 'plain':
      await client.send(last).closed;
      return 1;
    case 'post':
      await client.send(`POST ${path} HTTP/1.1\r\n${auth}Connection: close\r\nContent-Length: 4\r\n\r\nbody`).closed;
      return 1;
    case 'pipelined':
      await client.send(get.repeat(9) + last).closed;
      return 10;
    case 'connect':
      await client.send(`CONNECT up.example:443 HTTP/1.1\r\n${auth}\r\nbytes of a tunnel`).closed;
      return 1;
    case 'upgrade':
      await client.send(`GET ${path} HTTP/1.1\r\n${auth}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`).closed;
      return 1;
    case 'malformed':
      await client.send(`${get}GET ${path} HTTP/9\r\n\r\n`).closed;
      return 2;
    case 'half':
      client.send(`GET ${path} HTTP/1.1\r\nHost`);
      client.socket.end();
      await client.closed;
      return 1;
    case 'abortedAfterHeaders':
      client.send(`POST ${path} HTTP/1.1\r\n${auth}Content-Length: 100\r\n\r\nsome`);
      client.socket.end();
      await client.closed;
      return 1;
    case 'expect':
      await client.send(`POST ${path} HTTP/1.1\r\n${auth}Content-Length: 3\r\nExpect: 100-continue\r\n\r\n`).closed;
      return 1;
    case 'reset':
      client.send(get);
      await client.until(/HTTP\/1\.1 403/);
      client.socket.resetAndDestroy();
      await client.closed;
      return 1;
  }
}

t.test('200 mixed connections: rows = requests', async (t) => {
  const harness = await startHarness(t);
  const token = await harness.token();
  const next = random(7);
  const expected: Promise<number>[] = [];
  for (let n = 0; n < 200; n += 1) {
    const kind = kinds[n < kinds.length ? n : Math.floor(next() * kinds.length)] ?? 'plain';
    expected.push(run(kind, harness.port, `http://up.example/${n}`, token));
    if (n % 20 === 19) await Promise.all(expected);
  }
  const requests = (await Promise.all(expected)).reduce((sum, count) => sum + count, 0);
  const rows = await harness.rows();
  t.equal(rows.length, requests);
  t.equal(new Set(rows.map((row) => row.id)).size, requests, 'every row has its own id');
  t.equal(new Set(rows.map((row) => row.source_seq)).size, requests, 'and its own source_seq');
  t.same([...new Set(rows.map((row) => row.reason))].sort(), ['no_match', 'no_policy']);
  t.same(harness.logged, []);
});

t.test('no byte of an answer leaves before the row is in the journal', async (t) => {
  const harness = await startHarness(t);
  const { append } = harness.journal;
  const written: string[] = [];
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => { release = resolve; });
  // The real journal writes the row; only the news of it is held back.
  Object.assign(harness.journal, { append: async (line: string, timestamp: string) => { await append(line, timestamp); written.push(line); await held; } });
  const client = new RawClient(harness.port).send('GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  while (written.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  await new Promise((resolve) => setTimeout(resolve, 30));
  t.equal(client.received, '');
  release?.();
  t.match(await client.closed, /^HTTP\/1\.1 407 /);
});

t.test('a full journal: 503 without a row, and the proxy goes on when there is room again', async (t) => {
  const harness = await startHarness(t, { journal: { diskBytesMax: 140_000, sealBytes: 65_536 } });
  const answers: number[] = [];
  const ask = async (): Promise<number> => {
    const reply = await new RawClient(harness.port).send(`GET /${'x'.repeat(4000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`).closed;
    const status = Number(reply.slice(9, 12));
    if (status === 503) t.match(reply, /"code":"dependency_unavailable"/);
    answers.push(status);
    return status;
  };
  for (let n = 0; n < 200 && await ask() !== 503; n += 1);
  t.equal(answers.at(-1), 503);
  t.equal((await fetch(`${harness.proxy.adminUrl}/healthz`)).status, 200, 'the process is up');
  const ready = await fetch(`${harness.proxy.adminUrl}/readyz`);
  t.equal(ready.status, 503);
  t.match(await ready.json(), { down: { journal: String } });
  t.ok(harness.logged.length > 0, 'it says so in its log');
  const stored = await harness.rows();
  t.equal(stored.length, answers.filter((status) => status === 407).length, 'rows = decided requests');
  for (const { id } of await harness.journal.source.pending(100)) await harness.journal.source.confirm(id);
  t.equal(await ask(), 407, 'accepted again after batches were stored');
});

t.test('more requests at once than allowed are answered 503 and have no row', async (t) => {
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => { release = resolve; });
  const harness = await startHarness(t, { env: { PROXY_REQUESTS_MAX: '2' }, verify: async () => { await held; return undefined; } });
  const send = (): RawClient => new RawClient(harness.port).send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Capability-Token: t\r\n\r\n');
  const clients = [send(), send(), send()];
  const first = await Promise.race(clients.map((client) => client.closed));
  t.match(first, /^HTTP\/1\.1 503 /);
  release?.();
  const replies = await Promise.all(clients.map((client) => client.closed));
  t.equal(replies.filter((reply) => reply.startsWith('HTTP/1.1 403 ')).length, 2);
  t.equal((await harness.rows()).length, 2);
});

t.test('stop: running requests finish, begun ones get their row, nothing new is accepted', async (t) => {
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => { release = resolve; });
  const harness = await startHarness(t, { verify: async () => { await held; return undefined; } });
  const running = new RawClient(harness.port).send('GET /running HTTP/1.1\r\nHost: a\r\nX-Capability-Token: t\r\n\r\n');
  const begun = new RawClient(harness.port).send('GET /begun HTTP/1.1\r\nHo');
  const idle = new RawClient(harness.port).send('GET /idle HTTP/1.1\r\nHost: a\r\n\r\n');
  await idle.until(/"request_id"/);
  const stopped = harness.proxy.stop(300);
  await idle.closed;
  release?.();
  const reply = await running.closed;
  t.match(reply, /^HTTP\/1\.1 403 /);
  t.match(reply, /connection: close/i);
  await stopped;
  t.match(await begun.closed, /^HTTP\/1\.1 503 .*shutting_down/s);
  t.equal(await new RawClient(harness.port).closed, '', 'refused');
  const rows = await harness.rows();
  t.same(rows.map((row) => row.path ?? row.detail?.['refused']).sort(), ['/idle', '/running', 'shutting_down']);
});
