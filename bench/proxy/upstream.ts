import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Duplex } from 'node:stream';
import { openAuthority } from '../../src/proxy/tls/authority.ts';
import { serveParent } from './child.ts';
import { host } from './scenarios.ts';

/** Events of one stream, and how many go into a packet. */
const events = 500;
const eventsPerPacket = 25;

const plain = Buffer.from(answer(JSON.stringify({ items: Array.from({ length: 8 }, (_, index) => ({ id: index, name: `item ${index}` })) })));

function answer(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function event(index: number): string {
  const usage = index === events - 1 ? { total_tokens: 1234 } : null;
  return chunk(`data: ${JSON.stringify({ id: 'chat-1', choices: [{ index: 0, delta: { content: `word ${index} ` } }], usage })}\n\n`);
}

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const packets = Array.from({ length: events / eventsPerPacket }, (_, packet) => Buffer.from(Array.from({ length: eventsPerPacket }, (_, index) => event(packet * eventsPerPacket + index)).join('')));
const streamEnd = `${chunk('data: [DONE]\n\n')}0\r\n\r\n`;

function stream(socket: Duplex): void {
  socket.write(streamHead);
  const next = (at: number): void => {
    const packet = packets[at];
    if (packet === undefined) socket.write(streamEnd);
    else {
      socket.write(packet);
      setImmediate(next, at + 1);
    }
  };
  setImmediate(next, 0);
}

/** Answers requests one at a time; the bodies that the load generator sends all have a length. */
function speak(socket: Duplex): void {
  let pending = '';
  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => {
    pending += data.toString('latin1');
    for (;;) {
      const end = pending.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = pending.slice(0, end);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? '0');
      if (pending.length < end + 4 + length) return;
      pending = pending.slice(end + 4 + length);
      if (head.includes('/v1/stream')) stream(socket);
      else socket.write(plain);
    }
  });
}

/** `node upstream.ts {certPath, keyPath}`: one upstream, plain and TLS, that costs next to nothing. Its certificate comes from that CA. */
const { certPath, keyPath } = JSON.parse(process.argv[2] ?? '') as { certPath: string; keyPath: string };
const authority = await openAuthority({ certPath, keyPath, leavesMax: 10, nowMs: Date.now });
const secureContext = await authority.leafFor(host);
const listen = (onSocket: (socket: Socket) => void): Promise<number> => new Promise((resolve) => {
  const server = createServer({ noDelay: true }, onSocket).listen({ port: 0, host, backlog: 4096 }, () => resolve((server.address() as AddressInfo).port));
});
const ports = {
  http: await listen(speak),
  https: await listen((socket) => {
    socket.on('error', () => undefined);
    speak(new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] }));
  }),
};
serveParent(ports, async () => undefined);
