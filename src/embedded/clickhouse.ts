import { get } from 'node:http';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PortInUseError, withPort } from './free-port.ts';
import { StartError, startProcess, waitUntilReady } from './service.ts';
import type { Service } from './service.ts';

export interface ClickHouseOptions {
  /** Made when missing. */
  readonly dataDir: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly logFile: string;
  /** Queries that run at a time; further ones wait. */
  readonly sessions?: number;
  /** What the engine may use over all queries; the process itself takes about 300 MB more. */
  readonly maxMemoryBytes?: number;
  readonly maxBodyBytes?: number;
  readonly user?: string;
  /** Without one every user of the machine can log in. */
  readonly password?: string;
  readonly startTimeoutMs?: number;
  readonly shutdownMs?: number;
}

const mainFile = fileURLToPath(new URL('clickhouse/main.ts', import.meta.url));

/**
 * Starts the embedded ClickHouse (chDB behind ClickHouse's HTTP interface) as a process of its own on 127.0.0.1. Resolves when
 * `/ping` answers. `url` carries user and password when there is a password.
 */
export async function startClickHouse(options: ClickHouseOptions): Promise<Service> {
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const sessions = options.sessions ?? 8;
  const flags = { path: dataDir, sessions, 'max-memory-bytes': options.maxMemoryBytes, 'max-body-bytes': options.maxBodyBytes, 'shutdown-ms': options.shutdownMs };
  const user = options.user ?? 'default';
  const password = options.password ?? '';
  return withPort(options.port, async (port) => {
    const server = await startProcess({
      name: 'ClickHouse',
      command: process.execPath,
      args: [mainFile, '--port', String(port), ...Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]))],
      logFile: options.logFile,
      env: { UV_THREADPOOL_SIZE: String(sessions + 8), TZ: 'UTC', CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password },
      parentDeathSignal: 'TERM',
    });
    try {
      // The log line first: somebody else's server on the same port would answer the ping too.
      const listens = async (): Promise<boolean> => (await server.logTail()).includes(`on http://127.0.0.1:${port}`);
      await waitUntilReady('ClickHouse', server, async () => await listens() && await answersPing(port), options.startTimeoutMs ?? 120_000);
    } catch (error) {
      if (error instanceof StartError && error.log.includes('EADDRINUSE')) throw new PortInUseError(port, error);
      throw error;
    }
    const credentials = password === '' ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
    return {
      url: `http://${credentials}127.0.0.1:${port}`,
      port,
      pid: server.pid,
      exited: server.exited,
      stop: () => server.stop('SIGTERM', (options.shutdownMs ?? 10_000) + 20_000),
      kill: () => server.kill(),
    };
  });
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((done) => {
    const request = get({ port, host: '127.0.0.1', path: '/ping', agent: false, timeout: 1000 }, (response) => {
      response.resume();
      done(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => done(false));
  });
}
