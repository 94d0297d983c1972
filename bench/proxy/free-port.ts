import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { openPlain } from './connect.ts';
import { host } from './scenarios.ts';

/** A port that was free a moment ago, for programs that cannot choose one and say which. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, host);
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether something listens there. */
export async function accepts(port: number): Promise<boolean> {
  return openPlain(port).then((socket) => {
    socket.destroy();
    return true;
  }, () => false);
}
