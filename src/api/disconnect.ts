import type { FastifyReply } from 'fastify';

/**
 * Fires when the client goes away before its answer is complete, so that the query behind it can be cancelled. Fastify's own
 * `request.signal` listens to the request's `close`, which Node emits as soon as a body was read to its end.
 */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { raw } = reply;
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
