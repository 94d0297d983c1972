import { setTimeout as sleep } from 'node:timers/promises';
import type { MixUpstreams } from './upstreams.ts';
import { Wire } from './wire.ts';

/** One connection of a mix. */
export type Connection = {
  readonly wire: Wire;
  readonly ca: string;
  readonly upstreams: MixUpstreams;
  readonly token: string;
  /** A path of its own for one more request that must have its row, `/v1/<kind>/<n>`. */
  readonly path: (kind?: string, version?: string) => string;
  /** Counts a request whose row has no path: a malformed one, or a CONNECT. */
  readonly pathless: () => void;
};

export type Kind = (connection: Connection) => Promise<void>;

const host = 'api.example.com';

/** Text of a request in absolute form, with the token; its headers follow. */
function head({ upstreams, token }: Connection, path: string, { method = 'GET', auth = `Proxy-Authorization: Bearer ${token}\r\n`, more = '' } = {}): string {
  return `${method} http://${host}:${upstreams.plainPort}${path} HTTP/1.1\r\nHost: ${host}:${upstreams.plainPort}\r\n${auth}${more}\r\n`;
}
const close = 'Connection: close\r\n';
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n';

function connect({ upstreams, token }: Connection): string {
  return `CONNECT ${host}:${upstreams.securePort} HTTP/1.1\r\nHost: ${host}:${upstreams.securePort}\r\nProxy-Authorization: Bearer ${token}\r\n\r\n`;
}

async function tunnel(connection: Connection): Promise<(path: string, more?: string, method?: string) => string> {
  const { wire, ca, upstreams } = connection;
  await wire.send(connect(connection));
  await wire.until(/ 200 /);
  await wire.secure(ca, host);
  return (path, more = '', method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: ${host}:${upstreams.securePort}\r\n${more}\r\n`;
}

const answers = (count: number): RegExp => new RegExp(`(?:HTTP/1\\.1 \\d[^]*?){${count}}`);

/** Requests that are answered. */
const answered: Record<string, Kind> = {
  get: (c) => c.wire.last(head(c, c.path(), { more: close })),
  head: (c) => c.wire.last(head(c, c.path(), { method: 'HEAD', more: close })),
  post: (c) => c.wire.last(`${head(c, c.path(), { method: 'POST', more: `${close}Content-Length: 5\r\n` })}hello`),
  chunked: (c) => c.wire.last(`${head(c, c.path(), { method: 'POST', more: `${close}Transfer-Encoding: chunked\r\n` })}5\r\nhello\r\n0\r\n\r\n`),
  expect: (c) => c.wire.last(`${head(c, c.path(), { method: 'POST', more: 'Expect: 100-continue\r\nContent-Length: 5\r\n' })}hello${head(c, c.path(), { more: close })}`),
  sse: (c) => c.wire.last(head(c, c.path('sse'), { more: close })),
  slowUpstream: (c) => c.wire.last(head(c, c.path('slow'), { more: close })),
  cutUpstream: (c) => c.wire.last(head(c, c.path('cut'), { more: close })),
  pipelined: (c) => c.wire.last([1, 2, 3, 4].map(() => head(c, c.path())).join('') + head(c, c.path('ok', 'v2')) + head(c, c.path(), { more: close })),
  async keepAlive(c) {
    for (const count of [1, 2, 3]) {
      await c.wire.send(head(c, c.path()));
      await c.wire.until(answers(count));
    }
    await c.wire.end();
  },
  async dribbled(c) {
    const text = head(c, c.path(), { method: 'POST', more: `${close}Content-Length: 6\r\n` });
    for (const part of [text.slice(0, 9), text.slice(9, 60), text.slice(60), 'abc', 'def']) {
      await c.wire.send(part);
      await sleep(3);
    }
    await c.wire.closed;
  },
  async upgraded(c) {
    await c.wire.send(head(c, c.path('ws'), { more: upgrade }));
    await c.wire.until(/open/);
    await c.wire.send('ping');
    await c.wire.until(/ping/);
    await c.wire.end();
  },
  async tunnelled(c) {
    const text = await tunnel(c);
    await c.wire.last(text(c.path()) + text(c.path(), 'Content-Length: 2\r\n', 'POST') + 'ab' + text(c.path('ok', 'v2')) + text(c.path(), close));
  },
  async tunnelledUpgrade(c) {
    const text = await tunnel(c);
    await c.wire.send(text(c.path('ws'), upgrade));
    await c.wire.until(/open/);
    await c.wire.end('bye');
  },
  own: (c) => c.wire.last(`GET http://customhouse.internal/ca.pem HTTP/1.1\r\nHost: customhouse.internal\r\n${(c.pathless(), close)}\r\n`),
};

/** Requests that are denied, and bytes that are none. */
const denied: Record<string, Kind> = {
  path: (c) => c.wire.last(head(c, c.path('ok', 'v2'), { more: close })),
  method: (c) => c.wire.last(head(c, c.path(), { method: 'DELETE', more: close })),
  noToken: (c) => c.wire.last(head(c, c.path(), { auth: '', more: close })),
  badToken: (c) => c.wire.last(head(c, c.path(), { auth: 'X-Capability-Token: none.of.ours\r\n', more: close })),
  withBody: (c) => c.wire.last(`${head(c, c.path('ok', 'v2'), { method: 'POST', more: 'Content-Length: 4\r\n' })}body${head(c, c.path(), { more: close })}`),
  noHost: (c) => c.wire.last(`GET ${c.path()} HTTP/1.1\r\n${close}\r\n`),
  upgradeRefused: (c) => c.wire.last(head(c, c.path('ws', 'v2'), { more: upgrade })),
  connectRefused: (c) => (c.pathless(), c.wire.last(`CONNECT other.example.com:443 HTTP/1.1\r\nHost: other.example.com:443\r\nProxy-Authorization: Bearer ${c.token}\r\n\r\nbytes behind it`)),
  connectNoToken: (c) => (c.pathless(), c.wire.last(`CONNECT ${host}:443 HTTP/1.1\r\n\r\n`)),
  malformed: (c) => (c.pathless(), c.wire.last('GET / HTTP/1.1\r\nX : y\r\n\r\n')),
  binary: (c) => (c.pathless(), c.wire.last('\x00\x01\x02\xff\xfe binary\r\n\r\n')),
  tlsHello: (c) => (c.pathless(), c.wire.last('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03')),
  http2: (c) => (c.pathless(), c.wire.last('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')),
  smuggled: (c) => (c.pathless(), c.wire.last(head(c, '/v1/smuggled', { method: 'POST', more: 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n' }))),
  tooLarge: (c) => (c.pathless(), c.wire.last(`GET /${'x'.repeat(40_000)} HTTP/1.1\r\n\r\n`)),
  malformedSecond: (c) => (c.pathless(), c.wire.last(`${head(c, c.path())}GET / HTTP/9\r\n\r\n`)),
  badChunk: (c) => c.wire.last(`${head(c, c.path(), { method: 'POST', more: 'Transfer-Encoding: chunked\r\n' })}zz\r\nhello`),
  async tunnelMalformed(c) {
    const text = await tunnel(c);
    c.pathless();
    await c.wire.last(`${text(c.path())}GET / HTTP/1.1\r\nX : y\r\n\r\n`);
  },
  async tunnelGarbage(c) {
    c.pathless();
    await c.wire.send(connect(c));
    await c.wire.until(/ 200 /);
    await c.wire.last('SSH-2.0-OpenSSH_9.6\r\n');
  },
};

/** Connections that end where nobody expects it. */
const aborted: Record<string, Kind> = {
  nothing: (c) => c.wire.end(),
  async inHead(c) {
    c.pathless();
    await c.wire.end('GET /v1/half HTTP/1.1\r\nHost');
  },
  async resetInHead(c) {
    c.pathless();
    await c.wire.send('GET /v1/half HTTP/1.1\r\nHost: a');
    await c.wire.reset();
  },
  inBody: (c) => c.wire.end(`${head(c, c.path(), { method: 'POST', more: 'Content-Length: 100\r\n' })}some`),
  async resetInBody(c) {
    await c.wire.send(`${head(c, c.path(), { method: 'POST', more: 'Content-Length: 100\r\n' })}some`);
    await c.wire.reset();
  },
  async afterHead(c) {
    await c.wire.send(head(c, c.path()));
    await c.wire.reset();
  },
  async waiting(c) {
    const path = c.path('hang');
    await c.wire.send(head(c, path));
    await c.upstreams.arrived(path, c.wire.closed);
    await c.wire.reset();
  },
  async inAnswer(c) {
    await c.wire.send(head(c, c.path('stream')));
    await c.wire.until(/endless/);
    await c.wire.reset();
  },
  async pipelinedThenReset(c) {
    await c.wire.send([1, 2, 3, 4].map(() => head(c, c.path())).join(''));
    await c.wire.until(/HTTP/);
    await c.wire.reset();
  },
  async pipelinedBehindHang(c) {
    const path = c.path('hang');
    await c.wire.send(head(c, path) + head(c, c.path()) + head(c, c.path('ok', 'v2')));
    await c.upstreams.arrived(path, c.wire.closed);
    await c.wire.reset();
  },
  async upgradedThenReset(c) {
    await c.wire.send(head(c, c.path('ws'), { more: upgrade }));
    await c.wire.until(/open/);
    await c.wire.reset();
  },
  async connectThenReset(c) {
    c.pathless();
    await c.wire.send(connect(c));
    await c.wire.reset();
  },
  async tunnelUnused(c) {
    c.pathless();
    await tunnel(c);
    await c.wire.end();
  },
  async tunnelReset(c) {
    const text = await tunnel(c);
    const path = c.path('hang');
    await c.wire.send(text(path));
    await c.upstreams.arrived(path, c.wire.closed);
    await c.wire.reset();
  },
  async tunnelInHead(c) {
    await tunnel(c);
    c.pathless();
    await c.wire.end('GET /v1/half HTTP/1.1\r\nHo');
  },
};

export const kinds: Readonly<Record<string, Kind>> = { ...answered, ...denied, ...aborted };

export function openConnection(port: number, rest: Omit<Connection, 'wire'>): Connection {
  return { wire: new Wire(port), ...rest };
}
