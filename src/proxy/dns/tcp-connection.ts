import type { Socket } from 'node:net';
import type { Respond } from './respond.ts';
import { plainAddress, queryBytesMax } from './wire.ts';

export type TcpLimits = {
  /** Queries of one connection that wait for their answers; more are not read until one is out. */
  readonly pipelinedMax: number;
  /** Longest time from one answer to the next (or from the connection to the first), in ms. */
  readonly idleTimeoutMs: number;
};

const lengthBytes = 2;

/**
 * Serves one connection: queries framed by their length (RFC 1035, 4.2.2), answered as they get ready, in any order (RFC 7766). A client that
 * closes its side still gets the answers it waits for. Only answers set the timer back: bytes that trickle do not keep a connection alive.
 */
export function serveTcp(socket: Socket, respond: Respond, { pipelinedMax, idleTimeoutMs }: TcpLimits): void {
  const client = plainAddress(socket.remoteAddress ?? '');
  let received: Buffer[] = [];
  let receivedBytes = 0;
  let open = 0;
  let ended = false;
  const timer = setTimeout(() => socket.destroy(), idleTimeoutMs);

  function frame(): Buffer | undefined {
    if (receivedBytes < lengthBytes) return undefined;
    const all = received.length === 1 ? received[0] : Buffer.concat(received);
    if (all === undefined) return undefined;
    const end = lengthBytes + all.readUInt16BE(0);
    if (end > lengthBytes + queryBytesMax) socket.destroy();
    received = [all];
    if (all.length < end) return undefined;
    received = all.length === end ? [] : [all.subarray(end)];
    receivedBytes -= end;
    return all.subarray(lengthBytes, end);
  }

  function advance(): void {
    while (open < pipelinedMax && !socket.writableNeedDrain && !socket.destroyed) {
      const packet = frame();
      if (packet === undefined) break;
      open += 1;
      void respond(packet, client, 'tcp').then(answered);
    }
    if (open >= pipelinedMax || socket.writableNeedDrain) socket.pause();
    else socket.resume();
    if (ended && open === 0 && !socket.destroyed) socket.end();
  }

  function answered(answer: Buffer | undefined): void {
    open -= 1;
    if (socket.destroyed) return;
    if (answer !== undefined) {
      timer.refresh();
      const length = Buffer.alloc(lengthBytes);
      length.writeUInt16BE(answer.length, 0);
      socket.write(Buffer.concat([length, answer]));
    }
    advance();
  }

  socket.on('data', (chunk: Buffer) => {
    received.push(chunk);
    receivedBytes += chunk.length;
    advance();
  });
  socket.on('drain', advance);
  socket.on('end', () => {
    ended = true;
    advance();
  });
  // A client that resets its connection is its own matter; `close` follows.
  socket.on('error', () => undefined);
  socket.on('close', () => clearTimeout(timer));
}
