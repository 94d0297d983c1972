/** An error as ClickHouse reports it: number, text, symbolic name. */
export class ClickHouseException extends Error {
  readonly code: number;
  readonly type: string;

  constructor(code: number, type: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ClickHouseException';
    this.code = code;
    this.type = type;
  }

  /** `Code: 60. DB::Exception: … (UNKNOWN_TABLE) (version 26.7.2.1)`, the body that every ClickHouse client parses. */
  render(version: string): string {
    return `Code: ${this.code}. DB::Exception: ${this.message} (${this.type}) (version ${version})\n`;
  }

  get httpStatus(): number {
    return statusByCode.get(this.code) ?? 500;
  }
}

export const syntaxError = (message: string): ClickHouseException => new ClickHouseException(62, 'SYNTAX_ERROR', message);
export const badArguments = (message: string): ClickHouseException => new ClickHouseException(36, 'BAD_ARGUMENTS', message);
export const notImplemented = (message: string): ClickHouseException => new ClickHouseException(48, 'NOT_IMPLEMENTED', message);
export const accessDenied = (message: string): ClickHouseException => new ClickHouseException(497, 'ACCESS_DENIED', message);
export const tooLarge = (message: string): ClickHouseException => new ClickHouseException(229, 'QUERY_IS_TOO_LARGE', message);
export const tooManyQueries = (message: string): ClickHouseException => new ClickHouseException(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', message);
export const notEnoughSpace = (message: string): ClickHouseException => new ClickHouseException(243, 'NOT_ENOUGH_SPACE', message);
export const cancelled = (message: string, cause?: unknown): ClickHouseException => new ClickHouseException(394, 'QUERY_WAS_CANCELLED', message, { cause });
export const aborted = (message: string): ClickHouseException => new ClickHouseException(236, 'ABORTED', message);

const enginePattern = /^Code: (\d+)\. DB::(?:\w+)?Exception: ([\s\S]*?)\s*\(([A-Z0-9_]*[A-Z]{3}[A-Z0-9_]*)\)\s*$/;

/**
 * What the engine throws is a plain Error whose message is ClickHouse's text. Anything else is a defect of ours and keeps its
 * message out of the answer.
 */
export function toException(error: unknown): ClickHouseException {
  if (error instanceof ClickHouseException) return error;
  const message = error instanceof Error ? error.message : String(error);
  const match = enginePattern.exec(message);
  if (match !== null) {
    const [, code = '', text = '', type = ''] = match;
    // The file is our spool, which the client knows nothing of.
    return new ClickHouseException(Number(code), type, text.replace(/: \(in file\/uri [^)]*\)/g, ''), { cause: error });
  }
  const code = /^Code: (\d+)\. /.exec(message)?.[1];
  if (code !== undefined) return new ClickHouseException(Number(code), 'UNKNOWN_EXCEPTION', message.slice(message.indexOf('. ') + 2), { cause: error });
  return new ClickHouseException(1002, 'UNKNOWN_EXCEPTION', 'internal error of the embedded server; its log says more', { cause: error });
}

// The statuses of ClickHouse's own HTTP handler; every code that is not listed is a 500.
const codesByStatus: Readonly<Record<number, readonly number[]>> = {
  400: [6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676],
  401: [194],
  403: [192, 193, 497, 512, 516],
  404: [46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511],
  408: [159],
  411: [381],
  413: [229],
  415: [779],
  501: [48],
  503: [76, 209, 439],
};

const statusByCode = new Map(Object.entries(codesByStatus).flatMap(([status, codes]) => codes.map((code) => [code, Number(status)])));
