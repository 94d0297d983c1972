import { createSocket } from 'node:dgram';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../embedded/free-port.ts';

export const portNames = ['api', 'internal', 'proxy', 'transparent', 'dns', 'proxyAdmin', 'workerAdmin', 'postgres', 'redis', 'clickhouse'] as const;
export type PortName = (typeof portNames)[number];
export type Ports = Record<PortName, number>;

/** Ports that are held until the part they are for is about to listen, so that two stacks that start at once never choose the same. */
export type HeldPorts = { readonly ports: Ports; release: (name: PortName) => Promise<void>; releaseAll: () => Promise<void> };

const defaultApiPort = 8080;

type Held = { readonly close: () => Promise<void> };

/** Holds the port, for DNS on both transports; undefined when it is taken. */
async function hold(name: PortName, port: number): Promise<Held | undefined> {
  const tcp = await holdTcp(port);
  if (tcp === undefined || name !== 'dns') return tcp;
  const udp = await holdUdp(port);
  if (udp === undefined) await tcp.close();
  return udp === undefined ? undefined : { close: async () => void await Promise.all([tcp.close(), udp.close()]) };
}

function holdUdp(port: number): Promise<Held | undefined> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve({ close: () => new Promise((closed) => socket.close(closed)) }));
  });
}

/** Listens and hangs up on whoever calls. */
function holdTcp(port: number): Promise<Held | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new Error(`port ${port}: ${error.code === 'EACCES' ? 'only root may use it' : error.message}; choose another with --port`, { cause: error }));
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve({ close: () => new Promise((closed) => server.close(() => closed())) }));
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
  const holds = new Map<PortName, Held>();
  const release = async (name: PortName): Promise<void> => {
    const held = holds.get(name);
    holds.delete(name);
    await held?.close();
  };
  const releaseAll = async (): Promise<void> => {
    await Promise.all(portNames.map(release));
  };

  async function choose(name: PortName): Promise<number> {
    const asked = name === 'api' ? wanted.apiPort : undefined;
    const preferred = asked ?? known[name] ?? (name === 'api' ? defaultApiPort : undefined);
    let port = preferred ?? await freePort();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const held = await hold(name, port);
      if (held !== undefined) {
        holds.set(name, held);
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
