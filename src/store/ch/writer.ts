import { Readable } from 'node:stream';
import { drainStream } from '@clickhouse/client';
import type { ClickHouseSettings } from '@clickhouse/client';
import type { ClickHouse } from './connection.ts';
import { insertError } from './errors.ts';

export type InsertBatch = {
  /** The batch's id: ClickHouse drops an insert whose token it has seen, so a batch can be sent again without harm. */
  readonly token: string;
  /** Stamped lines as `src/events/line.ts` makes them, each ended by a newline. */
  readonly ndjson: Buffer | Readable;
  /** How `ndjson` is compressed, passed on as it is. */
  readonly encoding?: 'zstd' | 'gzip';
};

export type AuditWriter = {
  /**
   * Resolves when ClickHouse has the whole batch on disk (or had it already). All rows or none are stored.
   * @throws ClickHouseDataError when a row is refused; ClickHouseUnavailableError for everything else, also when the outcome is unknown
   */
  insertBatch: (batch: InsertBatch, signal?: AbortSignal) => Promise<void>;
};

/**
 * One insert must become one block per partition, since the token is checked block by block: a batch cut in two by size would make the
 * second half of a replay look new. Batches have at most 10,000 rows and 8 MiB, far below these.
 */
const oneBlock: ClickHouseSettings = { max_insert_block_size: '1048576', min_insert_block_size_rows: '1048576', min_insert_block_size_bytes: '268435456', input_format_parallel_parsing: 0 };

export function createAuditWriter(clickhouse: ClickHouse, options: { readonly timeoutMs: number }): AuditWriter {
  const settings: ClickHouseSettings = {
    ...clickhouse.settings,
    ...oneBlock,
    async_insert: 0,
    wait_end_of_query: 1,
    insert_deduplicate: 1,
    max_execution_time: options.timeoutMs / 1000,
    // A column we do not know is a defect of the source, to be seen in the dead letters, not dropped in silence.
    input_format_skip_unknown_fields: 0,
    // Nor is a value of the wrong shape turned into some text.
    input_format_json_read_arrays_as_strings: 0,
    input_format_json_read_objects_as_strings: 0,
    input_format_json_read_numbers_as_strings: 0,
    input_format_json_read_bools_as_strings: 0,
    input_format_json_read_bools_as_numbers: 0,
    input_format_null_as_default: 0,
  };
  return {
    async insertBatch({ token, ndjson, encoding }, signal) {
      // The client does not notice a signal that was aborted before the call.
      signal?.throwIfAborted();
      const deadline = AbortSignal.timeout(options.timeoutMs + 5_000);
      try {
        // Not `insert`, which would want parsed rows: the bytes go through as they are.
        const { stream } = await clickhouse.client.exec({
          query: `INSERT INTO ${clickhouse.events} FORMAT JSONEachRow`,
          values: Buffer.isBuffer(ndjson) ? Readable.from([ndjson], { objectMode: false }) : ndjson,
          abort_signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
          clickhouse_settings: { ...settings, insert_deduplication_token: token },
          ...(encoding === undefined ? {} : { http_headers: { 'Content-Encoding': encoding } }),
        });
        await drainStream(stream);
      } catch (error) {
        signal?.throwIfAborted();
        throw insertError(error);
      }
    },
  };
}
