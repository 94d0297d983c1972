import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { connect, startRig } from './rig.ts';
import { Client, row, rows, until } from './truth.ts';

const rig = await startRig(t);
const { publisher } = rig;

t.test('a stream without Last-Event-ID gets everything committed after subscribe, and nothing before', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  await truth.commit(publisher, ...rows(org, 3));
  const subscription = await hub.subscribe({ orgId: org, matches: () => true });
  t.equal(subscription.origin, 'now');
  const before = truth.ids(org);
  // Committed between subscribe and start: part of the stream.
  await truth.commit(publisher, ...rows(org, 3, 3));
  const client = new Client();
  subscription.start(client);
  await truth.commit(publisher, ...rows(org, 3, 6));
  const wanted = truth.ids(org).slice(before.length);
  await until(() => client.ids.length >= wanted.length, 'rows after subscribe');
  t.same(client.ids, wanted);
  t.throws(() => subscription.start(client), /started once/);
});

t.test('a live row equals the stored one, and its JSON is made once for all clients', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const taken: { event: AuditEvent; json: Buffer }[] = [];
  const sink = { deliver: (delivered: readonly { event: AuditEvent; json: Buffer }[]) => taken.push(...delivered) > 0, drained: () => Promise.resolve(), closed: () => undefined };
  for (let n = 0; n < 3; n += 1) (await hub.subscribe({ orgId: org, matches: () => true })).start(sink);
  await truth.commit(publisher, row(org, 1));
  await until(() => taken.length === 3, 'first commit, by the log');
  await until(() => hub.stats().live === 3, 'all live');
  const event = row(org, 2, { workspace_id: 'w1', detail: { nested: { text: 'line\nend \u2028 é' } }, debits: { requests: 3 }, budget_state: { requests: { left: 7 } }, auth_used: ['a', 'b'], floored: { x: 'parse_failed' } });
  const reads = truth.calls.readBatchRows;
  await truth.commit(publisher, event);
  await until(() => taken.length === 6, 'second commit, live');
  t.equal(truth.calls.readBatchRows, reads, 'a small commit comes from Redis alone');
  t.same(taken[3]?.event, event);
  t.same(JSON.parse(taken[3]?.json.toString() ?? ''), event);
  t.equal(taken[3]?.json, taken[4]?.json);
  t.equal(taken[4]?.json, taken[5]?.json);
});

t.test('200 clients with filters of their own get exactly the rows their predicate admits, in order', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const clients = await Promise.all(Array.from({ length: 200 }, async (_, n) => {
    const matches = (event: AuditEvent): boolean => n === 0 || event.source_seq % (n + 1) === n % 5 || event.destination === `d${n % 9}.example`;
    return { matches, ...(await connect(hub, { orgId: org, matches })) };
  }));
  for (let batch = 0; batch < 20; batch += 1) await truth.commit(publisher, ...rows(org, 25, batch * 25));
  await until(() => clients.every(({ client, matches }) => client.ids.length >= truth.ids(org, matches).length), 'all rows');
  for (const { client, matches } of clients) t.same(client.ids, truth.ids(org, matches));
});

t.test('rows inside a batch come in the order of pages, whatever order the batch has', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const { client } = await connect(hub, { orgId: org });
  const same = row(org, 5).timestamp;
  const mixed = [row(org, 9), row(org, 2, { timestamp: same }), row(org, 1, { timestamp: same }), row(org, 1, { timestamp: same }), row(org, 0)].reverse();
  await truth.commit(publisher, ...mixed);
  await truth.commit(publisher, ...mixed.map((event) => ({ ...event, id: uuidv7() })));
  await until(() => client.ids.length >= 10, 'both batches');
  t.same(client.ids, truth.ids(org));
});

t.test('orgs never mix, also when they share batches and a broken entry claims otherwise', async (t) => {
  const { truth, hub } = rig.hub();
  const [a, b] = [uuidv7(), uuidv7()];
  const one = await connect(hub, { orgId: a });
  const two = await connect(hub, { orgId: b });
  for (let batch = 0; batch < 10; batch += 1) {
    await truth.commit(publisher, ...rows(a, 4, batch), ...rows(b, 3, batch));
    await truth.commit(publisher, ...rows(batch % 2 === 0 ? a : b, 2));
  }
  await until(() => one.client.ids.length >= 50 && two.client.ids.length >= 40, 'rows of both');
  t.same(one.client.ids, truth.ids(a));
  t.same(two.client.ids, truth.ids(b));

  await until(() => hub.stats().live === 2, 'both live');
  // An entry of a with lines of b: refused, and read from the log instead.
  const publication = truth.record(row(a, 1), row(b, 1));
  const [ofA, ofB] = publication.orgs;
  await publisher.publish({ ...publication, orgs: [{ orgId: a, rows: 1, lines: ofB?.lines ?? [] }, { orgId: b, rows: 1, lines: ofA?.lines ?? [] }] });
  await until(() => one.client.ids.length >= truth.ids(a).length && two.client.ids.length >= truth.ids(b).length, 'the mixed-up commit');
  t.same(one.client.ids, truth.ids(a));
  t.same(two.client.ids, truth.ids(b));
  t.match(rig.errors.at(-1), { message: /of another org/ });
});

t.test('a refreshed predicate holds from the next row on; workspace_created is told before its row is decided', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const own = new Set(['w1']);
  const told: string[] = [];
  const matches = (event: AuditEvent): boolean => own.has(event.workspace_id ?? '');
  const { client, subscription } = await connect(hub, {
    orgId: org,
    matches,
    workspaceCreated(event) {
      told.push(event.workspace_id ?? '');
      if (event.user_id === 'u1') own.add(event.workspace_id ?? '');
    },
  });
  const created = (workspace: string, user: string): AuditEvent => row(org, 0, { event_type: 'workspace_created', category: 'activity', actor: 'control-plane', workspace_id: workspace, user_id: user });
  const batch = [row(org, 1, { workspace_id: 'w1' }), created('w2', 'u1'), row(org, 2, { workspace_id: 'w2' }), created('w3', 'u2'), row(org, 3, { workspace_id: 'w3' })];
  await truth.commit(publisher, ...batch);
  await until(() => client.ids.length >= 3, 'own rows');
  t.same(client.events.map((event) => event.workspace_id), ['w1', 'w2', 'w2']);
  t.same(told, ['w2', 'w3'], 'the caller hears of every new workspace of the org once');
  subscription.refresh((event) => event.workspace_id === 'w3');
  await truth.commit(publisher, row(org, 4, { workspace_id: 'w1' }), row(org, 5, { workspace_id: 'w3' }));
  await until(() => client.ids.length >= 4, 'row of the new predicate');
  t.same(client.events.at(-1)?.workspace_id, 'w3');
});

t.test('a predicate that throws ends its own stream only', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  const good = await connect(hub, { orgId: org });
  const bad = await connect(hub, { orgId: org, matches: () => { throw new Error('broken predicate'); } });
  await truth.commit(publisher, row(org, 1));
  await truth.commit(publisher, row(org, 2));
  await until(() => good.client.ids.length >= 2, 'rows of the good client');
  t.equal(bad.client.reason, 'error');
  t.equal(hub.stats().clients, 1);
  t.match(rig.errors.at(-1), { message: 'broken predicate' });
});

t.test('subscribing and unsubscribing all the time loses nothing for those who stay', async (t) => {
  const { truth, hub } = rig.hub();
  const orgs = Array.from({ length: 8 }, () => uuidv7());
  const stay = await Promise.all(orgs.map((orgId) => connect(hub, { orgId })));
  let committing = true;
  const commits = (async () => {
    for (let n = 0; n < 120; n += 1) await truth.commit(publisher, ...orgs.filter((_, at) => (n + at) % 3 === 0).map((org) => row(org, n)));
    committing = false;
  })();
  const guests: { orgId: string; client: Client; from: number }[] = [];
  while (committing) {
    const orgId = n(orgs, guests.length);
    const subscription = await hub.subscribe({ orgId, matches: () => true });
    const guest = { orgId, client: new Client(), from: 0 };
    subscription.start(guest.client);
    guests.push(guest);
    await new Promise((resolve) => setTimeout(resolve, guests.length % 4));
    subscription.unsubscribe();
    subscription.unsubscribe();
  }
  await commits;
  await until(() => stay.every(({ client }, at) => client.ids.length >= truth.ids(n(orgs, at)).length), 'all rows');
  stay.forEach(({ client }, at) => t.same(client.ids, truth.ids(n(orgs, at))));
  for (const { orgId, client } of guests) {
    const ids = truth.ids(orgId);
    const from = client.ids.length === 0 ? 0 : ids.indexOf(client.ids[0] ?? '');
    t.same(client.ids, ids.slice(from, from + client.ids.length), 'a guest gets a stretch without holes');
  }
  t.same(hub.stats().clients, orgs.length);
  t.same(hub.stats().orgs, orgs.length);
});

function n<T>(list: readonly T[], at: number): T {
  return list[at % list.length] as T;
}

t.test('a new org interrupts the read that blocks for the others', async (t) => {
  // Only the interrupt can tell in time: the block and the sweep are far longer than this test waits.
  const { truth, hub } = rig.hub({ blockMs: 3_600_000 });
  for (let at = 0; at < 20; at += 1) {
    const org = uuidv7();
    const { client } = await connect(hub, { orgId: org });
    await until(() => hub.stats().live === at + 1, 'live');
    await truth.commit(publisher, row(org, 1));
    await until(() => client.ids.length === 1, 'the row');
    t.same(client.ids, truth.ids(org));
  }
});

t.test('subscribe is refused while the log is away, not started at an unknown place', async (t) => {
  const { truth, hub } = rig.hub();
  truth.outage = new Error('no ledger');
  await t.rejects(hub.subscribe({ orgId: uuidv7(), matches: () => true }), { message: 'no ledger' });
  t.same(hub.stats(), { clients: 0, live: 0, orgs: 0 });
});

t.test('stop closes every stream with shutdown, also those not live', async (t) => {
  const { truth, hub } = rig.hub();
  const org = uuidv7();
  await truth.commit(publisher, ...rows(org, 5));
  const live = await connect(hub, { orgId: org });
  await until(() => hub.stats().live === 1, 'live');
  const full = await connect(hub, { orgId: org, lastEventId: truth.ids(org)[0] }, new Client(1));
  await until(() => full.client.ids.length > 0, 'first rows');
  const held = await hub.subscribe({ orgId: org, matches: () => true });
  truth.outage = new Error('log away');
  const retrying = await hub.subscribe({ orgId: org, matches: () => true }).catch((error: unknown) => error);
  t.match(retrying, { message: 'log away' });
  await hub.stop();
  t.equal(live.client.reason, 'shutdown');
  t.equal(full.client.reason, 'shutdown');
  const late = new Client();
  held.start(late);
  t.equal(late.reason, 'shutdown');
  truth.outage = undefined;
  await t.rejects(hub.subscribe({ orgId: org, matches: () => true }), { code: 'dependency_unavailable' });
  t.same(hub.stats(), { clients: 0, live: 0, orgs: 0 });
});
