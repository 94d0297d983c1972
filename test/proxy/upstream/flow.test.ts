import { readdirSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { startUpstream } from '../local-upstream.ts';
import { ask, good, rawUpstream, requestTo, textOf, until, upstreamOf } from './upstream-harness.ts';

const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

t.test('a body that the agent cuts, or that is not as long as it said, is not sent as a whole one', async (t) => {
  const server = await rawUpstream(t, (socket, head) => head.includes('/early') && socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'));
  const upstream = upstreamOf(t);
  const post = requestTo(server.port, { method: 'POST', body: { kind: 'stream' } });
  for (const [length, finish] of [[undefined, (body: PassThrough) => body.destroy(new Error('gone'))], [undefined, (body: PassThrough) => body.destroy()], [10, (body: PassThrough) => body.end()], [3, (body: PassThrough) => body.end('more')]] as const) {
    const body = new PassThrough();
    body.write('part');
    const sent = ask(upstream, post, { body, bodyLength: length });
    setTimeout(() => finish(body), 20);
    t.match(await sent, { failure: 'aborted', sent: true });
    await until(() => server.sockets.size === 0);
  }
  t.notMatch(server.received(), /\r\n0\r\n\r\n/);
  const open = new PassThrough();
  open.write('part');
  t.equal(await textOf(await ask(upstream, { ...post, path: '/early' }, { body: open, bodyLength: undefined })), 'no', 'an early answer is passed on');
  await until(() => open.destroyed && server.sockets.size === 0);
  t.pass('and the rest of the body not taken');
});

t.test('back-pressure: a reader that stops stops the upstream, an upstream that stops stops the body', async (t) => {
  let written = 0;
  const total = 64 * 1_048_576;
  const server = await startUpstream(t, {
    handler: (_request, response) => {
      response.writeHead(200, { 'content-length': String(total) });
      const block = Buffer.alloc(65_536);
      const more = (): void => {
        while (written < total && !response.destroyed) {
          written += block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    },
  });
  const { body } = good(await ask(upstreamOf(t), requestTo(server.port)));
  await wait(150);
  const stopped = written;
  t.ok(stopped < total / 2, `${stopped} bytes written while nobody read`);
  await wait(100);
  t.equal(written, stopped);
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length;
  t.equal(bytes, total);
  let made = 0;
  const deaf = await rawUpstream(t, () => undefined, (socket) => socket.pause());
  const source = new Readable({ read() { made += 65_536; this.push(Buffer.alloc(65_536)); } });
  const controller = new AbortController();
  const sending = ask(upstreamOf(t), requestTo(deaf.port, { method: 'POST', body: { kind: 'stream' } }), { body: source, bodyLength: undefined, signal: controller.signal });
  await wait(150);
  const taken = made;
  t.ok(taken < 32 * 1_048_576, `${taken} bytes taken`);
  await wait(100);
  t.equal(made, taken);
  controller.abort();
  t.same(await sending, { failure: 'aborted', sent: true });
});

t.test('a kept connection that ended is replaced before anything is sent; a request that was sent is not sent again', async (t) => {
  let drop = false;
  const server = await rawUpstream(t, (socket) => {
    if (drop) socket.destroy();
    else socket.write(plain);
  });
  const upstream = upstreamOf(t);
  for (let round = 0; round < 5; round += 1) {
    t.equal(await textOf(await ask(upstream, requestTo(server.port, { method: 'POST' }))), 'ok');
    for (const socket of server.sockets) socket.destroy();
    await until(() => upstream.stats().connections === 0);
  }
  t.equal(server.connections(), 5);
  drop = true;
  const before = server.received().length;
  t.same(await ask(upstream, requestTo(server.port)), { failure: 'reset', sent: true });
  t.equal(server.received().slice(before).match(/GET/g)?.length, 1);
});

t.test('thousands of requests, one after the other and at once, leave descriptors as they were', async (t) => {
  const server = await startUpstream(t);
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CONNECTIONS_MAX: '16' });
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  const round = async (): Promise<void> => {
    t.equal(await textOf(await ask(upstream, requestTo(server.port))), 'hello');
  };
  await Promise.all(Array.from({ length: 64 }, round));
  const before = descriptors();
  for (let at = 0; at < 3000; at += 1) if (await textOf(await ask(upstream, requestTo(server.port))) !== 'hello') t.fail('wrong answer');
  await Promise.all(Array.from({ length: 500 }, round));
  t.ok(descriptors() <= before + 4, `${before} before, ${descriptors()} after`);
  t.match(upstream.stats(), { origins: 1, waiting: 0 });
  t.ok(upstream.stats().connections <= 16);
});
