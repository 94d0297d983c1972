import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

export const portNames = ['api', 'proxy', 'proxyAdmin', 'workerAdmin', 'postgres', 'redis', 'clickhouse'] as const;
export type Ports = Record<(typeof portNames)[number], number>;

/** Binds a port for a moment; 0 asks for any free one. Answers undefined when it is taken. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}

function remembered(file: string): Partial<Ports> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<Ports>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

/**
 * The stack's ports: the API on the port asked for (an error when it is taken), every other one as in the last run when still free,
 * so that addresses noted down keep working, else on a free one.
 */
export async function choosePorts(dataDir: string, wanted: { apiPort: number | undefined }): Promise<Ports> {
  const file = join(dataDir, 'ports.json');
  const known = remembered(file);
  const chosen: Partial<Ports> = {};
  for (const name of portNames) {
    if (name === 'api' && wanted.apiPort !== undefined) {
      const port = await tryPort(wanted.apiPort);
      if (port === undefined) throw new Error(`port ${wanted.apiPort} is in use; choose another with --port`);
      chosen.api = port;
      continue;
    }
    const preferred = known[name] ?? (name === 'api' ? 8080 : 0);
    const port = (await tryPort(preferred)) ?? (await tryPort(0));
    if (port === undefined) throw new Error('no free port on 127.0.0.1');
    chosen[name] = port;
  }
  writeFileSync(file, `${JSON.stringify(chosen, null, 2)}\n`);
  return chosen as Ports;
}
