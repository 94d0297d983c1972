import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { decodeRow } from '../../events/line.ts';
import type { AuditEvent } from '../../events/event.ts';
import { AppError } from '../../kernel/errors.ts';
import type { PageRequest } from '../../query/page-request.ts';
import { csvHeader, csvLine } from './csv.ts';
import { readError } from './errors.ts';
import { pageStatement } from './page.ts';
import { parquetStatement } from './parquet.ts';
import { parquetRows } from './parquet-footer.ts';
import type { QueryRunner } from './query-runner.ts';

export const exportFormats = ['ndjson', 'csv', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** `sha256` is the hexadecimal digest of the bytes of the stream. */
export type ExportManifest = { readonly rows: number; readonly bytes: number; readonly sha256: string };

/**
 * `stream` ends only when every row is out, and errors otherwise: whoever passes it on must break the connection then, not end it.
 * `manifest` resolves when the stream has ended, and rejects when it failed or was abandoned.
 */
export type AuditExport = { readonly stream: Readable; readonly manifest: Promise<ExportManifest> };

export type ExportRequest = Pick<PageRequest, 'predicate' | 'order'>;

type Source = { readonly runner: QueryRunner; readonly table: string; readonly orgId: string; readonly request: ExportRequest; readonly signal: AbortSignal | undefined };
type Chunk = { readonly bytes: Buffer; readonly rows: number };

/** Blocks this small keep a slow reader from pinning much memory, at no cost in speed. */
const blockRows = '8192';
/** Room for the footer of a Parquet file of some hundred million rows. */
const footerBytesMax = 16 * 1_048_576;

async function* textChunks(source: Source, header: string, write: (event: AuditEvent) => string): AsyncGenerator<Chunk> {
  const { runner, table, orgId, request, signal } = source;
  if (header !== '') yield { bytes: Buffer.from(header), rows: 0 };
  if (request.predicate === false) return;
  const statement = pageStatement(table, orgId, { predicate: request.predicate, order: request.order, after: undefined, limit: undefined });
  let lastId = '';
  for await (const texts of runner.rowChunks({ ...statement, settings: { max_block_size: blockRows } }, signal)) {
    let rows = 0;
    let out = '';
    for (const text of texts) {
      const row = text.json() as Record<string, unknown>;
      // A row stored twice and not yet merged is written once, as on a page.
      if (row['id'] === lastId) continue;
      lastId = row['id'] as string;
      row['org_id'] = orgId;
      out += write(decodeRow(row));
      rows += 1;
    }
    if (rows > 0) yield { bytes: Buffer.from(out), rows };
  }
}

/** The last bytes of a stream, at least `keep` of them, without copying as it passes. */
function createTail(keep: number): { push: (bytes: Buffer) => void; bytes: () => Buffer } {
  const parts: Buffer[] = [];
  let size = 0;
  return {
    push(bytes) {
      parts.push(bytes);
      size += bytes.length;
      while (size - (parts[0]?.length ?? size) >= keep) size -= parts.shift()?.length ?? 0;
    },
    bytes: () => Buffer.concat(parts),
  };
}

/** ClickHouse writes the footer last: a file that ends with one has all its rows, and any failure leaves it without. */
async function* parquetChunks(source: Source): AsyncGenerator<Chunk> {
  const { runner, table, orgId, request, signal } = source;
  const { stream, release } = await runner.bytes(parquetStatement(table, orgId, request), signal);
  const tail = createTail(footerBytesMax);
  try {
    for await (const bytes of stream as AsyncIterable<Buffer>) {
      tail.push(bytes);
      yield { bytes, rows: 0 };
    }
    yield { bytes: Buffer.alloc(0), rows: parquetRows(tail.bytes()) };
  } catch (error) {
    if (error instanceof RangeError) throw new AppError('dependency_unavailable', 'the audit store broke off the export', { dependency: 'clickhouse' }, { cause: error });
    throw readError(error, signal);
  } finally {
    release();
  }
}

const writers: Readonly<Record<ExportFormat, (source: Source) => AsyncGenerator<Chunk>>> = {
  ndjson: (source) => textChunks(source, '', (event) => `${JSON.stringify(event)}\n`),
  csv: (source) => textChunks(source, csvHeader, csvLine),
  parquet: parquetChunks,
};

/** Starts an export of every row of the request, in its order. Nothing is read before the stream is. */
export function startExport(source: Source, format: ExportFormat): AuditExport {
  const manifest = Promise.withResolvers<ExportManifest>();
  // Whoever only reads the stream learns of a failure there.
  manifest.promise.catch(() => undefined);
  const hash = createHash('sha256');
  async function* out(): AsyncGenerator<Buffer> {
    let rows = 0;
    let bytes = 0;
    try {
      for await (const chunk of writers[format](source)) {
        rows += chunk.rows;
        bytes += chunk.bytes.length;
        hash.update(chunk.bytes);
        if (chunk.bytes.length > 0) yield chunk.bytes;
      }
      manifest.resolve({ rows, bytes, sha256: hash.digest('hex') });
    } catch (error) {
      manifest.reject(error);
      throw error;
    } finally {
      manifest.reject(new DOMException('the export was abandoned', 'AbortError'));
    }
  }
  return { stream: Readable.from(out(), { objectMode: false, highWaterMark: 64 * 1024 }), manifest: manifest.promise };
}
