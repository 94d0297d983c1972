import { Redis } from 'ioredis';

/**
 * A connection for budgets. It reconnects for ever, soon, but never repeats or queues a command: a charge that was sent again, or that
 * waited for Redis until after its request was denied, would count twice or for nothing. What is under way when it breaks rejects at once.
 */
export function connectForBudgets(redisUrl: string, commandTimeoutMs: number, onError: (error: unknown) => void): Redis {
  const redis = new Redis(redisUrl, {
    protocol: 2,
    connectionName: 'customhouse-budgets',
    connectTimeout: 5_000,
    keepAlive: 10_000,
    retryStrategy: (times) => Math.min(50 * times, 1_000),
    // A former primary that became read-only is left, so that the address can lead to the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    commandTimeout: commandTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
  });
  redis.on('error', onError);
  return redis;
}

/** Answers a wait for the connection: at once when it stands, else as soon as it does; rejects after `timeoutMs`. Waiters share one listener. */
export function createReadyWait(redis: Redis, timeoutMs: number): () => Promise<void> {
  let waiting: Promise<void> | undefined;
  const wait = (): Promise<void> => new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      redis.off('ready', ready);
      redis.off('end', ended);
      waiting = undefined;
      act();
    };
    const ready = (): void => settle(resolve);
    const ended = (): void => settle(() => reject(new Error('the connection to Redis is closed')));
    const timer = setTimeout(() => settle(() => reject(new Error('Redis cannot be reached'))), timeoutMs);
    redis.on('ready', ready);
    redis.on('end', ended);
  });
  return async () => {
    if (redis.status === 'ready') return;
    if (redis.status === 'end') throw new Error('the connection to Redis is closed');
    waiting ??= wait();
    await waiting;
  };
}

const corked = new WeakSet<object>();

/** Commands of one turn of the event loop go out in one write. */
export function writeTogether({ stream }: Redis): void {
  if (corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  setImmediate(() => {
    corked.delete(stream);
    stream.uncork();
  });
}
