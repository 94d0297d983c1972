import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../kernel/errors.ts';
import type { Limiter } from './authenticate.ts';

/** Failed credentials one address may send in a minute. */
const failuresPerMinute = 60;
const callersRemembered = 20_000;

function refuse(seconds: number): never {
  throw new AppError('rate_limited', `too many requests, try again in ${seconds} s`, { retry_after: seconds });
}

/**
 * Limits per caller (an org's API key, or a user in an org), per address for public routes, and per address for failed credentials.
 * Counted in this process: with several api processes a caller may have several times the limit.
 */
export async function registerRateLimits(app: FastifyInstance, perMinute: number): Promise<Limiter> {
  await app.register(rateLimit, { global: false, cache: callersRemembered, timeWindow: 60_000 });
  const byCaller = app.createRateLimit({
    max: perMinute,
    keyGenerator: (request: FastifyRequest) => (request.caller === undefined ? `address:${request.ip}` : `${request.caller.kind}:${request.caller.orgId}:${request.caller.credentialId}`),
  });
  const byFailure = app.createRateLimit({ max: failuresPerMinute, keyGenerator: (request: FastifyRequest) => request.ip });
  return {
    caller: async (request, reply) => {
      const limit = await byCaller(request);
      if (limit.isAllowed) return;
      reply.header('x-ratelimit-limit', limit.max).header('x-ratelimit-remaining', limit.remaining).header('x-ratelimit-reset', limit.ttlInSeconds);
      if (limit.isExceeded) refuse(limit.ttlInSeconds);
    },
    failure: async (request) => {
      const limit = await byFailure(request);
      if (!limit.isAllowed && limit.isExceeded) refuse(limit.ttlInSeconds);
    },
  };
}
