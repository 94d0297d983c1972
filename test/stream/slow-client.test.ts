import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createParser } from 'eventsource-parser';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { Hub } from '../../src/stream/hub.ts';
import { serveEventStream } from '../../src/stream/serve-event-stream.ts';
import { eventStreamHeaders } from '../../src/stream/sse.ts';
import type { SseWriter } from '../../src/stream/sse-writer.ts';
import type { CloseReason } from '../../src/stream/subscriber.ts';
import { all, connect, startRig } from './rig.ts';
import { Client, rows, until } from './truth.ts';

const rig = await startRig(t);
const { publisher } = rig;

t.test('a client that takes nothing is closed as slow, resumes, and has every row once', async (t) => {
  const { truth, hub } = rig.hub({ stallMs: 50 });
  const org = uuidv7();
  const slow = await connect(hub, { orgId: org }, new Client(30));
  const quick = await connect(hub, { orgId: org });
  for (let batch = 0; batch < 20; batch += 1) await truth.commit(publisher, ...rows(org, 10, batch * 10));
  await until(() => slow.client.reason !== undefined, 'closed');
  t.equal(slow.client.reason, 'slow_consumer');
  t.ok(slow.client.peak <= 40, `held ${slow.client.peak} rows`);
  await until(() => quick.client.ids.length >= 200, 'the quick client is not held up');
  t.same(quick.client.ids, truth.ids(org));
  t.equal(quick.client.reason, undefined);
  const again = await connect(hub, { orgId: org, lastEventId: slow.client.ids.at(-1) });
  await until(() => slow.client.ids.length + again.client.ids.length >= 200, 'the rest');
  t.same([...slow.client.ids, ...again.client.ids], truth.ids(org));
});

t.test('a client that is slow but reads is paced from the log, not closed', async (t) => {
  const { truth, hub } = rig.hub({ stallMs: 5000 });
  const org = uuidv7();
  const { client } = await connect(hub, { orgId: org }, new Client(5));
  const quick = await connect(hub, { orgId: org });
  const drip = setInterval(() => client.drain(), 2);
  t.teardown(() => clearInterval(drip));
  for (let batch = 0; batch < 20; batch += 1) await truth.commit(publisher, ...rows(org, 10, batch * 10, { detail: { text: 'x'.repeat(30_000) } }));
  await until(() => client.ids.length >= 200 && quick.client.ids.length >= 200, 'all rows');
  t.same(client.ids, truth.ids(org));
  t.same(quick.client.ids, truth.ids(org));
  t.ok(client.peak < 10, `held ${client.peak} rows at once`);
  t.equal(client.reason, undefined);
});

type Served = { ids: string[]; ended: boolean; reply: IncomingMessage; comments: string[] };

/** The hub behind a real HTTP server, as the API has it. */
async function serve(t: Tap, hub: Hub, orgId: string, bufferBytesMax: number): Promise<{ get: (lastEventId?: string) => Promise<Served>; writers: SseWriter[]; reasons: CloseReason[] }> {
  const writers: SseWriter[] = [];
  const reasons: CloseReason[] = [];
  const server = createServer((call, reply) => {
    void hub.subscribe({ orgId, matches: all, lastEventId: call.headers['last-event-id'] as string | undefined }).then((subscription) => {
      reply.writeHead(200, eventStreamHeaders);
      writers.push(serveEventStream({ subscription, output: reply, event: 'audit', bufferBytesMax, heartbeatMs: 1000, durationMs: 60_000, closeGraceMs: 50, onClosed: (reason) => reasons.push(reason) }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const get = async (lastEventId?: string): Promise<Served> => {
    const call = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId } }).end();
    const [reply] = await once(call, 'response') as [IncomingMessage];
    const served: Served = { ids: [], ended: false, reply, comments: [] };
    const parser = createParser({ onEvent: (message) => served.ids.push(message.id ?? ''), onComment: (comment) => served.comments.push(comment) });
    const decoder = new TextDecoder();
    reply.on('data', (chunk: Buffer) => parser.feed(decoder.decode(chunk, { stream: true })));
    reply.on('close', () => (served.ended = true));
    reply.on('error', () => undefined);
    return served;
  };
  return { get, writers, reasons };
}

type Tap = { teardown(fn: () => void): unknown };

t.test('over HTTP: bursts much larger than the buffer reach a reading client whole', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const { get, reasons } = await serve(t, hub, org, 100_000);
  const client = await get();
  for (let batch = 0; batch < 10; batch += 1) await truth.commit(publisher, ...rows(org, 300, batch, { detail: { text: 'x'.repeat(2000) } }));
  await until(() => client.ids.length >= 3000, 'all rows');
  t.same(client.ids, truth.ids(org));
  t.same(client.comments[0], 'connected');
  t.same(reasons, []);
});

t.test('over HTTP: a client that stops reading is cut, and resumes where its last whole event was', async (t) => {
  const { truth, hub } = rig.hub({ stallMs: 100 });
  const org = uuidv7();
  const { get, writers, reasons } = await serve(t, hub, org, 100_000);
  const client = await get();
  await truth.commit(publisher, ...rows(org, 5));
  await until(() => client.ids.length >= 5, 'first rows');
  client.reply.pause();
  while ((writers[0]?.pendingBytes() ?? 0) < 100_000) {
    await truth.commit(publisher, ...rows(org, 200, 5, { detail: { text: 'x'.repeat(5000) } }));
    t.ok((writers[0]?.pendingBytes() ?? 0) <= 100_000 + 80_000, 'bounded');
  }
  await until(() => reasons.length > 0, 'closed');
  t.same(reasons, ['slow_consumer']);
  client.reply.resume();
  await until(() => client.ended, 'the cut');
  const again = await get(client.ids.at(-1));
  await until(() => client.ids.length + again.ids.length >= truth.ids(org).length, 'the rest');
  t.same([...client.ids, ...again.ids], truth.ids(org));
  t.equal(hub.stats().clients, 1);
  const stranger = await get('0198aaaa-0000-7000-8000-000000000000');
  await until(() => stranger.comments.length > 0, 'a comment');
  t.match(stranger.comments[0], /^Last-Event-ID is unknown here/);
  await hub.stop();
  await until(() => again.ended && stranger.ended, 'ends at shutdown');
  t.equal(again.comments.at(-1), 'closing: shutdown');
});
