import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import t from 'tap';
import { streamRow } from '../../src/stream/row.ts';
import { createSseWriter } from '../../src/stream/sse-writer.ts';
import type { SseWriter, SseWriterOptions } from '../../src/stream/sse-writer.ts';
import type { CloseReason } from '../../src/stream/subscriber.ts';
import { row, until } from './truth.ts';

type Opened = { writer: SseWriter; reasons: CloseReason[] };

function open(output: Writable, options: Partial<SseWriterOptions> = {}): Opened {
  const reasons: CloseReason[] = [];
  const writer = createSseWriter({ output, event: 'audit', bufferBytesMax: 1_000_000, heartbeatMs: 60_000, durationMs: 60_000, onClosed: (reason) => reasons.push(reason), ...options });
  t.teardown(() => writer.close('shutdown'));
  return { writer, reasons };
}

function collected(stream: NodeJS.ReadableStream): { text: string } {
  const result = { text: '' };
  stream.on('data', (chunk: Buffer) => (result.text += chunk.toString()));
  return result;
}

t.test('rows given in one turn leave in one write', async (t) => {
  const chunks: string[] = [];
  const output = new Writable({ write(chunk: Buffer, _encoding, done) { chunks.push(chunk.toString()); done(); } });
  const { writer } = open(output);
  writer.comment('connected');
  const given = [1, 2, 3].map((n) => streamRow(row('o', n)));
  t.equal(writer.deliver(given.slice(0, 2)), true);
  t.equal(writer.deliver(given.slice(2)), true);
  await until(() => chunks.length > 0, 'a write');
  t.equal(chunks.length, 1);
  t.equal(chunks[0]?.match(/^event: audit$/gm)?.length, 3);
  t.ok(chunks[0]?.startsWith(': connected\n\n'));
  t.equal(writer.pendingBytes(), 0);
});

t.test('heartbeats come while nothing else does, and the stream closes at its maximum age with the reason', async (t) => {
  const output = new PassThrough();
  const seen = collected(output);
  const { reasons } = open(output, { heartbeatMs: 10, durationMs: 100, retryMs: 700 });
  await once(output, 'end');
  t.same(reasons, ['duration']);
  t.ok(seen.text.startsWith('retry: 700\n\n'));
  t.ok((seen.text.match(/^: heartbeat$/gm)?.length ?? 0) >= 2);
  t.ok(seen.text.endsWith(': closing: duration\n\n'));
});

t.test('a writer that is closed takes nothing more and tells once', async (t) => {
  const output = new PassThrough();
  const seen = collected(output);
  const { writer, reasons } = open(output);
  writer.deliver([streamRow(row('o', 1))]);
  writer.close('shutdown');
  t.equal(writer.deliver([streamRow(row('o', 2))]), false);
  writer.comment('late');
  writer.close('error');
  await writer.drained();
  await once(output, 'end');
  t.same(reasons, ['shutdown']);
  t.equal(seen.text.match(/^event:/gm)?.length, 1, 'what was taken before is sent');
  t.ok(seen.text.endsWith(': closing: shutdown\n\n'));
});

t.test('over the bound rows are not welcome; drained resolves when half of it is gone', async (t) => {
  const held: (() => void)[] = [];
  const output = new Writable({ highWaterMark: 1, write(_chunk, _encoding, done) { held.push(done); } });
  const { writer } = open(output, { bufferBytesMax: 2000 });
  const long = streamRow(row('o', 1, { path: 'x'.repeat(1200) }));
  t.equal(writer.deliver([long]), true);
  await until(() => held.length === 1, 'first write');
  t.equal(writer.deliver([long]), false);
  let drained = false;
  const waiting = writer.drained().then(() => (drained = true));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(drained, false);
  held.shift()?.();
  await until(() => held.length === 1, 'second write');
  t.equal(drained, false, 'more than half is still there');
  held.shift()?.();
  await waiting;
  t.equal(writer.pendingBytes(), 0);
  for (const done of held) done();
});

t.test('heartbeats do not pile up before a client that does not read', async (t) => {
  const output = new Writable({ highWaterMark: 1, write() { /* never done */ } });
  const { writer } = open(output, { bufferBytesMax: 100, heartbeatMs: 1, closeGraceMs: 10 });
  await until(() => writer.pendingBytes() >= 100, 'the bound');
  await new Promise((resolve) => setTimeout(resolve, 30));
  t.ok(writer.pendingBytes() < 150);
  writer.close('slow_consumer');
  await once(output, 'close');
  t.equal(output.destroyed, true, 'cut after the grace time');
});

t.test('an output that is gone already ends the writer', async (t) => {
  const output = new PassThrough();
  output.destroy();
  await once(output, 'close');
  const { reasons } = open(output);
  await until(() => reasons.length > 0, 'closed');
  t.same(reasons, ['client']);
});

t.test('over HTTP', async (t) => {
  let opened: Opened | undefined;
  let response: ServerResponse | undefined;
  const server = createServer((_request, reply) => {
    response = reply.writeHead(200, { 'content-type': 'text/event-stream' });
    opened = open(reply, { bufferBytesMax: 200_000, closeGraceMs: 50 });
    opened.writer.comment('connected');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => void server.close());
  const connected = async (): Promise<IncomingMessage> => {
    const call = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end();
    const [reply] = await once(call, 'response') as [IncomingMessage];
    return reply;
  };

  t.test('the headers arrive before the first row', async (t) => {
    const reply = await connected();
    t.equal(reply.statusCode, 200);
    reply.destroy();
    await until(() => opened?.reasons.length === 1, 'the going of the client');
    t.same(opened?.reasons, ['client']);
  });

  t.test('a client that reads gets everything, however large', async (t) => {
    const reply = await connected();
    const seen = collected(reply);
    const big = streamRow(row('o', 1, { path: 'x'.repeat(50_000) }));
    for (let n = 0; n < 200; n += 1) {
      if (opened?.writer.deliver([big]) === false) await opened.writer.drained();
    }
    opened?.writer.close('duration');
    await once(reply, 'end');
    t.equal(seen.text.match(/^event: audit$/gm)?.length, 200);
  });

  t.test('a client that does not read holds a bounded number of bytes, and is cut after being closed', async (t) => {
    const reply = await connected();
    reply.pause();
    const big = streamRow(row('o', 1, { path: 'x'.repeat(50_000) }));
    while (opened?.writer.deliver([big]) === true) await new Promise((resolve) => setImmediate(resolve));
    t.ok((opened?.writer.pendingBytes() ?? 0) < 300_000);
    opened?.writer.close('slow_consumer');
    await until(() => response?.destroyed === true, 'the cut');
    t.same(opened?.reasons, ['slow_consumer']);
    reply.destroy();
  });
});
