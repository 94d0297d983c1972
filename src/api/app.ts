import helmet from '@fastify/helmet';
import fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { AppError, validationError } from '../kernel/errors.ts';
import { uuidv7 } from '../kernel/ids.ts';
import { registerAuthentication } from './authenticate.ts';
import type { ApiDeps } from './deps.ts';
import { registerDocs } from './docs.ts';
import { sendError } from './error-reply.ts';
import { allowedMethods } from './method-match.ts';
import { observeRequests } from './metrics.ts';
import { compileValidator } from './query-values.ts';
import { registerRateLimits } from './rate-limit.ts';
import { loggedUrl, logRequest } from './request-log.ts';
import type { RouteRow } from './route.ts';
import { answerSocketError } from './socket-errors.ts';

/** URL and headers together; long enough for fifty filters, short enough that nobody stores things in it. */
const headBytesMax = 65_536;
const keepAliveTimeoutMs = 72_000;

function fastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

function createServer({ settings, logger }: ApiDeps): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = logger;
  return fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: () => uuidv7(),
    trustProxy: settings.trustedProxies === '' ? false : settings.trustedProxies.split(',').map((address) => address.trim()),
    bodyLimit: settings.apiBodyBytesMax,
    requestTimeout: settings.apiRequestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    http: { maxHeaderSize: headBytesMax, headersTimeout: Math.min(settings.apiRequestTimeoutMs, 15_000), connectionsCheckingInterval: 1000, requireHostHeader: false },
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: 512 },
    clientErrorHandler: (error, socket) => answerSocketError(error, socket, (code, requestId) => logger.info({ code, request_id: requestId }, 'malformed request')),
    // Called when the path itself cannot be read, before any hook.
    frameworkErrors: (error, request, reply) => sendError(error, request as Parameters<typeof sendError>[1], reply as Parameters<typeof sendError>[2]),
  });
}

/**
 * Builds the API from its route table (contract 4). Not listening yet: `start.ts` does that, tests use `inject`.
 * Hooks run in the order written here.
 */
export async function buildApp(deps: ApiDeps, rows: readonly RouteRow[]): Promise<FastifyInstance> {
  const app = createServer(deps);
  app.setValidatorCompiler(compileValidator);
  // Answers are written by our own types: a serializer made from the schemas would silently drop what they do not name.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('cache-control', 'no-store');
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') throw validationError({ host: 'the Host header is missing' });
  });
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    referrerPolicy: { policy: 'no-referrer' },
  });
  const limiter = await registerRateLimits(app, deps.settings.rateLimitPerMinute);
  registerAuthentication(app, deps.identity, limiter);
  app.addHook('onResponse', async (request, reply) => {
    logRequest(request, reply);
  });
  app.addHook('onRequestAbort', async (request) => {
    request.log.info({ method: request.method, url: loggedUrl(request.url), route: request.routeOptions.url ?? null }, 'request aborted by the client');
  });
  observeRequests(app, deps.metrics);

  await registerDocs(app, deps.settings.publicBaseUrl);
  for (const row of rows) {
    const { schema, handle } = row.route(deps);
    app.route({ method: row.method, url: fastifyPath(row.path), schema: { ...schema, ...docsOf(row) }, config: { row }, handler: handle });
  }
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(rows, request.url);
    if (allowed.length > 0) {
      reply.header('allow', allowed.join(', '));
      throw new AppError('method_not_allowed', `this path takes ${allowed.join(', ')}`);
    }
    throw new AppError('not_found', 'there is no such route');
  });
  await app.ready();
  return app;
}

/** What the table knows and the API document should say. */
function docsOf(row: RouteRow): object {
  const security = row.scopes === 'public' ? [] : [{ session: [] }, { api_key: [] }, ...(row.stream === true ? [{ api_key_query: [] }] : [])];
  const scopes = row.scopes === 'public' || row.scopes.length === 0 ? {} : { 'x-scopes': row.scopes };
  return { operationId: `${row.method.toLowerCase()}${row.path.replaceAll(/[^\w]+(\w)/g, (_match, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, '')}`, tags: [row.tag], security, ...scopes };
}
