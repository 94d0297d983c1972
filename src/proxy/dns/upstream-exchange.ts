import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { ResolveError } from './resolution.ts';
import type { UpstreamQuery } from './upstream-message.ts';
import { isTruncated, matchAnswer } from './upstream-message.ts';

export type UpstreamServer = { readonly address: string; readonly port: number };

/** How long one exchange may take, and the lookup it belongs to. */
export type AttemptBounds = { readonly signal: AbortSignal; readonly timeoutMs: number };

/**
 * Asks over UDP from a port of its own, taken for this one query. Datagrams that are not the answer are passed over, the right one may still
 * come. 'tcp': the answer is too long, or its case does not prove that the server saw the question. Rejects with ResolveError.
 */
export function askUdp(server: UpstreamServer, query: UpstreamQuery, { signal, timeoutMs }: AttemptBounds): Promise<Buffer | 'tcp'> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onTimeout);
      socket.removeAllListeners('message').removeAllListeners('error').on('error', () => undefined);
      socket.close();
      act();
    };
    const onTimeout = (): void => settle(() => reject(new ResolveError('timeout')));
    const timer = setTimeout(onTimeout, timeoutMs);
    signal.addEventListener('abort', onTimeout, { once: true });
    if (signal.aborted) return onTimeout();
    socket.on('error', (error) => settle(() => reject(new ResolveError('unreachable', { cause: error }))));
    socket.on('message', (packet) => {
      const match = matchAnswer(query, packet);
      if (match === 'other') return;
      settle(() => resolve(match === 'caseLost' || isTruncated(packet) ? 'tcp' : packet));
    });
    socket.on('connect', () => socket.send(query.packet));
    // A connected socket takes datagrams of this peer only, and hears when nobody listens there.
    socket.connect(server.port, server.address);
  });
}

/** Asks over a TCP connection of its own. Rejects with ResolveError. */
export function askTcp(server: UpstreamServer, query: UpstreamQuery, { signal, timeoutMs }: AttemptBounds): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.address, port: server.port });
    let received = Buffer.alloc(0);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onTimeout);
      socket.removeAllListeners('data').removeAllListeners('end').removeAllListeners('error').on('error', () => undefined);
      socket.destroy();
      act();
    };
    const fail = (error: ResolveError): void => settle(() => reject(error));
    const onTimeout = (): void => fail(new ResolveError('timeout'));
    const timer = setTimeout(onTimeout, timeoutMs);
    signal.addEventListener('abort', onTimeout, { once: true });
    if (signal.aborted) return onTimeout();
    socket.on('error', (error) => fail(new ResolveError('unreachable', { cause: error })));
    socket.on('end', () => fail(new ResolveError('malformed')));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2) return;
      const end = 2 + received.readUInt16BE(0);
      if (received.length < end) return;
      const packet = received.subarray(2, end);
      // The connection itself proves the peer; a server that lowers all letters is taken here.
      if (matchAnswer(query, packet) === 'other' || isTruncated(packet)) fail(new ResolveError('malformed'));
      else settle(() => resolve(packet));
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.packet.length, 0);
    socket.write(Buffer.concat([length, query.packet]));
  });
}
