import fc from 'fast-check';
import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { connect, startRig } from './rig.ts';
import { Client, Truth, row, rows, until } from './truth.ts';

const rig = await startRig(t);
const { publisher } = rig;

t.test('after Last-Event-ID come the rest of its batch, the later batches, then live rows, each once', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  for (let batch = 0; batch < 6; batch += 1) await truth.commit(publisher, ...rows(org, 5, batch * 5), row(uuidv7(), 0));
  const ids = truth.ids(org);
  for (const at of [0, 4, 5, 13, 29]) {
    const { client, subscription } = await connect(hub, { orgId: org, lastEventId: ids[at] });
    t.equal(subscription.origin, 'resumed');
    await truth.commit(publisher, ...rows(org, 2));
    await until(() => client.ids.length >= truth.ids(org).length - at - 1, `rows after row ${at}`);
    t.same(client.ids, truth.ids(org).slice(at + 1));
  }
});

t.test('the row of Last-Event-ID need not match the predicate', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  await truth.commit(publisher, ...rows(org, 20));
  const matches = (event: { source_seq: number }): boolean => event.source_seq % 2 === 1;
  const { client } = await connect(hub, { orgId: org, matches, lastEventId: truth.ids(org)[8] });
  await until(() => client.ids.length >= 6, 'odd rows');
  t.same(client.events.map((event) => event.source_seq), [9, 11, 13, 15, 17, 19]);
});

t.test('an unknown Last-Event-ID starts now and says so; it never shows rows of another org', async (t) => {
  const { truth, hub } = rig.hub();
  const [org, other] = [uuidv7(), uuidv7()];
  await truth.commit(publisher, ...rows(org, 3), ...rows(other, 3));
  const locates = truth.calls.locate;
  const [mine] = truth.ids(org);
  for (const lastEventId of [uuidv7(), truth.ids(other)[0], 'nonsense', `${mine} `, mine?.toUpperCase().replace(/^\d/, 'A'), "' OR 1=1 --", '\u0000', 'x'.repeat(10_000)]) {
    const before = truth.ids(org).length;
    const { client, subscription } = await connect(hub, { orgId: org, lastEventId });
    t.equal(subscription.origin, 'unknown_event_id', String(lastEventId).slice(0, 40));
    await truth.commit(publisher, row(org, 0), row(other, 0));
    await until(() => client.ids.length >= 1, 'the row committed since');
    t.same(client.ids, truth.ids(org).slice(before));
    subscription.unsubscribe();
  }
  t.equal(truth.calls.locate - locates, 2, 'what is no id does not reach the store');
  t.equal((await hub.subscribe({ orgId: org, matches: () => true, lastEventId: '' })).origin, 'now', 'an empty header is none');
});

t.test('a row that is stored but not committed yet is waited for', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const publication = truth.record(...rows(org, 3));
  const commit = truth.commits.pop();
  // A page may show the row before the ledger has its batch.
  const log = { ...truth.log, locate: () => Promise.resolve({ batchId: publication.batchId }) };
  const other = rig.hubOn(truth, log);
  const subscribed = connect(other, { orgId: org, lastEventId: commit?.events[0]?.id });
  await until(() => truth.calls.seqOf >= 2, 'asked more than once');
  if (commit !== undefined) truth.commits.push(commit);
  await publisher.publish(publication);
  const { client, subscription } = await subscribed;
  t.equal(subscription.origin, 'resumed');
  await until(() => client.ids.length >= 2, 'the other two rows');
  t.same(client.ids, truth.ids(org).slice(1));
  t.equal(hub.stats().clients, 0);
});

t.test('reconnecting at random points, with Last-Event-ID, gets every row once: fast and slow clients, small and large commits', async (t) => {
  const commitSizes = fc.array(fc.record({ rows: fc.integer({ min: 1, max: 40 }), pointer: fc.boolean(), late: fc.integer({ min: 0, max: 9 }) }), { minLength: 5, maxLength: 25 });
  const visits = fc.array(fc.record({ rows: fc.integer({ min: 0, max: 60 }), capacity: fc.constantFrom(1, 7, 1000), away: fc.integer({ min: 0, max: 3 }), restart: fc.boolean() }), { minLength: 1, maxLength: 12 });
  await fc.assert(fc.asyncProperty(commitSizes, visits, fc.integer({ min: 1, max: 4 }), fc.constantFrom(0, 9000, 70_000), async (commits, plan, modulus, padding) => {
    const truth = new Truth();
    let hub = rig.hubOn(truth);
    const org = uuidv7();
    const matches = (event: { source_seq: number }): boolean => event.source_seq % modulus === 0;
    await truth.commit(publisher, ...rows(org, 3));
    const got: string[] = [truth.ids(org, matches)[0] ?? ''];
    const committing = (async () => {
      let n = 3;
      for (const { rows: count, pointer, late } of commits) {
        // Long rows are handed over a few at a time, so that slow clients stop in the middle of a batch.
        const events = rows(org, count, n, { detail: { text: 'x'.repeat(padding) } });
        n += count;
        if (late === 0) {
          truth.record(...events); // left unpublished: the next commit publishes it
        } else if (pointer) {
          const publication = truth.record(...events);
          await publisher.publish({ ...publication, orgs: publication.orgs.map(({ orgId, rows: counted }) => ({ orgId, rows: counted })) });
          truth.markPublished(publication.seq);
        } else {
          await truth.commit(publisher, ...events);
        }
      }
      await truth.commit(publisher, row(org, 0));
    })();
    const visit = async (isOver: () => boolean, capacity: number): Promise<void> => {
      const client = new Client(capacity);
      const { subscription } = await connect(hub, { orgId: org, matches, lastEventId: got.at(-1) }, client);
      await until(() => {
        client.drain();
        return isOver() || client.ids.length >= visitRows;
      }, 'the visit');
      subscription.unsubscribe();
      got.push(...client.ids);
    };
    let visitRows = 0;
    for (const { rows: count, capacity, away, restart } of plan) {
      visitRows = count;
      let patience = 5;
      await visit(() => (patience -= 1) === 0, capacity);
      if (restart) {
        await hub.stop();
        hub = rig.hubOn(truth);
      }
      await new Promise((resolve) => setTimeout(resolve, away));
    }
    await committing;
    visitRows = truth.ids(org, matches).length - got.length;
    await visit(() => false, 1000);
    await hub.stop();
    t.same(got, truth.ids(org, matches));
  }), { numRuns: 25, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true });
});

t.test('clients that resume together share the reads of the log', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  for (let batch = 0; batch < 30; batch += 1) await truth.commit(publisher, ...rows(org, 20, batch * 20));
  const lastEventId = truth.ids(org)[3];
  const clients = await Promise.all(Array.from({ length: 50 }, () => connect(hub, { orgId: org, lastEventId })));
  const wanted = truth.ids(org).slice(4);
  await until(() => clients.every(({ client }) => client.ids.length >= wanted.length), 'all clients caught up');
  for (const { client } of clients) t.same(client.ids, wanted);
  t.ok(truth.calls.readBatchRows <= 5, `${truth.calls.readBatchRows} reads of rows for 50 clients`);
});

t.test('an outage of the log pauses a client that catches up, and loses nothing', async (t) => {
  const { truth, hub } = rig.hub({ retryMsMax: 20 });
  const org = uuidv7();
  await truth.commit(publisher, ...rows(org, 5));
  const subscription = await hub.subscribe({ orgId: org, matches: () => true, lastEventId: truth.ids(org)[0] });
  truth.outage = new Error('store away');
  const client = new Client();
  const asked = truth.calls.commitsAfter;
  subscription.start(client);
  await until(() => truth.calls.commitsAfter > asked + 2, 'several tries');
  t.same(client.ids, []);
  t.equal(client.reason, undefined);
  truth.outage = undefined;
  await truth.commit(publisher, ...rows(org, 5));
  await until(() => client.ids.length >= 9, 'rows after the outage');
  t.same(client.ids, truth.ids(org).slice(1));
});
