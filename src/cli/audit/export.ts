import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { Option } from 'commander';
import type { ApiTarget, TargetOptions } from '../target.ts';
import { addTargetOptions, resolveTarget } from '../target.ts';
import { apiUrl, authorization, refusal, unreachable } from './api-call.ts';
import { CommandFailure, exitCodes, settle } from './failure.ts';
import { collect, timeOption } from './time.ts';

export type ExportOptions = TargetOptions & { format: 'ndjson' | 'csv' | 'parquet'; filter?: string[]; from?: string; to?: string; order?: string; output?: string };

export type Exported = { readonly rows: number; readonly bytes: number; readonly sha256: string };

const answerMs = 120_000;
const errorBytesMax = 1_048_576;

/** Trailers are what fetch does not show, and what tells a complete export from a cut one; hence node:http. */
async function get(target: ApiTarget, url: URL): Promise<IncomingMessage> {
  const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, { headers: { ...authorization(target), te: 'trailers' } });
  outgoing.setTimeout(answerMs, () => outgoing.destroy(new Error(`no byte for ${answerMs / 1000} s`)));
  outgoing.end();
  try {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return response;
  } catch (error) {
    throw unreachable(target, error);
  }
}

async function bodyText(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) if (text.length < errorBytesMax) text += chunk;
  return text;
}

/**
 * Streams an export into `out` and proves it complete: the row count of NDJSON, and the digest over what was written, must equal the
 * trailers. Throws CommandFailure when the connection broke, a trailer is missing, or a number differs.
 */
export async function download(target: ApiTarget, options: Omit<ExportOptions, 'output'>, out: Writable): Promise<Exported> {
  const { format, filter, from, to, order } = options;
  const response = await get(target, apiUrl(target, '/audit/export', { format, filter, from, to, order }));
  if (response.statusCode !== 200) throw refusal(response.statusCode ?? 0, await bodyText(response));
  const hash = createHash('sha256');
  let bytes = 0;
  let newlines = 0;
  try {
    await pipeline(response, async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        if (format === 'ndjson') for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) newlines += 1;
        yield chunk;
      }
    }, out, { end: false });
  } catch (error) {
    throw new CommandFailure(exitCodes.failed, `the export broke off after ${bytes} bytes and is not complete (${error instanceof Error ? error.message : String(error)})`, { cause: error });
  }
  const sha256 = hash.digest('hex');
  const { 'x-export-rows': rowsText, 'x-export-sha256': digest } = response.trailers;
  if (rowsText === undefined || digest === undefined) throw new CommandFailure(exitCodes.failed, 'the export came without its row count and digest: it may not be complete');
  const rows = Number(rowsText);
  if (digest !== sha256) throw new CommandFailure(exitCodes.failed, `the export is damaged: its digest is ${sha256}, the server sent ${digest}`);
  if (format === 'ndjson' && newlines !== rows) throw new CommandFailure(exitCodes.failed, `the export has ${newlines} rows, the server sent ${rows}`);
  return { rows, bytes, sha256 };
}

/** To a file: written beside it and renamed when it is proved complete, so the name never holds half an export. */
async function toFile(target: ApiTarget, options: ExportOptions, path: string): Promise<Exported> {
  const partial = `${path}.partial`;
  const file = createWriteStream(partial, { mode: 0o600 });
  try {
    await once(file, 'open');
    const exported = await download(target, options, file);
    await new Promise<void>((resolve, reject) => {
      file.once('error', reject);
      file.end(resolve);
    });
    await rename(partial, path);
    return exported;
  } catch (error) {
    file.destroy();
    await rm(partial, { force: true });
    throw error;
  }
}

export async function runExport(options: ExportOptions, stdout: Writable & { isTTY?: boolean }, notes: { write(text: string): unknown }): Promise<void> {
  const target = resolveTarget(options);
  if (options.output === undefined && options.format === 'parquet' && stdout.isTTY === true) throw new Error('--format parquet: not to a terminal; give --output');
  const exported = options.output === undefined ? await download(target, options, stdout) : await toFile(target, options, options.output);
  notes.write(`${exported.rows.toLocaleString('en-US')} rows, ${exported.bytes.toLocaleString('en-US')} bytes, sha256 ${exported.sha256}\n`);
}

export function registerExport(audit: Command): void {
  addTargetOptions(audit.command('export').description('every matching row in one file, proved complete'))
    .addOption(new Option('--format <format>').choices(['ndjson', 'csv', 'parquet']).default('ndjson'))
    .option('--output <file>', 'where to (default: standard output)')
    .option('--filter <filter>', 'as for query (repeatable)', collect)
    .option('--from <time>', 'rows at or after this time, or this long ago (2h, 7d)', timeOption('--from'))
    .option('--to <time>', 'rows before this time', timeOption('--to'))
    .addOption(new Option('--order <order>', 'by time').choices(['asc', 'desc']))
    .action((options: ExportOptions) => settle(() => runExport(options, process.stdout, process.stderr)));
}
