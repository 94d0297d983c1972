import { zstdDecompressSync } from 'node:zlib';
import { Redis } from 'ioredis';
import t from 'tap';
import { encodeLine } from '../../src/events/line.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { inlineBytesMax } from '../../src/stream/entry.ts';
import { StreamPublishError, createStreamPublisher } from '../../src/stream/publisher.ts';
import type { Publication } from '../../src/stream/publisher.ts';
import { startStack } from '../support/stack.ts';
import { row } from './truth.ts';

type Fields = Record<string, Buffer>;

async function entries(redis: Redis, orgId: string): Promise<{ id: string; fields: Fields }[]> {
  const raw = await redis.callBuffer('XRANGE', `ch:stream:${orgId}`, '-', '+') as [Buffer, Buffer[]][];
  return raw.map(([id, flat]) => {
    const fields: Fields = {};
    for (let at = 0; at < flat.length; at += 2) fields[String(flat[at])] = flat[at + 1] as Buffer;
    return { id: id.toString(), fields };
  });
}

function publication(seq: number, orgs: Publication['orgs']): Publication {
  return { seq, batchId: uuidv7(), minTimestamp: '2026-11-20T10:00:00.000001Z', maxTimestamp: '2026-11-20T10:00:00.000002Z', orgs };
}

t.test('publishing', async (t) => {
  const stack = await startStack(t, { redis: true });
  const redis = new Redis(stack.redisUrl, { protocol: 2 });
  const publisher = createStreamPublisher({ redisUrl: stack.redisUrl, onError: () => undefined, entriesMax: 200, expireSeconds: 1000 });
  t.teardown(async () => {
    await publisher.close();
    redis.disconnect();
  });

  t.test('an entry per org carries the commit seq, the one before it and the lines', async (t) => {
    const [a, b] = [uuidv7(), uuidv7()];
    const lines = [1, 2, 3].map((n) => encodeLine(row(a, n), 30));
    const first = publication(5, [{ orgId: a, rows: 3, lines }, { orgId: b, rows: 1 }]);
    t.same(await publisher.publish(first), { added: 2, repeated: 0 });
    t.same(await publisher.publish(publication(9, [{ orgId: a, rows: 1 }])), { added: 1, repeated: 0 });
    const [one, two] = await entries(redis, a);
    t.equal(one?.id, '5-0');
    t.equal(String(one?.fields['prev']), '0');
    t.equal(String(one?.fields['batch_id']), first.batchId);
    t.equal(String(one?.fields['rows']), '3');
    t.equal(String(one?.fields['min_timestamp']), first.minTimestamp);
    t.equal(String(one?.fields['max_timestamp']), first.maxTimestamp);
    t.equal(zstdDecompressSync(one?.fields['data'] ?? Buffer.alloc(0)).toString(), lines.join('\n'));
    t.equal(two?.id, '9-0');
    t.equal(String(two?.fields['prev']), '5');
    t.equal(two?.fields['data'], undefined);
    t.equal((await entries(redis, b)).length, 1);
    const ttl = await redis.ttl(`ch:stream:${a}`);
    t.ok(ttl > 900 && ttl <= 1000, 'an idle stream expires');
  });

  t.test('publishing again adds nothing, also after later commits and with only some orgs done', async (t) => {
    const [a, b] = [uuidv7(), uuidv7()];
    const commit = publication(3, [{ orgId: a, rows: 1 }]);
    await publisher.publish(commit);
    await publisher.publish(publication(4, [{ orgId: a, rows: 1 }]));
    t.same(await publisher.publish({ ...commit, orgs: [{ orgId: a, rows: 1 }, { orgId: b, rows: 1 }] }), { added: 1, repeated: 1 });
    t.same((await entries(redis, a)).map(({ id }) => id), ['3-0', '4-0']);
    t.same((await entries(redis, b)).map(({ id }) => id), ['3-0']);
  });

  t.test('an entry deleted from the end of a stream is still known as published', async (t) => {
    const a = uuidv7();
    const commit = publication(3, [{ orgId: a, rows: 1 }]);
    await publisher.publish(commit);
    await redis.xdel(`ch:stream:${a}`, '3-0');
    t.same(await publisher.publish(commit), { added: 0, repeated: 1 });
  });

  t.test('data over the inline bound is left to the store', async (t) => {
    const a = uuidv7();
    const noise = () => Array.from({ length: 60 }, () => uuidv7()).join('');
    const lines = Array.from({ length: 200 }, (_, n) => encodeLine(row(a, n, { path: noise() }), 30));
    await publisher.publish(publication(1, [{ orgId: a, rows: lines.length, lines }]));
    const [entry] = await entries(redis, a);
    t.equal(entry?.fields['data'], undefined);
    t.equal(String(entry?.fields['rows']), '200');
    t.ok(lines.join('').length > inlineBytesMax);
  });

  t.test('streams keep a bounded number of entries', async (t) => {
    const a = uuidv7();
    for (let seq = 1; seq <= 450; seq += 1) await publisher.publish(publication(seq, [{ orgId: a, rows: 1 }]));
    const kept = await entries(redis, a);
    t.ok(kept.length >= 200 && kept.length < 450, `kept ${kept.length}`);
    t.equal(kept.at(-1)?.id, '450-0');
  });

  t.test('many orgs in one commit', async (t) => {
    const orgs = Array.from({ length: 150 }, () => ({ orgId: uuidv7(), rows: 1 }));
    t.same(await publisher.publish(publication(1, orgs)), { added: 150, repeated: 0 });
  });

  t.test('two publishers racing for the same commit add it once', async (t) => {
    const other = createStreamPublisher({ redisUrl: stack.redisUrl, onError: () => undefined });
    t.teardown(() => other.close());
    const a = uuidv7();
    for (let seq = 1; seq <= 50; seq += 1) {
      const commit = publication(seq, [{ orgId: a, rows: 1 }]);
      const both = await Promise.all([publisher.publish(commit), other.publish(commit)]);
      t.equal(both.reduce((sum, { added }) => sum + added, 0), 1);
    }
    const prevs = (await entries(redis, a)).map(({ fields }) => Number(fields['prev']));
    t.same(prevs, Array.from({ length: 50 }, (_, at) => at));
  });

  t.test('a seq that is none is refused', async (t) => {
    for (const seq of [0, -1, 1.5, Number.NaN]) await t.rejects(publisher.publish(publication(seq, [])), { name: 'RangeError' });
  });

  t.test('a Redis that is away rejects, and publishing again after its return is right', async (t) => {
    const a = uuidv7();
    await publisher.publish(publication(1, [{ orgId: a, rows: 1 }]));
    await stack.redis.kill();
    const commit = publication(2, [{ orgId: a, rows: 1 }]);
    await t.rejects(publisher.publish(commit), { name: 'StreamPublishError', message: /^commit 2 \(batch .*\) could not be published: / });
    await stack.redis.restart();
    let outcome: { added: number; repeated: number } | undefined;
    while (outcome === undefined) outcome = await publisher.publish(commit).catch((error: unknown) => {
      if (!(error instanceof StreamPublishError)) throw error;
      return undefined;
    });
    t.equal(outcome.added + outcome.repeated, 1);
    t.same((await entries(redis, a)).map(({ id }) => id), ['1-0', '2-0']);
  });
});

t.test('a full Redis rejects and changes nothing', async (t) => {
  const stack = await startStack(t, { redis: true });
  const redis = new Redis(stack.redisUrl, { protocol: 2 });
  const publisher = createStreamPublisher({ redisUrl: stack.redisUrl, onError: () => undefined });
  t.teardown(async () => {
    await publisher.close();
    redis.disconnect();
  });
  const a = uuidv7();
  await publisher.publish(publication(1, [{ orgId: a, rows: 1 }]));
  await redis.config('SET', 'maxmemory', 1);
  await t.rejects(publisher.publish(publication(2, [{ orgId: a, rows: 1 }])), { name: 'StreamPublishError', message: /OOM/ });
  await redis.config('SET', 'maxmemory', 0);
  t.same(await publisher.publish(publication(2, [{ orgId: a, rows: 1 }])), { added: 1, repeated: 0 });
  t.same((await entries(redis, a)).map(({ id }) => id), ['1-0', '2-0']);
});
