import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duplex } from 'node:stream';
import type { TestAuthority } from '../clients/test-authority.ts';

export type MixUpstreams = {
  readonly plainPort: number;
  readonly securePort: number;
  /** Paths that arrived. */
  readonly seen: ReadonlySet<string>;
  /** Resolves when a request for `path` arrived, or `gone` did. */
  readonly arrived: (path: string, gone: Promise<void>) => Promise<void>;
};

/** What the upstream does is the second segment of the path. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const kind = request.url?.split('/')[2];
  if (kind === 'stream') return void response.write('endless');
  if (kind === 'hang') return;
  if (kind === 'slow') await sleep(40);
  if (kind === 'cut') {
    response.writeHead(200, { 'content-length': '100' });
    response.write('part');
    await sleep(5);
    return void response.socket?.destroy();
  }
  if (kind === 'sse') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 0; n < 5; n += 1) response.write(`data: ${n}\n\n`);
  }
  response.end('hello');
}

/** An http and an https server as the upstreams of a mix of requests. */
export async function mixUpstreams(t: { teardown(fn: () => Promise<void>): unknown }, authority: TestAuthority): Promise<MixUpstreams> {
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  const mark = (request: IncomingMessage): void => {
    const path = request.url ?? '';
    seen.add(path);
    waiting.get(path)?.();
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    mark(request);
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.resume().once('end', () => void answer(request, response));
  };
  const onUpgrade = (request: IncomingMessage, socket: Duplex): void => {
    mark(request);
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nopen');
    socket.pipe(socket);
  };
  const listen = async (server: Server): Promise<number> => {
    server.on('upgrade', onUpgrade).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return (server.address() as AddressInfo).port;
  };
  return {
    plainPort: await listen(createServer(onRequest)),
    securePort: await listen(createSecureServer(await authority.certificateFor('api.example.com'), onRequest)),
    seen,
    async arrived(path, gone) {
      if (seen.has(path)) return;
      await Promise.race([new Promise<void>((resolve) => waiting.set(path, resolve)), gone]);
      waiting.delete(path);
    },
  };
}
