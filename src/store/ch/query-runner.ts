import type { Readable } from 'node:stream';
import type { ClickHouseSettings } from '@clickhouse/client';
import type { SqlParams } from '../../query/sql.ts';
import { uuidv7 } from '../../kernel/ids.ts';
import type { ClickHouse } from './connection.ts';
import { readError } from './errors.ts';
import type { Gate } from './gate.ts';

export type QueryLimits = { readonly timeoutMs: number; readonly memoryBytesMax: number };

export type Statement = { readonly sql: string; readonly params: SqlParams; readonly settings?: ClickHouseSettings };

/** Text of one row, as the client gives it. */
export type RowText = { readonly text: string; json: () => unknown };

/**
 * Runs reads. Each has its own time and memory limit in ClickHouse, waits for its turn at the gate, and is stopped in ClickHouse when the
 * caller aborts: the connection is closed, and the query is killed by its id, since closing alone does not stop one that is aggregating.
 */
export type QueryRunner = {
  rows: <T>(statement: Statement, signal: AbortSignal | undefined) => Promise<T[]>;
  /** Rows as lists of values in the order of the SELECT: a third of the bytes and of the parsing of `rows` when columns are many. */
  tuples: (statement: Statement, signal: AbortSignal | undefined) => Promise<unknown[][]>;
  /** Rows in chunks as they arrive, with back-pressure. The generator must be drained or returned. */
  rowChunks: (statement: Statement, signal: AbortSignal | undefined) => AsyncGenerator<readonly RowText[]>;
  /** The raw bytes of the answer in a format named in the SQL; `release` must be called once the stream has ended. */
  bytes: (statement: Statement, signal: AbortSignal | undefined) => Promise<{ stream: Readable; release: () => void }>;
};

/** Time beyond ClickHouse's own limit after which an answer is given up: it hangs, or the network does. */
const graceMs = 5_000;

export function createQueryRunner(deps: { clickhouse: ClickHouse; gate: Gate; limits: QueryLimits; onError: (error: unknown) => void }): QueryRunner {
  const { clickhouse, gate, limits, onError } = deps;
  const { client } = clickhouse;
  const baseSettings: ClickHouseSettings = {
    ...clickhouse.settings,
    // A read that tries to change anything is refused by ClickHouse itself.
    readonly: '2',
    cancel_http_readonly_queries_on_client_close: 1,
    max_execution_time: limits.timeoutMs / 1000,
    timeout_overflow_mode: 'throw',
    max_memory_usage: String(limits.memoryBytesMax),
    output_format_json_quote_64bit_integers: 0,
    output_format_json_escape_forward_slashes: 0,
  };

  function kill(queryId: string): void {
    const query = `KILL QUERY ${clickhouse.cluster === undefined ? '' : `ON CLUSTER \`${clickhouse.cluster}\` `}WHERE query_id = {id:String} ASYNC`;
    client.command({ query, query_params: { id: queryId }, abort_signal: AbortSignal.timeout(graceMs) }).catch(onError);
  }

  /** Parts common to every way of running: turn, deadline, query id, kill on abort. */
  async function admitted(statement: Statement, signal: AbortSignal | undefined) {
    const release = await gate.enter(signal);
    const queryId = uuidv7();
    const deadline = AbortSignal.timeout(limits.timeoutMs + graceMs);
    const onAbort = (): void => kill(queryId);
    signal?.addEventListener('abort', onAbort, { once: true });
    return {
      release: () => {
        signal?.removeEventListener('abort', onAbort);
        release();
      },
      stop: () => kill(queryId),
      request: {
        query: statement.sql,
        query_params: statement.params.values,
        query_id: queryId,
        clickhouse_settings: { ...baseSettings, ...statement.settings },
        abort_signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      },
    };
  }

  /** The client forgets the signal once the headers are here, and never looks at one aborted before; the body is cut off by us. */
  function cutOnAbort(stream: Readable, signal: AbortSignal): () => void {
    const cut = (): void => void stream.destroy(new DOMException('the query was cancelled', 'AbortError'));
    signal.addEventListener('abort', cut, { once: true });
    if (signal.aborted) cut();
    return () => signal.removeEventListener('abort', cut);
  }

  async function* rowChunks(statement: Statement, signal: AbortSignal | undefined, format: 'JSONEachRow' | 'JSONCompactEachRow' = 'JSONEachRow'): AsyncGenerator<readonly RowText[]> {
    const { request, release, stop } = await admitted(statement, signal);
    let over = false;
    try {
      const stream = (await client.query({ ...request, format })).stream();
      const letGo = cutOnAbort(stream, request.abort_signal);
      try {
        for await (const rows of stream) yield rows;
        over = true;
      } finally {
        letGo();
      }
    } catch (error) {
      over = true;
      throw readError(error, signal);
    } finally {
      if (!over) stop();
      release();
    }
  }

  return {
    async rows<T>(statement: Statement, signal: AbortSignal | undefined): Promise<T[]> {
      const found: T[] = [];
      for await (const chunk of rowChunks(statement, signal)) for (const row of chunk) found.push(row.json() as T);
      return found;
    },
    async tuples(statement, signal) {
      const found: unknown[][] = [];
      for await (const chunk of rowChunks(statement, signal, 'JSONCompactEachRow')) for (const row of chunk) found.push(row.json() as unknown[]);
      return found;
    },
    rowChunks: (statement, signal) => rowChunks(statement, signal),
    async bytes(statement, signal) {
      const { request, release, stop } = await admitted(statement, signal);
      try {
        const { stream } = await client.exec(request);
        const letGo = cutOnAbort(stream, request.abort_signal);
        return {
          stream,
          release: () => {
            letGo();
            if (!stream.readableEnded) stop();
            release();
          },
        };
      } catch (error) {
        release();
        throw readError(error, signal);
      }
    },
  };
}
