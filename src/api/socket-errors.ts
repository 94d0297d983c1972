import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, validationError } from '../kernel/errors.ts';
import { uuidv7 } from '../kernel/ids.ts';
import { errorBody } from './error-reply.ts';

const parserErrors: ReadonlyMap<string, () => AppError> = new Map([
  ['HPE_HEADER_OVERFLOW', () => new AppError('headers_too_large', 'the URL and headers are too large together')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', () => new AppError('payload_too_large', 'the chunk extensions are too large')],
  ['ERR_HTTP_REQUEST_TIMEOUT', () => new AppError('request_timeout', 'the request did not arrive in time')],
]);

/**
 * Answers what Node's parser refuses before there is a request object: it still gets the body of contract 2.6 and a request id.
 * The parser's state is lost, so the connection is closed.
 */
export function answerSocketError(thrown: Error & { code?: string }, socket: Socket, onAnswer: (code: string, requestId: string) => void): void {
  if (thrown.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const error = parserErrors.get(thrown.code ?? '')?.() ?? validationError({ request: 'not a well-formed HTTP/1.1 request' });
  const requestId = uuidv7();
  const body = JSON.stringify(errorBody(error, requestId));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'x-content-type-options: nosniff',
    'connection: close',
  ];
  onAnswer(error.code, requestId);
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
