import { mkdir, rm } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openEngine } from './engine.ts';
import { createClickHouseServer } from './server.ts';

const MiB = 1_048_576;

/**
 * The embedded ClickHouse as a process: `node main.ts --path DIR --port PORT`. User and password come from CLICKHOUSE_USER and
 * CLICKHOUSE_PASSWORD. UV_THREADPOOL_SIZE must be set before Node starts, to at least sessions + 8: every running query holds a
 * thread of that pool, and with the default of 4 reading a file would wait behind queries for seconds.
 */
const { values } = parseArgs({
  options: {
    path: { type: 'string' },
    port: { type: 'string', default: '8123' },
    host: { type: 'string', default: '127.0.0.1' },
    sessions: { type: 'string', default: '8' },
    'waiting-max': { type: 'string', default: '256' },
    'max-memory-bytes': { type: 'string', default: String(Math.min(Math.floor(totalmem() / 2), 8192 * MiB)) },
    'max-body-bytes': { type: 'string', default: String(512 * MiB) },
    'shutdown-ms': { type: 'string', default: '10000' },
  },
});

function integer(name: keyof typeof values, min: number): number {
  const number = Number(values[name]);
  if (!Number.isSafeInteger(number) || number < min) fail(`--${name} must be an integer of at least ${min}, not ${JSON.stringify(values[name])}`);
  return number;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

const path = resolve(values.path ?? fail('--path is required'));
// The table function `file` reads these characters as patterns.
if (/[*?{}[\]]/.test(path)) fail(`the data directory must not contain any of * ? { } [ ]: ${path}`);
const port = integer('port', 0);
const sessions = integer('sessions', 1);
const memoryBytes = integer('max-memory-bytes', 256 * MiB);
const bodyBytesMax = integer('max-body-bytes', 1024);
const shutdownMs = integer('shutdown-ms', 0);
if (Number(process.env['UV_THREADPOOL_SIZE'] ?? 4) < sessions + 8) fail(`UV_THREADPOOL_SIZE must be at least ${sessions + 8} for ${sessions} sessions`);

const cacheBytes = Math.max(32 * MiB, Math.floor(memoryBytes / 16));
const spoolDir = join(path, 'spool');
await mkdir(join(path, 'data'), { recursive: true, mode: 0o700 });
// The engine takes bare file names as tables, relative to the working directory: an empty one holds none.
await mkdir(join(path, 'empty'), { recursive: true, mode: 0o700 });
process.chdir(join(path, 'empty'));
const engine = await openEngine(join(path, 'data'), [
  `--max_server_memory_usage=${memoryBytes}`,
  `--mark_cache_size=${cacheBytes}`,
  `--primary_index_cache_size=${cacheBytes}`,
  `--index_mark_cache_size=${cacheBytes}`,
  `--query_condition_cache_size=${Math.floor(cacheBytes / 4)}`,
  // `hello` is a syntax error and not `SELECT hello`, as on a server.
  '--implicit_select=0',
  '--allow_introspection_functions=0',
]);
// Only now: the engine's lock says that the files are nobody else's.
await rm(spoolDir, { recursive: true, force: true });
await mkdir(spoolDir, { mode: 0o700 });

const server = createClickHouseServer(engine, {
  spoolDir,
  sessions,
  waitingMax: integer('waiting-max', 0),
  waitMaxMs: 60_000,
  queryBytesMax: MiB,
  bodyBytesMax,
  spoolBytesMax: 4 * bodyBytesMax,
  resultBytesMax: 16_384 * MiB,
  sendTimeoutMs: 60_000,
  user: process.env['CLICKHOUSE_USER'] || 'default',
  password: process.env['CLICKHOUSE_PASSWORD'] ?? '',
});

// The engine's allocator keeps what a big query used; given back here when it is worth it and nothing seems to be going on.
const purge = setInterval(() => {
  if (process.memoryUsage.rss() > memoryBytes / 2) engine.control('SYSTEM JEMALLOC PURGE').catch((error: unknown) => console.error(error));
}, 30_000);
purge.unref();

let stopping = false;
const stop = (): void => {
  if (stopping) return;
  stopping = true;
  server.close(shutdownMs)
    .then(() => engine.close())
    .then(() => process.exit(0), (error: unknown) => {
      console.error(error);
      process.exit(1);
    });
};
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

try {
  const listening = await server.listen(port, values.host);
  console.log(`ClickHouse ${engine.version} (chDB) on http://${values.host}:${listening}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  await engine.close();
  process.exit(1);
}
