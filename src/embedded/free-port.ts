import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** A service could not listen because somebody else has the port. */
export class PortInUseError extends Error {
  readonly port: number;

  constructor(port: number, cause?: unknown) {
    super(`port ${port} on 127.0.0.1 is already in use`, { cause });
    this.name = 'PortInUseError';
    this.port = port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * A TCP port of 127.0.0.1 that nobody listens on. It is drawn from below the range that Linux hands to outgoing connections
 * (32768 and up): a port of that range may be taken by somebody's client socket while a killed service is about to come back on it.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(10_240, 32_768);
    if (await canListen(port)) return port;
  }
  throw new Error('no free TCP port found on 127.0.0.1 between 10240 and 32767 in 100 attempts');
}

/**
 * Runs `start` on `port`; with port 0 on a free one, and on another when a neighbour took it between the look and the listen.
 */
export async function withPort<T>(port: number, start: (port: number) => Promise<T>): Promise<T> {
  if (port !== 0) return start(port);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (!(error instanceof PortInUseError) || attempt === 10) throw error;
    }
  }
}
