import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { Pool } from 'undici';
import { openAuthority } from '../../src/proxy/tls/authority.ts';
import { serveParent } from './child.ts';
import type { ProxyFiles } from './job.ts';
import { host } from './scenarios.ts';

/** The baseline: Node's server and undici's lowest interface, nothing decided, nothing written. */
const { ports, certPath, keyPath, upstreamCa } = JSON.parse(process.argv[2] ?? '') as ProxyFiles;
const authority = await openAuthority({ certPath, keyPath, leavesMax: 10, nowMs: Date.now });
const pools = {
  http: new Pool(`http://${host}:${ports.http}`, { connections: 128, pipelining: 1 }),
  https: new Pool(`https://${host}:${ports.https}`, { connections: 128, pipelining: 1, connect: { ca: readFileSync(upstreamCa, 'utf8') } }),
};
const hopHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'upgrade']);

function withoutHop(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) if (!hopHeaders.has((raw[at] ?? '').toLowerCase())) kept.push(raw[at] ?? '', raw[at + 1] ?? '');
  return kept;
}

function handlerOf(response: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: () => undefined,
    onResponseStart(controller, status) {
      response.writeHead(status, withoutHop((controller.rawHeaders as readonly Buffer[]).map((part) => part.toString('latin1'))));
      response.on('drain', () => controller.resume());
    },
    onResponseData(controller, chunk) {
      if (!response.write(chunk)) controller.pause();
    },
    onResponseEnd() {
      response.end();
    },
    onResponseError(_controller, error) {
      console.error('pass-through:', error);
      response.destroy();
    },
  };
}

const secured = new WeakSet<Duplex>();
const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  const url = request.url ?? '/';
  const pool = secured.has(request.socket) ? pools.https : pools.http;
  const path = url.startsWith('/') ? url : url.slice(url.indexOf('/', 'http://'.length));
  const hasBody = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  pool.dispatch({ method: request.method as 'GET', path, headers: withoutHop(request.rawHeaders), body: hasBody ? request : null }, handlerOf(response));
});
server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
  socket.on('error', () => undefined);
  void authority.leafFor(host).then((secureContext) => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
    secure.on('error', () => undefined);
    secured.add(secure);
    server.emit('connection', secure);
  });
});
server.listen(0, host, 4096, () => {
  serveParent({ port: (server.address() as AddressInfo).port }, async () => {
    server.closeAllConnections();
    await Promise.all([pools.http.destroy(), pools.https.destroy()]);
  });
});
