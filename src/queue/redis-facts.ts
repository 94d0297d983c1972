import { Redis } from 'ioredis';

/** What `customhouse doctor` and readiness checks want to know of Redis. */
export type RedisFacts = { readonly version: string; readonly evictionPolicy: string; readonly appendOnly: boolean; readonly usedMemoryBytes: number; readonly maxMemoryBytes: number };

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? '';
}

/** Connects, asks, disconnects; rejects with the driver's error when Redis does not answer within `timeoutMs`. */
export async function readRedisFacts(redisUrl: string, timeoutMs: number): Promise<RedisFacts> {
  const redis = new Redis(redisUrl, { lazyConnect: true, connectTimeout: timeoutMs, commandTimeout: timeoutMs, maxRetriesPerRequest: 0, retryStrategy: () => null });
  // The rejected call below only says that the connection is closed.
  let reason: unknown;
  redis.on('error', (error) => {
    reason = error;
  });
  try {
    await redis.connect();
    const info = await redis.info();
    return {
      version: field(info, 'redis_version'),
      evictionPolicy: field(info, 'maxmemory_policy'),
      appendOnly: field(info, 'aof_enabled') === '1',
      usedMemoryBytes: Number(field(info, 'used_memory')),
      maxMemoryBytes: Number(field(info, 'maxmemory')),
    };
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}
