import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';

/**
 * A connection that reconnects for ever with a capped pause, but never repeats a command by itself: a repeated XREAD would answer on a
 * new connection without anyone noticing that the server may have lost entries in between. A command under way when the connection
 * breaks rejects at once (`maxRetriesPerRequest` 0; with `autoResendUnfulfilledCommands` alone it would never settle).
 */
export function connectRedis(url: string, name: string, options: Pick<RedisOptions, 'commandTimeout' | 'enableOfflineQueue'>, onError: (error: unknown) => void): Redis {
  const redis = new Redis(url, {
    protocol: 2,
    connectionName: `customhouse-${name}`,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 5000,
    retryStrategy: (times) => Math.min(50 * times, 1000),
    ...options,
  });
  // Without a listener ioredis prints to the console.
  redis.on('error', onError);
  return redis;
}

/** What went wrong, in words for an operator. */
export function redisProblem(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'MaxRetriesPerRequestError' ? 'the connection to Redis is lost' : error.message;
}
