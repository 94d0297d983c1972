import type { SecureContext } from 'node:tls';
import type { UpstreamSend } from '../upstream-port.ts';
import type { OnInterim } from './exchange.ts';
import { exchange } from './exchange.ts';
import type { PoolLimits } from './origin-pool.ts';
import type { OriginsStats } from './origins.ts';
import { createOrigins } from './origins.ts';
import { headOf } from './request-head.ts';
import type { Resolution, Resolver } from './resolve.ts';

export type LegDeps = {
  readonly resolver: Resolver;
  readonly trust: SecureContext;
  readonly limits: PoolLimits & { readonly originsMax: number; readonly connectTimeoutMs: number };
};

/** As `UpstreamSend`; `onInterim` gets each 1xx answer but 100 and 101. */
export type Send = (request: Parameters<UpstreamSend>[0], options: Parameters<UpstreamSend>[1] & { readonly onInterim?: OnInterim }) => ReturnType<UpstreamSend>;

export type Upstream = { readonly send: Send; stats(): OriginsStats; /** Ends all connections. */ stop(): void };

/**
 * The upstream leg (design 10): resolves and vets once, dials what was vetted, sends one request, and gives back the answer's head with its
 * body still streaming. Redirects are answers like any other. Nothing is sent twice: a kept connection that has ended by the time it is
 * wanted is replaced before a byte of the request is written; once bytes were written a lost connection is `reset`, whatever the method.
 */
export function createUpstreamLeg({ resolver, trust, limits }: LegDeps): Upstream {
  const origins = createOrigins(trust, limits);
  const send: Send = async (request, { body, bodyLength, literal, signal, upgrade, onInterim }) => {
    if (signal.aborted) return { failure: 'aborted', sent: false };
    const { scheme, host, port, method, path, rawQuery } = request;
    const found = resolver.resolve({ host, port, literal });
    const resolution = found instanceof Promise ? await untilAborted(found, signal) : found;
    if (resolution === 'aborted') return { failure: 'aborted', sent: false };
    if ('failure' in resolution) return { failure: resolution.failure, sent: false };
    const streams = body !== undefined && !Buffer.isBuffer(body);
    const dispatch = {
      method: method as 'GET',
      path: rawQuery === '' ? path : `${path}?${rawQuery}`,
      headers: headOf(request, streams ? bodyLength : undefined),
      body: body ?? null,
      ...(upgrade === undefined ? {} : { upgrade }),
    };
    return exchange(origins.poolFor(scheme, host, port, resolution), { dispatch, signal, onInterim, connectTimeoutMs: limits.connectTimeoutMs });
  };
  return { send, stats: () => origins.stats(), stop: () => origins.destroy() };
}

async function untilAborted(found: Promise<Resolution>, signal: AbortSignal): Promise<Resolution | 'aborted'> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<'aborted'>((resolve) => {
    onAbort = () => resolve('aborted');
    signal.addEventListener('abort', onAbort, { once: true });
  });
  const first = await Promise.race([found, aborted]);
  if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  return first;
}
