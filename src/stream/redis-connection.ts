import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';

type ConnectionOptions = Pick<RedisOptions, 'commandTimeout' | 'enableOfflineQueue' | 'maxRetriesPerRequest'>;

/**
 * A connection that reconnects for ever with a capped pause, but never repeats a command by itself: a repeated XREAD would answer on a
 * new connection without anyone noticing that the server may have lost entries in between.
 */
export function connectRedis(url: string, name: string, options: ConnectionOptions, onError: (error: unknown) => void): Redis {
  const redis = new Redis(url, {
    protocol: 2,
    connectionName: `customhouse-${name}`,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 5000,
    retryStrategy: (times) => Math.min(50 * times, 1000),
    ...options,
  });
  // Without a listener ioredis prints to the console.
  redis.on('error', onError);
  return redis;
}
