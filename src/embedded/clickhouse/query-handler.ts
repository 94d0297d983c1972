import type { IncomingMessage } from 'node:http';
import { rm } from 'node:fs/promises';
import type { Answer } from './answer.ts';
import { createSpoolBudget, decodeSql, readBody, readHead, spool } from './body.ts';
import type { Chunks } from './body.ts';
import { createColumns } from './columns.ts';
import type { Engine } from './engine.ts';
import { tooLarge } from './exception.ts';
import { createSpoolNames, executeInsert, executeStatement } from './execute.ts';
import type { Execution } from './execute.ts';
import { refuseOutsideAccess, refuseOutsideParameters } from './guard.ts';
import { lex } from './lexer.ts';
import { preparation } from './query-request.ts';
import type { QueryRequest } from './query-request.ts';
import { createSlots } from './slots.ts';
import { parseInsertHead } from './statement.ts';

export interface QueryLimits {
  /** Queries that run at a time. */
  readonly sessions: number;
  /** Queries that wait for one of those; over it: code 202. */
  readonly waitingMax: number;
  readonly waitMaxMs: number;
  /** Text of one statement without its data. */
  readonly queryBytesMax: number;
  /** Body of one request, decompressed. */
  readonly bodyBytesMax: number;
  /** Bodies of all running requests on disk. */
  readonly spoolBytesMax: number;
  /** One result that has to be written as a whole before it can be sent. */
  readonly resultBytesMax: number;
}

export interface QueryHandler {
  /** Runs the request's query and writes the answer. What it throws has not been answered yet. */
  handle(request: QueryRequest, incoming: IncomingMessage | undefined, answer: Answer, signal: AbortSignal): Promise<void>;
  readonly running: number;
  /** Refuses new queries and those in line; running ones go on. */
  close(): void;
}

/**
 * One request, one connection: settings, parameters, the current database and temporary tables end with it and can leak into
 * nobody else's query, whatever the statement did.
 */
export function createQueryHandler(engine: Engine, spoolDir: string, limits: QueryLimits): QueryHandler {
  const slots = createSlots({ runningMax: limits.sessions, waitingMax: limits.waitingMax, waitMaxMs: limits.waitMaxMs });
  const budget = createSpoolBudget(limits.spoolBytesMax);
  const columns = createColumns();
  const nextFile = createSpoolNames(spoolDir);
  let count = 0;

  const withConnection = async (request: QueryRequest, answer: Answer, signal: AbortSignal, run: (execution: Execution) => Promise<void>): Promise<void> => {
    const release = await slots.acquire(signal);
    const tag = `${count += 1}:${request.queryId}`;
    const resultFile = nextFile();
    try {
      const connection = engine.open();
      try {
        for (const statement of preparation(request, tag)) await connection.query(statement);
        await run({ engine, connection, request, answer, columns, tag, signal, resultFile, resultBytesMax: limits.resultBytesMax });
      } finally {
        connection.close();
      }
    } finally {
      release();
      await rm(resultFile, { force: true });
    }
  };

  return {
    get running() { return slots.running; },
    close: () => slots.close(),
    async handle(request, incoming, answer, signal) {
      const source = querySource(request.urlQuery, incoming === undefined ? noBody() : readBody(incoming, limits.bodyBytesMax));
      try {
        await handleSource(request, source, answer, signal);
      } finally {
        // Ends a decoder that has not been read to its end.
        await source.return();
      }
    },
  };

  async function handleSource(request: QueryRequest, source: AsyncGenerator<Buffer, void, void>, answer: Answer, signal: AbortSignal): Promise<void> {
    const head = await readHead(source, limits.queryBytesMax);
    // One character per byte, so that offsets are offsets into the bytes; keywords and quotes are ASCII.
    const insert = parseInsertHead(head.bytes.toString('latin1'));
    if (insert === undefined) {
      if (!head.complete) throw tooLarge(`The query is longer than ${limits.queryBytesMax} bytes.`);
      const sql = decodeSql(head.bytes);
      refuseOutsideAccess([...lex(sql)]);
      refuseOutsideParameters(sql, request.parameters);
      await withConnection(request, answer, signal, (execution) => executeStatement(execution, sql));
      return;
    }
    const sql = decodeSql(head.bytes.subarray(0, insert.dataStart));
    const data = head.bytes.subarray(insert.dataStart);
    refuseOutsideAccess([...lex(sql)]);
    refuseOutsideParameters(sql, request.parameters);
    const parsed = parseInsertHead(sql) ?? insert;
    const expressions = insert.format.toLowerCase() === 'values';
    // VALUES may hold expressions, function calls among them. What is too long to be looked through must do without.
    if (expressions && head.complete) refuseOutsideAccess([...lex(data.toString('latin1'))]);
    const file = nextFile();
    const taken = { bytes: 0 };
    try {
      await spool(file, expressions && head.complete ? withoutSemicolon(data) : data, head.rest, budget, taken);
      await withConnection(request, answer, signal, async (execution) => {
        if (expressions && !head.complete) await execution.connection.query('SET input_format_values_interpret_expressions = 0');
        await executeInsert(execution, parsed, file);
      });
    } finally {
      await rm(file, { force: true });
      budget.give(taken.bytes);
    }
  }
}

/** As in ClickHouse: the query is what stands in the URL, a line end, and the body. */
async function* querySource(urlQuery: string, body: Chunks): AsyncGenerator<Buffer, void, void> {
  if (urlQuery !== '') yield Buffer.from(`${urlQuery}\n`);
  yield* body;
}

async function* noBody(): AsyncGenerator<Buffer, void, void> {
  // A multipart body has been read already.
}

/** `INSERT … VALUES (…);` may end like any statement. */
function withoutSemicolon(data: Buffer): Buffer {
  return Buffer.from(data.toString('latin1').replace(/;\s*$/, ''), 'latin1');
}
