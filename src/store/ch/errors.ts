import { ClickHouseError } from '@clickhouse/client';
import { AppError } from '../../kernel/errors.ts';

/** Refused rows: ClickHouse read the batch and a row of it does not fit the table. Bisecting the batch finds the row. */
export class ClickHouseDataError extends Error {
  readonly code: number;
  /** Line of the batch as ClickHouse counts it, from 1, when it says so. */
  readonly line: number | undefined;

  constructor(code: number, message: string, line: number | undefined, cause: unknown) {
    super(message, { cause });
    this.name = 'ClickHouseDataError';
    this.code = code;
    this.line = line;
  }
}

/** Anything that says nothing about the rows: down, overloaded, not migrated, wrong password. The same batch is sent again. */
export class ClickHouseUnavailableError extends Error {
  readonly code: number | undefined;

  constructor(code: number | undefined, cause: unknown) {
    super(code === undefined ? 'ClickHouse does not answer' : `ClickHouse refused the statement (code ${code})`, { cause });
    this.name = 'ClickHouseUnavailableError';
    this.code = code;
  }
}

/** ClickHouse's own limits on a query: rows, bytes, time, memory, result. */
const tooExpensive = new Set([158, 159, 160, 241, 307, 396]);

/** Schema not there, no access, overloaded, shutting down, keeper or replica lost: the operator's matter, not the caller's. */
const unavailable = new Set([60, 81, 192, 193, 194, 202, 210, 209, 225, 242, 279, 425, 497, 516, 999, 1000]);

/** Text of a row that does not parse or does not fit its column. */
const refusedRows = new Set([6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 130, 131, 321, 349, 376, 441, 469, 691]);

export function clickHouseCode(error: unknown): number | undefined {
  return error instanceof ClickHouseError && /^\d+$/.test(error.code) ? Number(error.code) : undefined;
}

/**
 * What a caller of the API learns of a failed read: never ClickHouse's own text, which quotes SQL and values. The original is the
 * `cause`, for the log. An abort by the caller comes back as the signal's reason.
 */
export function readError(error: unknown, signal: AbortSignal | undefined): Error {
  if (error instanceof AppError) return error;
  if (signal?.aborted === true) return signal.reason instanceof Error ? signal.reason : new DOMException('the query was cancelled', 'AbortError');
  const code = clickHouseCode(error);
  if (code !== undefined && tooExpensive.has(code)) {
    return new AppError('query_too_expensive', 'the query needs more time or memory than one query may use; narrow the time window or the filters', undefined, { cause: error });
  }
  if (code === undefined || unavailable.has(code)) {
    return new AppError('dependency_unavailable', 'the audit store does not answer', { dependency: 'clickhouse' }, { cause: error });
  }
  return new AppError('internal', 'the audit store could not run the query', undefined, { cause: error });
}

/** Sorts a failed insert into the two kinds that the writer treats differently; what is not surely the rows' fault is the store's. */
export function insertError(error: unknown): ClickHouseDataError | ClickHouseUnavailableError {
  const code = clickHouseCode(error);
  if (code === undefined || !refusedRows.has(code)) return new ClickHouseUnavailableError(code, error);
  const message = error instanceof Error ? error.message : String(error);
  const line = /\(at row (\d+)\)/.exec(message)?.[1];
  return new ClickHouseDataError(code, message.slice(0, 1000), line === undefined ? undefined : Number(line), error);
}
