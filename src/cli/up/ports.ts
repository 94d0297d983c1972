import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../embedded/free-port.ts';

export const portNames = ['api', 'internal', 'proxy', 'proxyAdmin', 'workerAdmin', 'postgres', 'redis', 'clickhouse'] as const;
export type PortName = (typeof portNames)[number];
export type Ports = Record<PortName, number>;

/** Ports that are held until the part they are for is about to listen, so that two stacks that start at once never choose the same. */
export type HeldPorts = { readonly ports: Ports; release: (name: PortName) => Promise<void>; releaseAll: () => Promise<void> };

const defaultApiPort = 8080;

/** Listens on the port and hangs up on whoever calls; undefined when the port is taken. */
function hold(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new Error(`port ${port}: ${error.code === 'EACCES' ? 'only root may use it' : error.message}; choose another with --port`, { cause: error }));
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}

function remembered(file: string): Partial<Ports> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<Ports>;
  } catch (error) {
    // Never written, or torn by a power cut: other ports do as well.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

/**
 * The stack's ports: the API on the port asked for (an error when it is taken), every other one as in the last run when still free,
 * so that addresses noted down keep working, else on a free one.
 */
export async function choosePorts(dataDir: string, wanted: { apiPort: number | undefined }): Promise<HeldPorts> {
  const file = join(dataDir, 'ports.json');
  const known = remembered(file);
  const servers = new Map<PortName, Server>();
  const release = (name: PortName): Promise<void> => new Promise((resolve) => {
    const server = servers.get(name);
    servers.delete(name);
    if (server === undefined) resolve();
    else server.close(() => resolve());
  });
  const releaseAll = async (): Promise<void> => {
    await Promise.all(portNames.map(release));
  };

  async function choose(name: PortName): Promise<number> {
    const asked = name === 'api' ? wanted.apiPort : undefined;
    const preferred = asked ?? known[name] ?? (name === 'api' ? defaultApiPort : undefined);
    let port = preferred ?? await freePort();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const server = await hold(port);
      if (server !== undefined) {
        servers.set(name, server);
        return port;
      }
      if (asked !== undefined) throw new Error(`port ${asked} is in use on 127.0.0.1; choose another with --port, or leave it out for a free one`);
      port = await freePort();
    }
    throw new Error('no free port on 127.0.0.1');
  }

  try {
    const ports: Partial<Ports> = {};
    for (const name of portNames) ports[name] = await choose(name);
    writeFileSync(file, `${JSON.stringify(ports, null, 2)}\n`);
    return { ports: ports as Ports, release, releaseAll };
  } catch (error) {
    await releaseAll();
    throw error;
  }
}
