import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Connections on which no byte has come. Browsers and connection pools open them ahead of need; to Node they are not idle but waiting
 * for a request, so a drain would wait for them until its end. The answer ends all that there are.
 */
export function trackSilentSockets(server: Server): () => void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
}
