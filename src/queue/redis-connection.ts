import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';

const reconnectMsMax = 1_000;

/** Reconnects for ever, soon; a former primary that became read-only is left, so that the address can lead to the new one. */
const common = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  retryStrategy: (times) => Math.min(reconnectMsMax, 50 * 2 ** Math.min(times, 10)),
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

function connect(redisUrl: string, options: Pick<RedisOptions, 'maxRetriesPerRequest' | 'commandTimeout' | 'autoResubscribe' | 'protocol'>, onError: (error: unknown) => void): Redis {
  const redis = new Redis(redisUrl, { ...common, ...options });
  redis.on('error', onError);
  return redis;
}

/** For calls that somebody waits for: each fails within `commandMsMax` when Redis is away, loading or stuck. */
export function connectForCalls(redisUrl: string, onError: (error: unknown) => void, commandMsMax = 10_000): Redis {
  return connect(redisUrl, { maxRetriesPerRequest: 2, commandTimeout: commandMsMax }, onError);
}

/** For a BullMQ worker, which waits for Redis as long as it takes. */
export function connectForWorker(redisUrl: string, onError: (error: unknown) => void): Redis {
  return connect(redisUrl, { maxRetriesPerRequest: null }, onError);
}

/**
 * For a subscriber, which subscribes itself on every `ready`: a driver that did so by itself would say that it is ready before the
 * subscription stands, and what is sent in between would be missed without anyone knowing.
 */
export function connectForMessages(redisUrl: string, onError: (error: unknown) => void, commandMsMax: number): Redis {
  return connect(redisUrl, { maxRetriesPerRequest: 0, commandTimeout: commandMsMax, autoResubscribe: false, protocol: 2 }, onError);
}

/** True for Redis' answer to a write when `maxmemory` is reached. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /(^|\s)OOM /.test(error.message);
}
