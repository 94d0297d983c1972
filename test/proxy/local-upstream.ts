import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

export type Hit = { readonly method: string; readonly url: string; readonly headers: readonly string[]; readonly body: string };
export type LocalUpstream = { readonly port: number; readonly hits: Hit[]; readonly server: Server; header(index: number, name: string): string | undefined };

type Options = { readonly handler?: RequestListener; readonly tls?: { readonly key: string; readonly cert: string }; readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void };

/** A real server on 127.0.0.1 that keeps what it got. Without a handler it answers `hello`. */
export async function startUpstream(t: { teardown(fn: () => Promise<void>): unknown }, { handler, tls, onUpgrade }: Options = {}): Promise<LocalUpstream> {
  const hits: Hit[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    const hit = { method: request.method ?? '', url: request.url ?? '', headers: request.rawHeaders, body: '' };
    hits.push(hit);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      hit.body = Buffer.concat(chunks).toString();
      if (handler === undefined) response.end('hello');
      else handler(request, response);
    });
    request.on('error', () => undefined);
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  if (onUpgrade !== undefined) server.on('upgrade', onUpgrade);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as AddressInfo).port,
    hits,
    server,
    header(index, name) {
      const headers = hits[index]?.headers ?? [];
      const at = headers.findIndex((text, place) => place % 2 === 0 && text.toLowerCase() === name);
      return at === -1 ? undefined : headers[at + 1];
    },
  };
}
