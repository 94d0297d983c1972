import { Redis } from 'ioredis';
import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { inlineData } from '../../src/stream/entry.ts';
import { StreamPublishError } from '../../src/stream/publisher.ts';
import type { Publication } from '../../src/stream/publisher.ts';
import { connect, startRig } from './rig.ts';
import type { Truth } from './truth.ts';
import { row, rows, until } from './truth.ts';

const rig = await startRig(t);
const { publisher, stack } = rig;
const redis = new Redis(stack.redisUrl, { protocol: 2 });
redis.on('error', () => undefined);
t.teardown(() => redis.disconnect());

/** A worker commits until Redis takes it, as the queue's retries do; the ledger row is written once. */
async function commitAnyway(truth: Truth, org: string, count = 2): Promise<void> {
  const publication = truth.record(...rows(org, count));
  for (;;) {
    try {
      await publisher.publish(publication);
      truth.markPublished(publication.seq);
      return;
    } catch (error) {
      if (!(error instanceof StreamPublishError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

t.test('kill -9 and restart of Redis while rows flow', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const clients = await Promise.all(Array.from({ length: 3 }, () => connect(hub, { orgId: org })));
  let flowing = true;
  const flow = (async () => {
    while (flowing) await commitAnyway(truth, org);
  })();
  for (let kill = 0; kill < 3; kill += 1) {
    const before = truth.ids(org).length;
    await until(() => truth.ids(org).length > before + 20, 'some rows');
    await stack.redis.kill();
    await stack.redis.restart();
  }
  flowing = false;
  await flow;
  await until(() => clients.every(({ client }) => client.ids.length >= truth.ids(org).length), 'all rows after the last restart');
  for (const { client } of clients) t.same(client.ids, truth.ids(org));
});

t.test('a restarted Redis that has forgotten the newest entries does not hide their rows', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const { client } = await connect(hub, { orgId: org });
  await truth.commit(publisher, ...rows(org, 2));
  await until(() => client.ids.length === 2 && hub.stats().live === 1, 'live');
  // As after a crash of the machine, or a failover to a replica that was behind: published, then gone, and the next entry's `prev` is
  // the last one that survived, so that nothing in the stream shows the hole.
  const lost = truth.record(...rows(org, 2));
  truth.markPublished(lost.seq);
  await stack.redis.restart();
  await until(() => hub.stats().live === 1, 'reconnected');
  await commitAnyway(truth, org);
  await until(() => client.ids.length >= 6, 'all rows');
  t.same(client.ids, truth.ids(org));
});

t.test('FLUSHALL while rows flow', async (t) => {
  const { truth, hub } = rig.hub();
  const [org, other] = [uuidv7(), uuidv7()];
  const one = await connect(hub, { orgId: org });
  const two = await connect(hub, { orgId: other });
  for (let n = 0; n < 40; n += 1) {
    await truth.commit(publisher, ...rows(org, 2, n), ...(n % 3 === 0 ? [row(other, n)] : []));
    if (n % 10 === 5) await redis.flushall();
  }
  await until(() => one.client.ids.length >= 80 && two.client.ids.length >= 14, 'all rows');
  t.same(one.client.ids, truth.ids(org));
  t.same(two.client.ids, truth.ids(other));
});

t.test('entries lost without a trace and without a later commit are found by the sweep', async (t) => {
  const { truth, hub } = rig.hub({ sweepMs: 50 });
  const org = uuidv7();
  const { client } = await connect(hub, { orgId: org });
  await until(() => hub.stats().live === 1, 'live');
  truth.record(...rows(org, 3));
  await until(() => client.ids.length >= 3, 'rows that Redis never told of');
  t.same(client.ids, truth.ids(org));
  const late = truth.commits.at(-1);
  if (late !== undefined) await publisher.publish({ ...late, orgs: [{ orgId: org, rows: 3 }] });
  await truth.commit(publisher, row(org, 9));
  await until(() => client.ids.length >= 4, 'the row after');
  t.same(client.ids, truth.ids(org), 'the late entry doubles nothing');
});

t.test('with Redis away from the start, streams work from the log', async (t) => {
  await stack.redis.kill();
  const { truth, hub } = rig.hub({ sweepMs: 30 });
  const org = uuidv7();
  const { client } = await connect(hub, { orgId: org });
  truth.record(...rows(org, 3));
  await until(() => client.ids.length >= 3, 'rows without Redis');
  await stack.redis.restart();
  await commitAnyway(truth, org);
  await until(() => client.ids.length >= 5, 'rows with Redis');
  t.same(client.ids, truth.ids(org));
});

/** XADD arguments of a commit as the publisher makes them, with its lines inline and a `prev` of the test's choice. */
function entryOf(publication: Publication, orgId: string, prev: number): (string | number | Buffer)[] {
  const { seq, batchId, minTimestamp, maxTimestamp } = publication;
  const data = inlineData(publication.orgs.find((org) => org.orgId === orgId)?.lines ?? []) ?? '';
  return [`${seq}-0`, 'prev', prev, 'batch_id', batchId, 'rows', 1, 'min_timestamp', minTimestamp, 'max_timestamp', maxTimestamp, 'data', data];
}

t.test('entries the hub never saw are a gap, filled from the log: trimmed, or wiped and followed by newer ones', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const key = `ch:stream:${org}`;
  const { client } = await connect(hub, { orgId: org });
  await truth.commit(publisher, row(org, 0));
  for (const lose of ['trim', 'wipe'] as const) {
    await until(() => hub.stats().live === 1, 'live');
    const before = truth.commits.at(-1)?.seq ?? 0;
    const [first, second] = [truth.record(...rows(org, 3, 1)), truth.record(...rows(org, 3, 4))];
    // In one transaction, so that the blocked reader sees only what is left at its end.
    const multi = redis.multi().xadd(key, ...entryOf(first, org, before));
    if (lose === 'trim') multi.xadd(key, ...entryOf(second, org, first.seq)).xtrim(key, 'MAXLEN', 1);
    else multi.del(key).xadd(key, ...entryOf(second, org, 0));
    await multi.exec();
    await until(() => client.ids.length >= truth.ids(org).length, `all rows after a ${lose}`);
    t.same(client.ids, truth.ids(org));
  }
});

t.test('large commits are pointers; their rows are read once for all clients', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect(hub, { orgId: org })));
  await truth.commit(publisher, row(org, 0));
  await until(() => clients.every(({ client }) => client.ids.length === 1) && hub.stats().live === 20, 'live');
  const reads = truth.calls.readBatchRows;
  const noise = () => Array.from({ length: 50 }, () => uuidv7()).join('');
  await truth.commit(publisher, ...Array.from({ length: 300 }, (_, n) => row(org, n, { path: noise() })));
  await truth.commit(publisher, row(org, 1));
  await until(() => clients.every(({ client }) => client.ids.length >= 302), 'all rows');
  for (const { client } of clients) t.same(client.ids, truth.ids(org));
  t.ok(truth.calls.readBatchRows - reads <= 2, 'one read for the large commit, at most one for the one behind it');
  await until(() => hub.stats().live === 20, 'all live again');
});

t.test('leftovers of a crashed worker are published late, as pointers, before the next commit', async (t) => {
  const { truth, hub } = rig.hub();
  const [org, other] = [uuidv7(), uuidv7()];
  const one = await connect(hub, { orgId: org });
  const two = await connect(hub, { orgId: other });
  for (let n = 0; n < 10; n += 1) {
    await truth.commit(publisher, row(org, n), row(other, n));
    const crashed = truth.record(...rows(org, 2), ...rows(other, 2));
    // Some orgs have the entry already when the worker dies.
    if (n % 2 === 0) await publisher.publish({ ...crashed, orgs: crashed.orgs.slice(0, 1) });
  }
  await truth.commit(publisher, row(org, 99), row(other, 99));
  await until(() => one.client.ids.length >= 31 && two.client.ids.length >= 31, 'all rows');
  t.same(one.client.ids, truth.ids(org));
  t.same(two.client.ids, truth.ids(other));
});

t.test('two hubs and two publishers that publish everything twice', async (t) => {
  const { truth, hub } = rig.hub();
  const second = rig.hubOn(truth);
  const org = uuidv7();
  const clients = [await connect(hub, { orgId: org }), await connect(second, { orgId: org })];
  const other = rig.anotherPublisher();
  for (let n = 0; n < 40; n += 1) {
    const publication = truth.record(...rows(org, 3, n));
    await Promise.all([publisher.publish(publication), other.publish({ ...publication, orgs: [{ orgId: org, rows: 3 }] })]);
    truth.markPublished(publication.seq);
  }
  await until(() => clients.every(({ client }) => client.ids.length >= 120), 'all rows');
  for (const { client } of clients) t.same(client.ids, truth.ids(org));
});

t.test('damaged entries are replaced by the log', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const { client } = await connect(hub, { orgId: org });
  await truth.commit(publisher, row(org, 0));
  const damage: readonly (readonly string[])[] = [['unknown', 'fields'], ['prev', 'x', 'batch_id', 'y', 'rows', '1', 'min_timestamp', '', 'max_timestamp', '']];
  for (const fields of damage) {
    await until(() => hub.stats().live === 1, 'live');
    const publication = truth.record(row(org, 1));
    await redis.xadd(`ch:stream:${org}`, `${publication.seq}-0`, ...fields);
  }
  for (const data of [Buffer.from('not zstd'), Buffer.alloc(100, 0xff)]) {
    await until(() => hub.stats().live === 1, 'live');
    const prev = truth.commits.at(-1)?.seq ?? 0;
    const { seq, batchId, minTimestamp, maxTimestamp } = truth.record(row(org, 2));
    await redis.xadd(`ch:stream:${org}`, `${seq}-0`, 'prev', prev, 'batch_id', batchId, 'rows', 1, 'min_timestamp', minTimestamp, 'max_timestamp', maxTimestamp, 'data', data);
  }
  await until(() => client.ids.length >= 5, 'all rows');
  t.same(client.ids, truth.ids(org));
});

t.test('foreign entries far ahead of the ledger hide nothing and make no hot loop', async (t) => {
  const { truth, hub } = rig.hub({ sweepMs: 50 });
  const org = uuidv7();
  const { client } = await connect(hub, { orgId: org });
  await truth.commit(publisher, row(org, 0));
  await until(() => client.ids.length === 1 && hub.stats().live === 1, 'live');
  const foreign = row(org, 1);
  await publisher.publish({ seq: 5_000_000, batchId: uuidv7(), minTimestamp: foreign.timestamp, maxTimestamp: foreign.timestamp, orgs: [{ orgId: org, rows: 1 }] });
  await redis.xadd(`ch:stream:${org}`, '*', 'who', 'knows');
  const asked = truth.calls.commitsAfter;
  await truth.commit(publisher, row(org, 2));
  await until(() => client.ids.length >= 2, 'the new row, by the sweep');
  await until(() => hub.stats().live === 1, 'live again');
  t.same(client.ids, truth.ids(org));
  t.ok(truth.calls.commitsAfter - asked < 50, `${truth.calls.commitsAfter - asked} questions to the log`);
});
