import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../kernel/errors.ts';
import type { Caller, Identity } from '../identity/resolve.ts';
import type { RouteRow } from './route.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined on public routes, and until the caller is resolved. */
    caller: Caller | undefined;
  }
  interface FastifyContextConfig {
    /** The row of the route table; undefined for assets of the docs page. */
    row?: RouteRow;
  }
}

const reading: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** States of an org in which nothing may be changed (contract 5.8). */
const blockedStates: ReadonlySet<string> = new Set(['past_due', 'decommissioning', 'trial_expired']);

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value;
}

function queryKey(request: FastifyRequest): string | undefined {
  const { api_key: key } = request.query as { api_key?: unknown };
  if (key === undefined) return undefined;
  // A repeated key is no key.
  return typeof key === 'string' ? key : '';
}

/** Refuses callers that hold none of the row's scopes, and mutations of blocked tenants. */
export function authorize(caller: Caller, row: RouteRow): void {
  if (row.scopes === 'public') return;
  if (row.scopes.length > 0 && !row.scopes.some((scope) => caller.scopes.has(scope))) {
    throw new AppError('permission_denied', `needs ${row.scopes.length > 1 ? 'one of the scopes' : 'the scope'} ${row.scopes.join(', ')}`);
  }
  if (!reading.has(row.method) && blockedStates.has(caller.orgState)) {
    throw new AppError('tenant_blocked', `the org is ${caller.orgState.replaceAll('_', ' ')}; nothing can be changed`, { state: caller.orgState });
  }
}

export type Limiter = { readonly caller: (request: FastifyRequest, reply: FastifyReply) => Promise<void>; readonly failure: (request: FastifyRequest) => Promise<void> };

/**
 * Resolves the caller of every route of the table, before its body is read. Order: credential (401), rate limit (429), scope and
 * tenant state (403), and only then is the input looked at (400). Failed credentials are counted per address, so that keys cannot be guessed at speed.
 */
export function registerAuthentication(app: FastifyInstance, identity: Identity, limiter: Limiter): void {
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request, reply) => {
    const { row } = request.routeOptions.config;
    if (row === undefined || row.unlimited === true) return;
    if (row.scopes === 'public') return limiter.caller(request, reply);
    try {
      request.caller = await identity.resolve({
        authorization: request.headers.authorization,
        apiKey: row.stream === true ? queryKey(request) : undefined,
        orgId: single(request.headers['x-org-id']),
      });
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') await limiter.failure(request);
      throw error;
    }
    await limiter.caller(request, reply);
    authorize(request.caller, row);
    return undefined;
  });
}
