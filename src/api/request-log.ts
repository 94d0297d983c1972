import type { FastifyReply, FastifyRequest } from 'fastify';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { loggedError } from '../kernel/log.ts';

/** Keys whose values never reach the log, wherever a logged object has them. */
const redactedPaths = ['authorization', 'cookie', 'api_key', 'apiKey', 'token', 'password', 'secret', 'key', 'secrets', 'material', 'sealed']
  .flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  .concat(['*["x-capability-token"]', '*["set-cookie"]', '*["proxy-authorization"]']);

/** `api_key` is the one secret that may be in a URL (contract 5.2); its name may be percent-encoded. Cut the whole query when in doubt. */
export function loggedUrl(url: string): string {
  const at = url.indexOf('?');
  if (at === -1) return url;
  const path = url.slice(0, at);
  const pairs = url.slice(at + 1).split('&').map((pair) => {
    const name = pair.split('=', 1)[0] ?? '';
    return /^(filter|from|to|order|limit|cursor|after|task_id|event_type|group_by|time_bucket|bucket_by|metric|top|format)$/.test(name) ? pair : `${/^[\w-]{1,40}$/.test(name) ? name : ''}=[redacted]`;
  });
  return `${path}?${pairs.join('&')}`.slice(0, 2048);
}

/** The log of the api role: JSON lines, no secrets. `destination` is for tests; standard output otherwise. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    redact: { paths: redactedPaths, censor: '[redacted]' },
    serializers: {
      req: (request: FastifyRequest) => ({ method: request.method, url: loggedUrl(request.url) }),
      err: loggedError,
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** One line per answered request. The caller is named by org and credential id, never by the credential. */
export function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { caller } = request;
  request.log.info({
    method: request.method,
    url: loggedUrl(request.url),
    route: request.routeOptions.url ?? null,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ...(caller === undefined ? {} : { org_id: caller.orgId, caller: `${caller.kind}:${caller.credentialId}` }),
  }, 'request');
}
