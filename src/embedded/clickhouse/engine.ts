import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

declare const handle: unique symbol;
interface NativeHandle { readonly [handle]: never }

interface NativeEngine {
  CreateConnection(path: string, args: readonly string[]): NativeHandle;
  CloseConnection(connection: NativeHandle): void;
  QueryAsyncConnection(connection: NativeHandle, sql: string, format: string): Promise<{ bytes: Uint8Array | null; rowsRead: number; bytesRead: number }>;
  InsertRawAsyncConnection(connection: NativeHandle, sql: string, data: Uint8Array, countLines: boolean): Promise<{ rowsWritten: number; bytesWritten: number }>;
  StreamQuery(connection: NativeHandle, sql: string, format: string): NativeHandle;
  StreamFetch(stream: NativeHandle): Promise<{ done: true } | { done: false; bytes: Uint8Array; numRows: number }>;
  StreamCancel(stream: NativeHandle): void;
}

export interface QueryResult {
  readonly bytes: Uint8Array;
  readonly resultRows: number;
  readonly resultBytes: number;
}

export interface ResultStream {
  /** The next block in the output format, undefined at the end. Not to be called again before it has settled. */
  next(): Promise<Uint8Array | undefined>;
  /** Releases the query; waits for a `next` that is under way. */
  close(): Promise<void>;
}

/** One connection to the engine: one query at a time, with settings, parameters and temporary tables of its own. */
export interface EngineConnection {
  /** Runs one or more statements to the end and gives the whole result: for statements whose result is small, and of our own making. */
  query(sql: string, format?: string): Promise<QueryResult>;
  /** Runs `INSERT … SELECT`; data never comes through here. */
  insert(sql: string): Promise<{ rowsWritten: number; bytesWritten: number }>;
  /**
   * Starts a SELECT. The engine parses the text first: several statements and syntax errors throw. Answers undefined, with
   * nothing executed, when the statement is one that gives no stream (anything but SELECT).
   */
  stream(sql: string, format: string): ResultStream | undefined;
  close(): void;
}

export interface Engine {
  readonly version: string;
  /** Costs about 0.3 ms, a fraction of any query. */
  open(): EngineConnection;
  /** Stops the queries that run with this `log_comment`, without waiting for their end. */
  kill(tag: string): Promise<void>;
  /** A statement on the connection that the engine keeps for itself. */
  control(sql: string): Promise<string>;
  /** All other connections must be closed. */
  close(): Promise<void>;
}

const notStreamable = 'Code: 36. DB::Exception: Streaming query is not supported for query: ';

/**
 * ClickHouse inside this process (chDB) over the data in `path`; a second process on the same path is refused with code 76.
 *
 * We call chDB's native functions and not its `Session` class, for two reasons. `Session.close()` waits for whatever runs on all
 * other sessions, so a connection per request would pile up behind one long query; and only the native insert says how many rows
 * were written. The rule that class protects is kept here: a connection is closed only after its own last call has settled.
 */
export async function openEngine(path: string, args: readonly string[]): Promise<Engine> {
  const native = loadNative();
  const open = (): EngineConnection => createConnection(native, native.CreateConnection(path, args));
  const keeper = open();
  const version = decode(await keeper.query('SELECT version()')).trim();
  // One call at a time on a connection: each waits for the one before it, however that ended.
  let last: Promise<unknown> = Promise.resolve();
  const control = (sql: string): Promise<string> => {
    const call = last.then(() => keeper.query(sql)).then(decode);
    last = call.catch(() => undefined);
    return call;
  };
  return {
    version,
    open,
    control,
    async kill(tag) {
      // ASYNC: the SYNC form never returns in chDB.
      await control(`KILL QUERY WHERE Settings['log_comment'] = ${quoteString(tag)} ASYNC`);
    },
    async close() {
      await last;
      keeper.close();
    },
  };
}

function createConnection(native: NativeEngine, connection: NativeHandle): EngineConnection {
  return {
    async query(sql, format = 'TabSeparated') {
      const { bytes, rowsRead, bytesRead } = await native.QueryAsyncConnection(connection, sql, format);
      return { bytes: bytes ?? new Uint8Array(), resultRows: rowsRead, resultBytes: bytesRead };
    },
    async insert(sql) {
      const { rowsWritten, bytesWritten } = await native.InsertRawAsyncConnection(connection, sql, new Uint8Array(), false);
      return { rowsWritten, bytesWritten };
    },
    stream(sql, format) {
      let stream: NativeHandle;
      try {
        stream = native.StreamQuery(connection, sql, format);
      } catch (error) {
        if (error instanceof Error && error.message.startsWith(notStreamable)) return undefined;
        throw error;
      }
      return createStream(native, stream);
    },
    close: () => native.CloseConnection(connection),
  };
}

function createStream(native: NativeEngine, stream: NativeHandle): ResultStream {
  let open = true;
  let fetching: Promise<unknown> = Promise.resolve();
  return {
    async next() {
      if (!open) return undefined;
      const fetch = native.StreamFetch(stream);
      fetching = fetch.catch(() => undefined);
      try {
        const block = await fetch;
        if (!block.done) return block.bytes;
      } catch (error) {
        open = false;
        throw error;
      }
      open = false;
      return undefined;
    },
    async close() {
      await fetching;
      if (open) native.StreamCancel(stream);
      open = false;
    },
  };
}

function loadNative(): NativeEngine {
  const require = createRequire(import.meta.url);
  let main: string;
  try {
    main = require.resolve('chdb');
  } catch (cause) {
    throw new Error('the package chdb (the embedded ClickHouse engine) is not installed; run `npm ci` without --omit=optional, or point CLICKHOUSE_URL at a server of your own', { cause });
  }
  // The loader is not exported by name; it picks the binary package of this platform and explains what is wrong when there is none.
  const loader = require(join(dirname(main), 'dist/loader.js')) as { loadNative(): NativeEngine };
  return loader.loadNative();
}

const decode = (result: QueryResult): string => Buffer.from(result.bytes).toString('utf8');

/** A string literal of ClickHouse SQL. */
export function quoteString(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

export function quoteIdentifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``;
}
