import { pipeline } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validationError } from '../kernel/errors.ts';
import { csvHeader } from '../store/ch/csv.ts';
import type { AuditExport, ExportFormat } from '../store/ch/export.ts';
import type { ApiMetrics } from './metrics.ts';
import { headersOf } from './open-stream.ts';

const contentTypes: Readonly<Record<ExportFormat, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
};

/**
 * Reads until the first row, or the end of an export without rows: until then a failure can still become a status. A CSV header is
 * there before the store was asked anything.
 */
async function beginning(bytes: AsyncIterator<Buffer>, format: ExportFormat): Promise<Buffer[]> {
  const skipped = format === 'csv' ? Buffer.byteLength(csvHeader) : 0;
  const chunks: Buffer[] = [];
  for (let size = 0; size <= skipped;) {
    const next = await bytes.next();
    if (next.done === true) break;
    chunks.push(next.value);
    size += next.value.length;
  }
  return chunks;
}

/**
 * Sends an export, complete or visibly failed: its length is never announced, rows and digest follow in the trailers
 * `x-export-rows` and `x-export-sha256`, and a failure in the middle destroys the connection, which every client sees as a broken chunked body.
 */
export async function sendExport({ stream, manifest }: AuditExport, format: ExportFormat, name: string, metrics: ApiMetrics, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  if (request.raw.httpVersion === '1.0') throw validationError({ request: 'an export needs HTTP/1.1: with 1.0 a broken one would look complete' });
  const bytes = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await beginning(bytes, format);
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(200, {
    ...headersOf(reply),
    'content-type': contentTypes[format],
    'content-disposition': `attachment; filename="${name}.${format}"`,
    trailer: 'x-export-rows, x-export-sha256',
  });
  async function* whole(): AsyncGenerator<Buffer> {
    yield* first;
    yield* { [Symbol.asyncIterator]: () => bytes };
  }
  try {
    await pipeline(whole, raw, { end: false });
    const { rows, sha256 } = await manifest;
    raw.addTrailers({ 'x-export-rows': String(rows), 'x-export-sha256': sha256 });
    raw.end();
    metrics.exportedRows.inc({ format }, rows);
  } catch (err) {
    if (raw.destroyed) request.log.info('export abandoned by the client');
    else request.log.error({ err }, 'export failed');
    raw.destroy();
  } finally {
    stream.destroy();
  }
  return reply;
}
