import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorDetails } from '../kernel/errors.ts';
import { AppError, validationError } from '../kernel/errors.ts';

/** Contract 2.6, the body of every error answer. */
export type ErrorBody = { error: { code: string; message: string; request_id: string; details?: ErrorDetails } };

export function errorBody(error: AppError, requestId: string): ErrorBody {
  const { code, message, details } = error;
  return { error: { code, message, request_id: requestId, ...(details === undefined ? {} : { details }) } };
}

/** Errors of the framework that are the caller's fault, by its code. Anything not listed here is `internal`. */
const frameworkErrors: Readonly<Record<string, () => AppError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError('payload_too_large', 'the request body is too large'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new AppError('unsupported_media_type', 'the body must be application/json'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => validationError({ body: 'empty, expected JSON' }),
  FST_ERR_CTP_INVALID_JSON_BODY: () => validationError({ body: 'not valid JSON' }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => validationError({ body: 'shorter or longer than Content-Length' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError('not_found', 'there is no such route'),
  FST_ERR_BAD_URL: () => validationError({ path: 'not a valid URL path' }),
};

function isFrameworkError(error: unknown): error is FastifyError {
  return error instanceof Error && typeof (error as Partial<FastifyError>).code === 'string';
}

/** What the caller sees of an error: our own as they are, the framework's translated, everything else `internal` with a fixed text. */
export function shownError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isFrameworkError(error)) {
    const known = frameworkErrors[error.code];
    if (known !== undefined) return known();
  }
  return new AppError('internal', 'internal error', undefined, { cause: error });
}

/** Sends an error; the status comes from the error table, and `x-request-id` was set when the request arrived. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  // The client has gone, and its query was cancelled for that: nobody reads the answer, and nothing is wrong.
  if (reply.raw.destroyed && thrown instanceof Error && thrown.name === 'AbortError') {
    reply.hijack();
    return;
  }
  const error = shownError(thrown);
  if (error.status >= 500) request.log.error({ err: error.cause ?? error, code: error.code }, 'request failed');
  const retryAfterS = error.details?.['retry_after'];
  if (error.status === 429 || error.code === 'dependency_unavailable') reply.header('retry-after', typeof retryAfterS === 'number' ? retryAfterS : 1);
  if (error.code === 'unauthenticated') reply.header('www-authenticate', 'Bearer');
  // A route may have announced another type (an export, a stream) before it failed.
  reply.code(error.status).header('x-request-id', request.id).type('application/json; charset=utf-8').removeHeader('content-disposition').send(JSON.stringify(errorBody(error, request.id)));
}
