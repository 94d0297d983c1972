import type { AddressInfo } from 'node:net';
import fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { AppError } from '../../kernel/errors.ts';
import { uuidv7 } from '../../kernel/ids.ts';
import { sendError } from '../error-reply.ts';
import { loggedUrl } from '../request-log.ts';
import type { InternalDeps } from './contract.ts';
import { registerCredentialRoute } from './credential-route.ts';
import { createServiceTokenCheck } from './service-token.ts';
import { registerWorkspaceRoute } from './workspace-route.ts';

const requestTimeoutMs = 10_000;
/** Longer than a proxy keeps an idle connection, so that it is never this side that closes one about to be used. */
const keepAliveTimeoutMs = 60_000;
const connectionsMax = 4_096;
/** A credential's name may be percent-encoded. */
const parameterCharactersMax = 2_048;

/**
 * The internal API: what proxies ask the control plane (design 10). Its answers hold opened secrets, so it is a listener of its own, on
 * loopback unless told otherwise, behind a service token; nothing of it is in the public API's document. No part of an answer is logged.
 */
export function buildInternalApp(deps: InternalDeps): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = deps.logger;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: () => uuidv7(),
    bodyLimit: 1_024,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    http: { maxHeaderSize: 16_384, headersTimeout: requestTimeoutMs, connectionsCheckingInterval: 1_000 },
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: parameterCharactersMax },
    frameworkErrors: (error, request, reply) => sendError(error, request as Parameters<typeof sendError>[1], reply as Parameters<typeof sendError>[2]),
  });
  app.server.maxConnections = connectionsMax;
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  const checkToken = createServiceTokenCheck(deps.serviceToken);
  // Before the route is looked at: without the token nothing can be learned, not even which paths there are.
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('cache-control', 'no-store');
    checkToken(request.headers.authorization);
  });
  app.addHook('onResponse', async (request, reply) => {
    request.log.info({ method: request.method, url: loggedUrl(request.url), status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 }, 'internal request');
  });
  registerWorkspaceRoute(app, deps);
  registerCredentialRoute(app, deps);
  app.setNotFoundHandler(() => {
    throw new AppError('not_found', 'there is no such route');
  });
  return app;
}

export type RunningInternalApi = { readonly url: string; readonly stop: (timeoutMs: number) => Promise<void> };

/** Rejects when the port cannot be bound; port 0 takes a free one. */
export async function startInternalApi(deps: InternalDeps, listen: { readonly host: string; readonly port: number }): Promise<RunningInternalApi> {
  const app = buildInternalApp(deps);
  await app.listen(listen);
  const { address, family, port } = app.server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async stop(timeoutMs) {
      const cut = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
      await app.close();
      clearTimeout(cut);
    },
  };
}
