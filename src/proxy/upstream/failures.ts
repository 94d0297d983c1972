import type { UpstreamFailure } from '../contract.ts';

/** An upstream's failure on its way to whoever waits. Ends an answer's body that was cut. The texts of systems and upstreams stay out of it. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure;
  constructor(failure: UpstreamFailure) {
    super(`upstream: ${failure}`);
    this.name = 'UpstreamError';
    this.failure = failure;
  }
}

const byCode: Readonly<Record<string, UpstreamFailure>> = {
  UND_ERR_BODY_TIMEOUT: 'body_timeout',
  UND_ERR_HEADERS_OVERFLOW: 'protocol_error',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'protocol_error',
  // The connection ended before all bytes had come that were announced.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'reset',
  HPE_INVALID_EOF_STATE: 'reset',
  // The request itself was refused before a byte was written.
  UND_ERR_INVALID_ARG: 'protocol_error',
  UND_ERR_NOT_SUPPORTED: 'protocol_error',
  // The agent's body had another length than it announced, or ended early.
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'aborted',
  UND_ERR_ABORTED: 'aborted',
};

/** What an error of the connection means. `bodySent`: the whole request had been written; an upstream that stops reading before that holds up the body. */
export function failureOf(error: unknown, bodySent: boolean): UpstreamFailure {
  if (error instanceof UpstreamError) return error.failure;
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code !== 'string') return 'reset';
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return bodySent ? 'headers_timeout' : 'body_timeout';
  const known = byCode[code];
  if (known !== undefined) return known;
  if (code.startsWith('HPE_')) return 'protocol_error';
  // With TLS 1.3 a server refuses our side only after the handshake ended for us.
  if (code.startsWith('ERR_SSL_')) return 'tls_failed';
  if (code === 'UND_ERR_SOCKET' && (message === 'bad upgrade' || message === 'bad response')) return 'protocol_error';
  return 'reset';
}
