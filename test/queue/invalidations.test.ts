import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { Invalidation } from '../../src/kernel/invalidation.ts';
import { createInvalidationPublisher, readInvalidation, subscribeInvalidations } from '../../src/queue/invalidations.ts';
import { startStack } from '../support/stack.ts';

const [orgId, id] = [uuidv7(), uuidv7()];
const every: Invalidation[] = [
  { kind: 'workspace_gone', orgId, workspaceId: id }, { kind: 'workspace_changed', orgId, workspaceId: id }, { kind: 'agent_role_changed', orgId, agentRoleId: id },
  { kind: 'secrets_changed', orgId }, { kind: 'credential_changed', orgId, name: 'GitHub "bot"\n' },
];

t.test('every message reads as it was written; anything else is no message', async (t) => {
  for (const message of every) t.same(readInvalidation(JSON.stringify(message)), message);
  for (const text of [
    '', 'null', '[]', '"x"', '{', '{}', JSON.stringify({ kind: 'workspace_gone', orgId }), JSON.stringify({ kind: 'workspace_gone', orgId, workspaceId: 'no id' }),
    JSON.stringify({ kind: 'other', orgId }), JSON.stringify({ kind: 'secrets_changed', orgId: 1 }), JSON.stringify({ kind: 'credential_changed', orgId }),
    JSON.stringify({ kind: 'credential_changed', orgId, name: 'x'.repeat(5000) }),
  ]) t.equal(readInvalidation(text), undefined, text.slice(0, 80));
});

t.test('messages are heard, and after Redis was away the subscriber says that it may have missed some', { timeout: 60_000 }, async (t) => {
  const stack = await startStack(t, { redis: true });
  const heard: Invalidation[] = [];
  const errors: unknown[] = [];
  let subscriptions = 0;
  const subscriber = subscribeInvalidations({
    redisUrl: stack.redisUrl,
    onInvalidation: (message) => heard.push(message),
    onSubscribed: () => (subscriptions += 1),
    onError: (error) => errors.push(error),
  });
  const untold: unknown[] = [];
  const publisher = createInvalidationPublisher({ redisUrl: stack.redisUrl, onError: (error) => untold.push(error) });
  t.teardown(async () => {
    await subscriber.close();
    await publisher.close();
  });
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await sleep(10);
  };

  await until(() => subscriptions === 1);
  t.equal(subscriber.isHearing(), true);
  for (const message of every) await publisher.publish(message);
  await until(() => heard.length === every.length);
  t.same(heard, every, 'in order');
  t.same(untold, []);

  await stack.redis.kill();
  await until(() => !subscriber.isHearing());
  await publisher.publish({ kind: 'secrets_changed', orgId });
  t.ok(untold.length > 0, 'the publisher resolves, and says that nobody was told');
  await stack.redis.restart();
  await until(() => subscriptions === 2);
  heard.length = 0;
  while (heard.length === 0) {
    await publisher.publish({ kind: 'workspace_gone', orgId, workspaceId: id });
    await sleep(20);
  }
  t.same(heard[0], { kind: 'workspace_gone', orgId, workspaceId: id }, 'and hears again');

  const sabotage = createInvalidationPublisher({ redisUrl: stack.redisUrl, onError: (error) => untold.push(error) });
  t.teardown(() => sabotage.close());
  errors.length = 0;
  await sabotage.publish({ kind: 'nonsense', orgId } as unknown as Invalidation);
  await until(() => errors.length > 0);
  t.match(String(errors[0]), 'cannot be read');
  t.equal(subscriber.isHearing(), true, 'a message it cannot read changes nothing');
});

t.test('a server that accepts and then says nothing is left', { timeout: 60_000 }, async (t) => {
  const stack = await startStack(t, { redis: true });
  let subscriptions = 0;
  const subscriber = subscribeInvalidations({ redisUrl: stack.redisUrl, onInvalidation: () => undefined, onSubscribed: () => (subscriptions += 1), onError: () => undefined, pingMs: 100 });
  t.teardown(() => subscriber.close());
  while (subscriptions === 0) await sleep(10);
  await sleep(350);
  t.equal(subscriptions, 1, 'a server that answers pings is kept');
  process.kill(stack.redis.pid, 'SIGSTOP');
  while (subscriber.isHearing()) await sleep(10);
  process.kill(stack.redis.pid, 'SIGCONT');
  while (subscriptions === 1) await sleep(10);
  t.equal(subscriber.isHearing(), true);
});
