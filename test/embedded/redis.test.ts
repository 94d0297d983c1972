import { Redis } from 'ioredis';
import t from 'tap';
import { startRedis } from '../../src/embedded/redis.ts';
import { startStack } from '../support/stack.ts';
import { errorOf } from './quiet-client.ts';

function connect(url: string): Redis {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  // A test that kills the server expects the connection to break.
  redis.on('error', () => undefined);
  return redis;
}

t.test('runs as a queue needs it: append-only file, nothing evicted', async (t) => {
  const stack = await startStack(t, { redis: { maxMemoryBytes: 33_554_432 } });
  const redis = connect(stack.redisUrl);
  t.teardown(() => redis.disconnect());
  t.same(await redis.config('GET', 'appendonly'), ['appendonly', 'yes']);
  t.same(await redis.config('GET', 'appendfsync'), ['appendfsync', 'everysec']);
  t.same(await redis.config('GET', 'maxmemory-policy'), ['maxmemory-policy', 'noeviction']);
  t.same(await redis.config('GET', 'maxmemory'), ['maxmemory', '33554432']);
  const fill = async (): Promise<void> => {
    for (let i = 0; i < 64; i += 1) await redis.set(`k${i}`, 'x'.repeat(1_048_576));
  };
  t.match((await errorOf(fill())).message, /^OOM/);
});

t.test('what was written is there after kill -9 and after an orderly stop', async (t) => {
  const stack = await startStack(t, { redis: true });
  const before = connect(stack.redisUrl);
  await before.mset(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, String(i)])));
  await stack.redis.kill();
  before.disconnect();
  await stack.redis.restart();
  const after = connect(stack.redisUrl);
  t.equal(await after.dbsize(), 1000);
  await after.set('one', 'more');
  after.disconnect();
  await stack.redis.restart();
  const last = connect(stack.redisUrl);
  t.teardown(() => last.disconnect());
  t.equal(await last.dbsize(), 1001);
});

t.test('nobody gets in without the password', async (t) => {
  const stack = await startStack(t, { redis: true });
  const url = new URL(stack.redisUrl);
  url.password = '';
  const redis = connect(url.href);
  t.teardown(() => redis.disconnect());
  t.match((await errorOf(redis.get('k'))).message, /NOAUTH/);
});

t.test('a start that fails says what Redis said', async (t) => {
  const stack = await startStack(t, { redis: true });
  const second = startRedis({ dataDir: stack.dir, port: stack.redis.port, logFile: `${stack.dir}/second.log` });
  t.match((await errorOf(second)).message, `port ${stack.redis.port} on 127.0.0.1 is already in use`);
});
