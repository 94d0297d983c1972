import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Answer } from './answer.ts';
import type { Columns } from './columns.ts';
import type { Engine, EngineConnection, ResultStream } from './engine.ts';
import { quoteString } from './engine.ts';
import { ClickHouseException, toException } from './exception.ts';
import { contentType, streamFormat, withoutHeader } from './formats.ts';
import { lex } from './lexer.ts';
import type { QueryRequest } from './query-request.ts';
import { readOutputClauses } from './statement.ts';
import type { InsertHead, OutputClauses } from './statement.ts';

export interface Execution {
  readonly engine: Engine;
  readonly connection: EngineConnection;
  readonly request: QueryRequest;
  readonly answer: Answer;
  readonly columns: Columns;
  /** The query's `log_comment`. */
  readonly tag: string;
  readonly signal: AbortSignal;
  /** A path for a file of this request's own; it does not exist yet and is removed by the caller. */
  readonly resultFile: string;
  readonly resultBytesMax: number;
}

/** Runs any statement but an INSERT with data. Errors before the first byte of the answer are thrown. */
export async function executeStatement(execution: Execution, sql: string): Promise<void> {
  const { connection, request, answer, columns } = execution;
  const clauses = readOutputClauses([...lex(sql)]);
  const format = clauses.format ?? request.defaultFormat;
  checkFormat(format);
  if (clauses.looksLikeSelect && (streamFormat(format) === undefined || request.waitEndOfQuery)) {
    await sendWhole(execution, sql, format, clauses);
    return;
  }
  // Also the check that this is one statement: the calls below would execute everything behind a semicolon.
  const stream = connection.stream(sql, format);
  if (stream !== undefined) {
    await sendStream(execution, stream, format);
    return;
  }
  columns.forget();
  try {
    if (clauses.inserts) {
      const { rowsWritten, bytesWritten } = await connection.insert(sql);
      answer.start({ format, contentType: contentType(format), summary: { writtenRows: rowsWritten, writtenBytes: bytesWritten } });
    } else {
      const result = await connection.query(sql, format);
      answer.start({ format, contentType: contentType(format), summary: { resultRows: result.resultRows, resultBytes: result.resultBytes } });
      if (result.bytes.length > 0) await answer.write(result.bytes);
    }
  } finally {
    columns.forget();
  }
  await answer.end();
}

/**
 * Runs an INSERT whose data lies in `file`. The data is never part of the statement: chDB ends inline data at the first blank line
 * and executes the rest as SQL.
 */
export async function executeInsert(execution: Execution, head: InsertHead, file: string): Promise<void> {
  const { connection, request, answer, columns } = execution;
  checkFormat(head.format);
  const structure = await columns.structureFor(connection, request.database, head);
  const source = `file(${quoteString(file)}, ${quoteString(head.format)}, ${quoteString(structure)}, 'none')`;
  const sql = `INSERT INTO ${head.target} ${head.columnsText} ${head.settingsText} SELECT * FROM ${source}`;
  await refuseSeveralStatements(connection, sql, sql);
  const { rowsWritten, bytesWritten } = await connection.insert(sql);
  const { defaultFormat } = request;
  answer.start({ format: defaultFormat, contentType: contentType(defaultFormat), summary: { writtenRows: rowsWritten, writtenBytes: bytesWritten, readRows: rowsWritten, readBytes: bytesWritten } });
  await answer.end();
}

async function sendStream(execution: Execution, stream: ResultStream, format: string): Promise<void> {
  const { answer } = execution;
  const shape = streamFormat(format) ?? { headerLines: 0, quoted: false };
  const stopKilling = killWhenAborted(execution);
  try {
    let block = await stream.next();
    answer.start({ format, contentType: contentType(format) });
    for (let first = true; block !== undefined; first = false) {
      // The engine works on the next block while the client takes this one; there are never more than two.
      const following = stream.next();
      // When the write fails first, nobody awaits this one: `close` below does, and drops its error.
      following.catch(() => undefined);
      await answer.write(first ? block : withoutHeader(block, shape));
      block = await following;
    }
  } finally {
    await stream.close();
    stopKilling();
  }
  await answer.end();
}

/** For formats that are one document: the engine writes it to a file with bounded memory, and the file is sent. */
async function sendWhole(execution: Execution, sql: string, format: string, clauses: OutputClauses): Promise<void> {
  const { connection, answer, resultFile, resultBytesMax } = execution;
  const { outfileAt } = clauses;
  const formatClause = clauses.format === undefined ? ` FORMAT ${format}` : ' ';
  const outfileSql = `${sql.slice(0, outfileAt)} INTO OUTFILE ${quoteString(resultFile)}${formatClause}${sql.slice(outfileAt)}`;
  await refuseSeveralStatements(connection, `EXPLAIN AST ${outfileSql}`, sql);
  const stopKilling = killWhenAborted(execution);
  let tooBig = false;
  const watch = setInterval(() => {
    void stat(resultFile).then(async ({ size }) => {
      tooBig ||= size > resultBytesMax;
      if (tooBig) await execution.engine.kill(execution.tag);
    }).catch(() => undefined);
  }, 250);
  let rows: number;
  try {
    rows = (await connection.query(outfileSql, format)).resultRows;
  } catch (error) {
    if (tooBig) throw new ClickHouseException(396, 'TOO_MANY_ROWS_OR_BYTES', `Limit for result exceeded, max bytes: ${resultBytesMax}.`, { cause: error });
    throw error;
  } finally {
    clearInterval(watch);
    stopKilling();
  }
  const size = await stat(resultFile).then((found) => found.size, () => 0);
  answer.start({ format, contentType: contentType(format), summary: { resultRows: rows, resultBytes: size } });
  if (size > 0) for await (const chunk of createReadStream(resultFile, { highWaterMark: 262_144 }) as AsyncIterable<Buffer>) await answer.write(chunk);
  await rm(resultFile, { force: true });
  await answer.end();
}

/** Throws what the engine's parser has against `probe`, which must be of a kind that the stream call parses but does not execute. */
async function refuseSeveralStatements(connection: EngineConnection, probe: string, original: string): Promise<void> {
  try {
    const stream = connection.stream(probe, 'Null');
    if (stream === undefined) return;
    await stream.close();
  } catch (error) {
    // The same complaint about the client's own text names the right position.
    if (probe !== original) await connection.stream(original, 'Null')?.close();
    throw error;
  }
  throw new ClickHouseException(62, 'SYNTAX_ERROR', 'Syntax error: the statement is not what it looked like.');
}

/** When the client goes away the engine must stop working for it. Repeated, since a query is not listed before it has been planned. */
function killWhenAborted({ engine, tag, signal }: Execution): () => void {
  let timer: NodeJS.Timeout | undefined;
  const kill = (): void => {
    void engine.kill(tag).catch((error: unknown) => console.error(`KILL QUERY failed: ${toException(error).message}`));
  };
  const onAbort = (): void => {
    kill();
    timer = setInterval(kill, 200);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return () => {
    signal.removeEventListener('abort', onAbort);
    clearInterval(timer);
  };
}

function checkFormat(format: string): void {
  if (!/^\w{1,100}$/.test(format)) throw new ClickHouseException(73, 'UNKNOWN_FORMAT', `Unknown format ${JSON.stringify(format.slice(0, 100))}.`);
}

/** Names for spool files, never used twice in one process. */
export function createSpoolNames(dir: string): () => string {
  let count = 0;
  return () => join(dir, `${process.pid}-${count += 1}.spool`);
}
