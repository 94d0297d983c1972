import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { findOnPath } from './find-on-path.ts';
import { PortInUseError, withPort } from './free-port.ts';
import { ensurePassword } from './password.ts';
import { StartError, startProcess, waitUntilReady } from './service.ts';
import type { Service } from './service.ts';

export interface RedisOptions {
  /** Made when missing; holds the append-only file and `password`. */
  readonly dataDir: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly logFile: string;
  /** Over it Redis refuses writes with `OOM`; unbounded when absent. */
  readonly maxMemoryBytes?: number;
  readonly startTimeoutMs?: number;
}

/**
 * Starts the system's `redis-server` on 127.0.0.1 with an append-only file (flushed every second) and `noeviction`: a queue whose
 * keys can be evicted loses jobs. Resolves when it answers; throws with what to install when there is no redis-server.
 */
export async function startRedis(options: RedisOptions): Promise<Service> {
  const binary = findOnPath('redis-server');
  if (binary === undefined) {
    throw new Error('redis-server is not installed. Debian and Ubuntu: `apt-get install redis-server`; Fedora: `dnf install redis`; macOS: `brew install redis`. Or point REDIS_URL at a server of your own.');
  }
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const password = await ensurePassword(dataDir);
  return withPort(options.port, async (port) => {
    const server = await startProcess({
      name: 'Redis',
      command: binary,
      // The configuration comes through standard input: on the command line every user could read the password.
      args: ['-'],
      input: configuration(dataDir, port, password, options.maxMemoryBytes),
      logFile: options.logFile,
      parentDeathSignal: 'TERM',
      cwd: dataDir,
    });
    try {
      await waitUntilReady('Redis', server, () => answersPing(port, password), options.startTimeoutMs ?? 60_000);
    } catch (error) {
      if (error instanceof StartError && /Address already in use/.test(error.log)) throw new PortInUseError(port, error);
      throw error;
    }
    return {
      url: `redis://:${password}@127.0.0.1:${port}`,
      port,
      pid: server.pid,
      exited: server.exited,
      stop: () => server.stop('SIGTERM', 30_000),
      kill: () => server.kill(),
    };
  });
}

function configuration(dataDir: string, port: number, password: string, maxMemoryBytes: number | undefined): string {
  const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${quoted(join(dataDir))}`,
    `requirepass ${password}`,
    'daemonize no',
    'appendonly yes',
    'appendfsync everysec',
    // The append-only file is the one that is read on start; snapshots would only cost.
    'save ""',
    'maxmemory-policy noeviction',
    ...(maxMemoryBytes === undefined ? [] : [`maxmemory ${maxMemoryBytes}`]),
    '',
  ].join('\n');
}

/** True when `PING` is answered: while the append-only file is read Redis answers `-LOADING`. */
function answersPing(port: number, password: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let reply = '';
    const finish = (ready: boolean): void => {
      socket.destroy();
      done(ready);
    };
    socket.setTimeout(1000, () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
    socket.on('data', (chunk) => {
      reply += chunk.toString('latin1');
      if (reply.split('\r\n').length > 2) finish(reply === '+OK\r\n+PONG\r\n');
    });
    socket.write(`AUTH ${password}\r\nPING\r\n`);
  });
}
