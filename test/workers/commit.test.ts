import { Redis } from 'ioredis';
import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { createLockSession } from '../../src/store/pg/advisory-lock.ts';
import { createBatchLedger, hasLeftovers } from '../../src/store/pg/batches.ts';
import { streamKey } from '../../src/stream/entry.ts';
import { createStreamPublisher } from '../../src/stream/publisher.ts';
import type { Publication, StreamPublisher } from '../../src/stream/publisher.ts';
import { createCommitter } from '../../workers/commit.ts';
import type { Committer } from '../../workers/commit.ts';
import { openDatabase } from '../store/pg/database.ts';
import { startStack } from '../support/stack.ts';

type Entry = { seq: number; prev: number; batchId: string; inline: boolean };

t.test('commit step', async (t) => {
  const stack = await startStack(t, { postgres: true, redis: true });
  const sql = await openDatabase(t, stack);
  const redis = new Redis(stack.redisUrl);
  redis.on('error', () => undefined);
  t.teardown(() => redis.disconnect());
  const publisher = createStreamPublisher({ redisUrl: stack.redisUrl, onError: () => undefined });
  t.teardown(() => publisher.close());
  const ledger = createBatchLedger(sql);
  let batchNo = 0;

  function committer(through: Pick<StreamPublisher, 'publish'> = publisher): Committer {
    const session = createLockSession({ url: stack.postgresUrl, applicationName: 'test' }, 'commit');
    t.teardown(() => session.close());
    return createCommitter({ session, publisher: through });
  }
  function batch() {
    batchNo += 1;
    const time = '2026-11-20T10:00:00.123456Z';
    return { id: uuidv7(), producer: 'test', batchNo, rows: 2, minTimestamp: time, maxTimestamp: time };
  }
  const slice = (orgId: string) => ({ orgId, rows: 2, lines: [`{"org_id":"${orgId}"}`, `{"org_id":"${orgId}"}`] });
  async function entries(orgId: string): Promise<Entry[]> {
    return (await redis.xrange(streamKey(orgId), '-', '+')).map(([id, fields]) => {
      const at = (name: string): string => fields[fields.indexOf(name) + 1] ?? '';
      return { seq: Number(id.split('-')[0]), prev: Number(at('prev')), batchId: at('batch_id'), inline: fields.includes('data') };
    });
  }
  const unpublished = async (): Promise<number> => (await sql`select 1 from audit_batches where not published`).length;
  /** Fails once, before or after the entries are in Redis. */
  function failingOnce(when: 'before' | 'after'): Pick<StreamPublisher, 'publish'> {
    let failed = false;
    return {
      async publish(publication: Publication) {
        const fail = !failed;
        failed = true;
        if (fail && when === 'before') throw new Error('killed before publishing');
        const result = await publisher.publish(publication);
        if (fail) throw new Error('killed after publishing');
        return result;
      },
    };
  }

  t.test('commits from several processes are published once, in order of seq, each naming the one before', async (t) => {
    const [orgA, orgB] = [uuidv7(), uuidv7()];
    const committers = [committer(), committer(), committer()];
    const made = Array.from({ length: 60 }, (_, index) => ({ batch: batch(), orgs: index % 3 === 0 ? [orgA, orgB] : index % 3 === 1 ? [orgA] : [orgB] }));
    await Promise.all(made.map(async (one, index) => committers[index % 3]?.commit(one.batch, one.orgs.map(slice))));
    for (const orgId of [orgA, orgB]) {
      const found = await entries(orgId);
      const expected = made.filter((one) => one.orgs.includes(orgId)).map((one) => one.batch.id);
      t.same(found.map((entry) => entry.batchId).sort(), expected.sort(), 'every batch once');
      t.same(found.map((entry) => entry.prev), [0, ...found.slice(0, -1).map((entry) => entry.seq)], 'the chain has no hole');
      t.same((await ledger.commitsAfter(orgId, 0, undefined, 100)).map((commit) => commit.seq), found.map((entry) => entry.seq), 'stream and ledger agree');
    }
    t.equal(await unpublished(), 0);
    t.equal(await ledger.headSeq(), await ledger.seqOf((await entries(orgA)).concat(await entries(orgB)).sort((a, b) => a.seq - b.seq).at(-1)?.batchId ?? ''));
  });

  t.test('committing a batch again changes nothing', async (t) => {
    const orgId = uuidv7();
    const one = batch();
    await committer().commit(one, [slice(orgId)]);
    await committer().commit(one, [slice(orgId)]);
    t.equal((await entries(orgId)).length, 1);
    t.match(await ledger.find(one.id), { published: true });
  });

  t.test('commits after a seq, up to a seq, of one org', async (t) => {
    const [orgId, other] = [uuidv7(), uuidv7()];
    const mine = [batch(), batch(), batch()];
    for (const one of mine) {
      await committer().commit(one, [slice(orgId)]);
      await committer().commit(batch(), [slice(other)]);
    }
    const all = await ledger.commitsAfter(orgId, 0, undefined, 10);
    t.same(all.map((commit) => commit.batchId), mine.map((one) => one.id));
    t.match(all[0], { rows: 2, minTimestamp: '2026-11-20T10:00:00.123456Z' });
    t.same((await ledger.commitsAfter(orgId, all[0]?.seq ?? 0, all[1]?.seq, 10)).map((commit) => commit.batchId), [mine[1]?.id]);
    t.same((await ledger.commitsAfter(orgId, 0, undefined, 2)).length, 2);
    t.equal(await ledger.seqOf(uuidv7()), undefined);
  });

  for (const when of ['before', 'after'] as const) {
    t.test(`killed ${when} publishing: the next commit publishes the leftover first, once`, async (t) => {
      const orgId = uuidv7();
      const [lost, next] = [batch(), batch()];
      await t.rejects(committer(failingOnce(when)).commit(lost, [slice(orgId)]), { message: `killed ${when} publishing` });
      t.match(await ledger.find(lost.id), { published: false });
      t.equal(await hasLeftovers(sql, 0), true);
      t.equal(await hasLeftovers(sql, 60_000), false);
      await committer().commit(next, [slice(orgId)]);
      const found = await entries(orgId);
      t.same(found.map((entry) => entry.batchId), [lost.id, next.id]);
      t.equal(found[1]?.prev, found[0]?.seq);
      t.equal(found[0]?.inline, when === 'after', 'a leftover is a pointer without rows');
      t.equal(await unpublished(), 0);
    });

    t.test(`killed ${when} publishing and no commit follows: the sweep publishes it, once`, async (t) => {
      const orgId = uuidv7();
      const lost = batch();
      await t.rejects(committer(failingOnce(when)).commit(lost, [slice(orgId)]));
      t.equal(await committer().publishLeftovers(), 1);
      t.equal(await committer().publishLeftovers(), 0);
      t.same((await entries(orgId)).map((entry) => entry.batchId), [lost.id]);
    });
  }

  t.test('the lock\'s connection is killed while the batch is published: another process enters, nothing is doubled or out of order', async (t) => {
    const orgId = uuidv7();
    const [first, second] = [batch(), batch()];
    const other = committer();
    let entered: Promise<void> | undefined;
    const slow = committer({
      async publish(publication) {
        if (entered === undefined) {
          await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 2`;
          entered = other.commit(second, [slice(orgId)]);
          await entered;
        }
        return publisher.publish(publication);
      },
    });
    await slow.commit(first, [slice(orgId)]).catch(() => undefined);
    const found = await entries(orgId);
    t.same(found.map((entry) => entry.batchId), [first.id, second.id]);
    t.equal(found[1]?.prev, found[0]?.seq);
    t.equal(await unpublished(), 0);
  });

  t.test('a lock that was lost before the ledger row: nothing is written', async (t) => {
    const orgId = uuidv7();
    const [left, lost] = [batch(), batch()];
    await t.rejects(committer(failingOnce('before')).commit(left, [slice(orgId)]));
    const broken = committer({
      async publish(publication) {
        await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 2`;
        return publisher.publish(publication);
      },
    });
    // The leftover is published first, and the connection dies there, before the batch's own row.
    await t.rejects(broken.commit(lost, [slice(orgId)]));
    t.equal(await ledger.find(lost.id), undefined);
    await committer().commit(lost, [slice(orgId)]);
    t.same((await entries(orgId)).map((entry) => entry.batchId), [left.id, lost.id]);
  });

  t.test('Redis away: the batch stays in the ledger and is published when Redis is back, also after it lost everything', async (t) => {
    const orgId = uuidv7();
    await committer().commit(batch(), [slice(orgId)]);
    const lost = batch();
    await stack.redis.kill();
    await t.rejects(committer().commit(lost, [slice(orgId)]), { name: 'StreamPublishError' });
    t.match(await ledger.find(lost.id), { published: false });
    await stack.redis.restart();
    await redis.flushall();
    const one = committer();
    let published = 0;
    while (published === 0) published = await one.publishLeftovers().catch(() => 0);
    t.same((await entries(orgId)).map((entry) => [entry.batchId, entry.prev]), [[lost.id, 0]], 'prev 0 sends hubs to the ledger');
  });
});
