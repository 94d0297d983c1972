import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** A WebSocket server for short text frames: echoes each, answers a close with a close. */
export function echoFrames(request: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1').update(`${String(request.headers['sec-websocket-key'])}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  let pending = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (let length = (pending[1] ?? 0) & 0x7f; pending.length >= 6 + length; length = (pending[1] ?? 0) & 0x7f) {
      const mask = pending.subarray(2, 6);
      const text = pending.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
      const closes = ((pending[0] ?? 0) & 0x0f) === 8;
      socket.write(Buffer.concat([Buffer.from([pending[0] ?? 0, length]), text]));
      pending = pending.subarray(6 + length);
      if (closes) return void socket.end();
      if (pending.length < 2) return;
    }
  });
  socket.on('end', () => socket.end());
}
