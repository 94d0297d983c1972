import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Caller } from '../identity/resolve.ts';
import type { Scope } from '../identity/scopes.ts';
import type { ApiDeps } from './deps.ts';
import { disconnectSignal } from './disconnect.ts';

/** What the API document says of a route; the same schemas check its input. */
export type RouteSchema<Q extends TSchema = TSchema, P extends TSchema = TSchema, B extends TSchema = TSchema> = {
  readonly summary: string;
  readonly description?: string;
  readonly querystring?: Q;
  readonly params?: P;
  readonly body?: B;
  readonly response: Readonly<Record<number, { readonly description: string; readonly content: Readonly<Record<string, { readonly schema: TSchema }>> }>>;
};

/** One request as a handler sees it: checked input, the caller, and a signal that fires when the client goes away. */
export type Call<Query, Params, Body> = {
  readonly query: Query;
  readonly params: Params;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly signal: AbortSignal;
};

export type Route = { readonly schema: RouteSchema; readonly handle: (request: FastifyRequest, reply: FastifyReply) => unknown };

/** Makes the route from the process's dependencies; `Route` files export one of these each. */
export type RouteFactory = (deps: ApiDeps) => Route;

/** One row of the route table. */
export type RouteRow = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As in the contract, with `{name}` for parameters. */
  readonly path: string;
  /** Any one of these is enough. An empty list: any caller. `public`: no credential. */
  readonly scopes: readonly Scope[] | 'public';
  readonly tag: string;
  /** Takes the credential also as the `api_key` query parameter (contract 5.2). */
  readonly stream?: true;
  /** Health and metrics are asked by machines, often, and must answer when everything else is refused. */
  readonly unlimited?: true;
  readonly route: RouteFactory;
};

type StaticOr<S extends TSchema> = TSchema extends S ? Record<string, never> : Static<S>;

/** Ties the handler's types to the schemas. */
export function defineRoute<Q extends TSchema = TSchema, P extends TSchema = TSchema, B extends TSchema = TSchema>(
  schema: RouteSchema<Q, P, B>,
  handle: (call: Call<StaticOr<Q>, StaticOr<P>, StaticOr<B>> & { readonly caller: Caller }) => unknown,
): Route {
  return {
    schema,
    handle: (request, reply) => {
      const { caller } = request;
      if (caller === undefined) throw new Error(`${request.routeOptions.url ?? ''} is public, its handler asks for a caller`);
      return handle({ ...callOf(request, reply), caller } as Parameters<typeof handle>[0]);
    },
  };
}

/** A route that needs no credential. */
export function definePublicRoute(schema: RouteSchema, handle: (call: Call<unknown, unknown, unknown>) => unknown): Route {
  return { schema, handle: (request, reply) => handle(callOf(request, reply)) };
}

function callOf(request: FastifyRequest, reply: FastifyReply): Call<unknown, unknown, unknown> {
  return { query: request.query, params: request.params, body: request.body, request, reply, signal: disconnectSignal(reply) };
}

/** A JSON answer for `RouteSchema.response`. */
export function jsonAnswer(description: string, schema: TSchema): RouteSchema['response'][number] {
  return { description, content: { 'application/json': { schema } } };
}

