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
  // The request itself was refused before a byte was written.
  UND_ERR_INVALID_ARG: 'protocol_error',
  UND_ERR_NOT_SUPPORTED: 'protocol_error',
  // The agent's body had another length than it announced, or ended early.
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'aborted',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
};

/** How far a request had come: parts of it unwritten, wholly written, or its answer's head read. */
export type Stage = 'sending' | 'waiting' | 'answering';

/** What an error of the connection means at that stage. An upstream that stops reading before it has the whole request holds up the body. */
export function failureOf(error: unknown, stage: Stage): UpstreamFailure {
  if (error instanceof UpstreamError) return error.failure;
  const { code, message, name } = error as { readonly code?: unknown; readonly message?: unknown; readonly name?: unknown };
  // The parser gives no code that could be relied on. One of its errors is about an answer that ended within a chunk.
  if (name === 'HTTPParserError') return typeof message === 'string' && message.includes('Invalid EOF state') ? 'reset' : 'protocol_error';
  if (typeof code !== 'string') return 'reset';
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return stage === 'sending' ? 'body_timeout' : 'headers_timeout';
  // undici says this of every error of an answer with a length: a head it could not read, or a body that was cut.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return stage === 'answering' ? 'reset' : 'protocol_error';
  const known = byCode[code];
  if (known !== undefined) return known;
  // With TLS 1.3 a server refuses our side only after the handshake ended for us.
  if (code.startsWith('ERR_SSL_')) return 'tls_failed';
  if (code === 'UND_ERR_SOCKET' && (message === 'bad upgrade' || message === 'bad response')) return 'protocol_error';
  return 'reset';
}
