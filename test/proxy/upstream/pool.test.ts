import { readdirSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { createSecureContext } from 'node:tls';
import t from 'tap';
import { createUpstreamLeg } from '../../../src/proxy/upstream/dispatch.ts';
import { readPrivateUpstreams } from '../../../src/proxy/upstream/private-upstreams.ts';
import { createResolver } from '../../../src/proxy/upstream/resolve.ts';
import { startUpstream } from '../local-upstream.ts';
import { ask, cutOf, good, rawUpstream, requestTo, textOf, until, upstreamOf } from './upstream-harness.ts';

t.test('whatever upstreams and agents do, an answer belongs to its request, and every connection comes back', async (t) => {
  // Numbers of a fixed sequence, so that a failure comes again.
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  const server = await rawUpstream(t, (socket, head) => {
    const [, id = '', what = ''] = /^\w+ \/(\d+)\/(\w+)/.exec(head) ?? [];
    const whole = `HTTP/1.1 200 OK\r\nX-Id: ${id}\r\nContent-Length: ${id.length}\r\n\r\n${id}`;
    const answers: Readonly<Record<string, () => unknown>> = {
      whole: () => socket.write(whole),
      chunked: () => socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${id.length.toString(16)}\r\n${id}\r\n0\r\n\r\n`),
      closing: () => socket.end(whole.replace('X-Id', 'Connection: close\r\nX-Id')),
      // Says it stays, and goes.
      lying: () => socket.end(whole),
      extra: () => socket.write(`${whole}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`),
      later: () => setTimeout(() => socket.write(whole), 5),
      halves: () => {
        socket.write(whole.slice(0, 30));
        setTimeout(() => socket.write(whole.slice(30)), 3);
      },
      cut: () => socket.end(whole.slice(0, -1)),
      reset: () => socket.resetAndDestroy(),
      garbage: () => socket.write('garbage\r\n\r\n'),
      silent: () => undefined,
    };
    answers[what]?.();
  });
  const kinds = ['whole', 'whole', 'whole', 'chunked', 'closing', 'lying', 'extra', 'later', 'halves', 'cut', 'reset', 'garbage', 'silent'];
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CONNECTIONS_MAX: '16', PROXY_HEADERS_TIMEOUT_MS: '150', PROXY_CONNECT_TIMEOUT_MS: '5000' });
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  const outcomes = new Map<string, number>();
  let id = 1000;
  const one = async (): Promise<void> => {
    id += 1;
    const own = String(id);
    const kind = kinds[random(kinds.length)] ?? 'whole';
    const controller = new AbortController();
    const aborts = random(6) === 0;
    if (aborts) setTimeout(() => controller.abort(), random(8));
    const upload = random(4) === 0;
    const body = new PassThrough();
    if (upload) body.end('upload');
    const answer = await ask(upstream, requestTo(server.port, { method: upload ? 'POST' : 'GET', path: `/${own}/${kind}`, body: upload ? { kind: 'stream' } : { kind: 'none' } }), { signal: controller.signal, ...(upload ? { body, bodyLength: undefined } : {}) });
    let outcome = 'failure' in answer ? answer.failure : '';
    if (!('failure' in answer)) {
      const chunks: Buffer[] = [];
      answer.body.on('data', (chunk: Buffer) => chunks.push(chunk));
      outcome = await new Promise((resolve) => answer.body.once('close', () => resolve(answer.body.errored === null ? 'whole' : 'cut')));
      const text = Buffer.concat(chunks).toString();
      if (outcome === 'whole' ? text !== own : !own.startsWith(text)) t.fail(`request ${own} (${kind}) got ${JSON.stringify(text)}`);
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const expected: Readonly<Record<string, readonly string[]>> = { cut: ['cut'], reset: ['reset'], garbage: ['protocol_error'], silent: ['headers_timeout'] };
    const may = [...(expected[kind] ?? ['whole']), ...(aborts ? ['aborted', 'cut'] : [])];
    // A connection that says it stays and goes, or is given bytes nobody asked for, may take the next request with it: seen as such, never as an answer.
    if (!may.includes(outcome) && outcome !== 'reset' && outcome !== 'protocol_error') t.fail(`request ${own} (${kind}) came out as ${outcome}`);
  };
  const lane = async (): Promise<void> => {
    for (let round = 0; round < 30; round += 1) await one();
  };
  await Promise.all(Array.from({ length: 32 }, lane));
  for (const outcome of ['whole', 'cut', 'reset', 'protocol_error', 'headers_timeout', 'aborted']) t.ok((outcomes.get(outcome) ?? 0) > 0, `${outcome}: ${outcomes.get(outcome)}`);
  t.ok((outcomes.get('whole') ?? 0) > 400);
  t.match(upstream.stats(), { waiting: 0 });
  t.ok(upstream.stats().connections <= 16);
  upstream.stop();
  await until(() => server.sockets.size === 0);
  await until(() => descriptors() <= before + 1);
});

t.test('origins are bounded: the longest unused one keeps no connection, running requests end well', async (t) => {
  const server = await startUpstream(t, { handler: (request, response) => void setTimeout(() => response.end(request.url), request.url === '/slow' ? 100 : 0) });
  const upstream = createUpstreamLeg({
    resolver: createResolver({ allowed: readPrivateUpstreams('*'), isOwn: () => false, lookup: async () => [{ address: '127.0.0.1' }] }),
    trust: createSecureContext(),
    limits: { originsMax: 3, connectionsMax: 2, waitingMax: 1, idleMs: 60_000, connectTimeoutMs: 5000, headersTimeoutMs: 5000, bodyIdleTimeoutMs: 5000, headerBytesMax: 16_384 },
  });
  t.teardown(() => upstream.stop());
  const slow = ask(upstream, requestTo(server.port, { host: 'slow.example', path: '/slow' }));
  for (let at = 0; at < 20; at += 1) t.equal(await textOf(await ask(upstream, requestTo(server.port, { host: `n${at}.example` }))), '/');
  t.match(upstream.stats(), { origins: 3 });
  t.equal(await textOf(await slow), '/slow', 'its pool was dropped while it ran');
  const connections = (): Promise<number> => new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count)));
  while (await connections() > 3) await new Promise((resolve) => setTimeout(resolve, 5));
  const busy = [1, 2, 3].map(() => ask(upstream, requestTo(server.port, { host: 'busy.example', path: '/slow' })));
  t.same(await ask(upstream, requestTo(server.port, { host: 'busy.example' })), { failure: 'connect_timeout', sent: false }, 'two run, one waits, no more may');
  for (const answer of busy) t.equal(await textOf(await answer), '/slow');
});

t.test('stopping ends what runs', async (t) => {
  const server = await rawUpstream(t, (socket, head) => head.includes('/body') && socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'));
  const upstream = upstreamOf(t, { PROXY_UPSTREAM_CONNECTIONS_MAX: '2' });
  const silent = ask(upstream, requestTo(server.port));
  const answered = good(await ask(upstream, requestTo(server.port, { path: '/body' })));
  const waiting = ask(upstream, requestTo(server.port));
  await until(() => upstream.stats().waiting === 1);
  upstream.stop();
  t.same(await silent, { failure: 'aborted', sent: true });
  t.not(await cutOf(answered), 'complete');
  t.same(await waiting, { failure: 'connect_failed', sent: false });
  t.same(await ask(upstream, requestTo(server.port)), { failure: 'connect_failed', sent: false }, 'nothing more after the end');
  await until(() => server.sockets.size === 0);
});
