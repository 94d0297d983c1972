import type { Verdict } from './verdict.ts';
import { refuse } from './verdict.ts';

/** What Node reports of a connection whose input is not, or not yet, a request. */
export type ParseFailure = { readonly code?: string | undefined };

/** Whether the failure itself proves that part of a request had arrived, or whether the connection's state has to tell. */
export function provesRequest({ code }: ParseFailure): boolean {
  return code?.startsWith('HPE_') === true;
}

/**
 * Bytes after a request with `Connection: close` must not be processed (RFC 9112, 9.6): they are no request, so they get no row.
 */
export function isAfterClose({ code }: ParseFailure): boolean {
  return code === 'HPE_CLOSED_CONNECTION';
}

/** The verdict on input that never became a request. Only the parser's code goes into the row: its texts could quote the input. */
export function refusalOf({ code }: ParseFailure): Verdict {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refuse('headers_too_large', 431);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refuse('request_timeout', 408);
    case 'HPE_INVALID_EOF_STATE':
    case 'ECONNRESET':
    case 'EPIPE':
      return refuse('incomplete_request', 400);
    case undefined:
    default:
      return refuse('malformed_request', 400, code === undefined ? {} : { parser_code: code });
  }
}
