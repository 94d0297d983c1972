import { inspect } from 'node:util';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { ActiveWorkspace } from '../../src/proxy/contract.ts';
import type { ManagedWorkspaceRegistry, WorkspaceAnswer, WorkspaceFound, WorkspaceRef, WorkspaceRegistryDeps } from '../../src/proxy/workspaces/contract.ts';
import { createWorkspaceRegistry } from '../../src/proxy/workspaces/registry.ts';
import { createPolicyCache } from '../../src/proxy/workspaces/policy-cache.ts';

const caps = '- name: web\n  type: http\n  allow:\n    - {name: read, domains: [example.com], methods: [GET]}\n';
const orgId = uuidv7();

function answerOf(ref: WorkspaceRef, changes: Partial<WorkspaceAnswer> = {}): WorkspaceAnswer {
  return {
    ...ref, createdBy: 'user_1', agentRoleId: 'role-1', agentRole: 'coder', agentProvider: 'llm', environment: '', enforcement: 'enforce', retentionDays: 30, caps,
    secrets: new Map([['token', 'planted-secret']]), eventSchemas: new Map(), version: 'v1', ...changes,
  };
}

type Call = { readonly ref: WorkspaceRef; readonly version: string | undefined; readonly answer: (found: WorkspaceFound) => void; readonly fail: () => void };
type Rig = {
  readonly registry: ManagedWorkspaceRegistry; readonly calls: Call[]; readonly events: [string, string][]; readonly errors: unknown[]; clockMs: number;
  /** The next `get` of a workspace, answered as given. */
  readonly load: (ref: WorkspaceRef, found?: WorkspaceFound) => Promise<ActiveWorkspace | undefined>;
};

function rig(t: { teardown: (fn: () => Promise<void>) => unknown }, limits: Partial<WorkspaceRegistryDeps> = {}): Rig {
  const calls: Call[] = [];
  const events: [string, string][] = [];
  const errors: unknown[] = [];
  const registry = createWorkspaceRegistry({
    load: (ref, version) => new Promise((answer, reject) => calls.push({ ref, version, answer, fail: () => reject(new Error('unreachable')) })),
    ttlMs: 1_000, graceMs: 10_000, idleMs: 60_000, entriesMax: 100, negativeTtlMs: 500,
    onLifecycle: (event, { id }) => events.push([event, id]),
    onError: (error) => errors.push(error),
    now: () => made.clockMs,
    ...limits,
  });
  t.teardown(async () => {
    for (const call of calls) call.fail();
    await registry.stop();
  });
  const made: Rig = {
    registry, calls, events, errors, clockMs: 1_000_000,
    async load(ref, found = { kind: 'found', answer: answerOf(ref) }) {
      const before = calls.length;
      const got = registry.get(ref);
      if (calls.length !== before + 1) throw new Error('it did not ask');
      calls.at(-1)?.answer(found);
      return got;
    },
  };
  return made;
}

const ref = (): WorkspaceRef => ({ id: uuidv7(), orgId });

t.test('activated once, however many wait; then served from memory', async (t) => {
  const r = rig(t);
  const one = ref();
  const waiting = Array.from({ length: 50 }, () => r.registry.get(one));
  t.equal(r.calls.length, 1);
  t.same(r.events, []);
  r.calls[0]?.answer({ kind: 'found', answer: answerOf(one, { eventSchemas: new Map<string, unknown>([['tool_call', { type: 'object', required: ['tool'] }], ['tool_result', { type: 'nonsense' }]]) }) });
  const got = await Promise.all(waiting);
  t.equal(new Set(got).size, 1);
  const [workspace] = got;
  t.match(workspace, { id: one.id, orgId, createdBy: 'user_1', agentRole: 'coder', agentProvider: 'llm', environment: '', enforcement: 'enforce', retentionDays: 30 });
  const { policy } = workspace ?? {};
  t.ok(policy !== 'broken' && policy?.admitsHost('example.com'));
  t.equal(workspace?.secrets.get('token'), 'planted-secret');
  t.same(workspace?.eventSchemas.get('tool_call')?.validate({ tool: 'x' }), []);
  t.equal(workspace?.eventSchemas.get('tool_call')?.validate({}).length, 1);
  t.equal(workspace?.eventSchemas.get('tool_result')?.validate({}).length, 1, 'a schema that does not compile lets nothing through');
  t.notMatch(inspect(workspace, { depth: 10, showHidden: true }) + JSON.stringify(workspace), 'planted-secret');
  t.equal(await r.registry.get(one), workspace);
  t.equal(r.calls.length, 1);
  t.same(r.events, [['workspace_activated', one.id]]);
});

t.test('no document, one that does not compile, and the same text shared', async (t) => {
  const r = rig(t);
  const [a, b, c, d] = [ref(), ref(), ref(), ref()];
  t.equal((await r.load(a, { kind: 'found', answer: answerOf(a, { caps: null }) }))?.policy, undefined);
  t.equal((await r.load(b, { kind: 'found', answer: answerOf(b, { caps: '- nonsense' }) }))?.policy, 'broken');
  const policy = (await r.load(c))?.policy;
  t.equal((await r.load(d))?.policy, policy, 'one compiled policy');
});

t.test('unknown: remembered for a short time, and not at all after a message about it', async (t) => {
  const r = rig(t);
  const one = ref();
  t.equal(await r.load(one, { kind: 'unknown' }), undefined);
  t.equal(await r.registry.get(one), undefined);
  t.equal(r.calls.length, 1);
  t.equal(r.registry.size, 0);
  r.clockMs += 500;
  t.equal(await r.load(one, { kind: 'unknown' }), undefined, 'asked again');
  r.registry.refresh(one.id);
  t.ok(await r.load(one), 'resumed meanwhile');
  t.same(r.events, [['workspace_activated', one.id]]);
  for (const id of ['', 'no id', `${one.id}x`, one.id.toUpperCase()]) t.equal(await r.registry.get({ id, orgId }), undefined, 'what is no id is not asked for');
  t.equal(r.calls.length, 3);
});

t.test('a workspace is of one org: the same id in another is another question', async (t) => {
  const r = rig(t);
  const one = ref();
  await r.load(one);
  t.equal(await r.load({ id: one.id, orgId: uuidv7() }, { kind: 'unknown' }), undefined);
  t.ok(await r.registry.get(one), 'and changes nothing for the first');
  t.equal((await r.registry.get(one))?.gone.aborted, false);
});

t.test('stale while it is asked for again; too old waits', async (t) => {
  const r = rig(t);
  const one = ref();
  const first = await r.load(one);
  r.clockMs += 1_000;
  t.equal(await r.registry.get(one), first, 'served as it was');
  t.equal(await r.registry.get(one), first);
  t.equal(r.calls.length, 2, 'and asked for once, behind the request');
  t.equal(r.calls[1]?.version, 'v1');
  r.calls[1]?.answer({ kind: 'unchanged' });
  await turn();
  r.clockMs += 999;
  t.equal(await r.registry.get(one), first);
  t.equal(r.calls.length, 2, 'fresh again');
  r.clockMs += 1;
  await r.registry.get(one);
  r.calls[2]?.answer({ kind: 'found', answer: answerOf(one, { caps: null, version: 'v2' }) });
  await turn();
  const second = await r.registry.get(one);
  t.equal(second?.policy, undefined, 'swapped');
  t.not(first?.policy, undefined, 'a request in flight keeps what it began with');
  t.equal(second?.gone, first?.gone);
  r.clockMs += 2_000;
  const waiting = r.registry.get(one);
  r.calls[3]?.answer({ kind: 'found', answer: answerOf(one, { version: 'v3' }) });
  t.not(await waiting, second, 'older than twice the time to live: waited for');
  t.same(r.events, [['workspace_activated', one.id]]);
});

t.test('refresh: the next request sees what is true now, also when a load was under way', async (t) => {
  const r = rig(t);
  const one = ref();
  const first = await r.load(one);
  r.registry.refresh(one.id);
  const early = r.registry.get(one);
  r.registry.refresh(one.id);
  const late = r.registry.get(one);
  t.equal(r.calls.length, 3, 'the later one does not join the earlier load');
  r.calls[2]?.answer({ kind: 'found', answer: answerOf(one, { environment: 'new', version: 'v3' }) });
  t.equal((await late)?.environment, 'new');
  r.calls[1]?.answer({ kind: 'found', answer: answerOf(one, { environment: 'old', version: 'v2' }) });
  t.equal((await early)?.environment, 'old');
  t.equal((await r.registry.get(one))?.environment, 'new', 'an older answer that comes later is not kept');
  t.equal(first?.gone.aborted, false);
});

t.test('refresh by role and by org concerns those only', async (t) => {
  const r = rig(t);
  const [a, b, c] = [ref(), ref(), { id: uuidv7(), orgId: uuidv7() }];
  await r.load(a);
  await r.load(b, { kind: 'found', answer: answerOf(b, { agentRoleId: 'role-2' }) });
  await r.load(c);
  const asked = async (): Promise<string[]> => {
    const before = r.calls.length;
    const got = [a, b, c].map((one) => r.registry.get(one));
    const calls = r.calls.slice(before);
    for (const call of calls) call.answer({ kind: 'unchanged' });
    await Promise.all(got);
    return calls.map((call) => call.ref.id);
  };
  t.same(await asked(), []);
  r.registry.refreshRole(orgId, 'role-2');
  t.same(await asked(), [b.id]);
  r.registry.refreshOrg(orgId);
  t.same(await asked(), [a.id, b.id]);
  r.registry.refreshOrg(c.orgId);
  t.same(await asked(), [c.id]);
  r.registry.refreshRole(c.orgId, 'role-2');
  t.same(await asked(), []);
});

t.test('deactivation reaches requests in flight, those that wait for a load, and those whose workspace was evicted', async (t) => {
  const r = rig(t, { entriesMax: 1 });
  const [one, other] = [ref(), ref()];
  const held = await r.load(one);
  r.clockMs += 1_000;
  await r.registry.get(one);
  r.registry.deactivate(one.id);
  t.equal(held?.gone.aborted, true);
  r.calls[1]?.answer({ kind: 'found', answer: answerOf(one) });
  await turn();
  t.equal(r.registry.size, 0, 'a load that was under way does not bring it back');
  t.same(r.events, [['workspace_activated', one.id], ['workspace_deactivated', one.id]]);

  const waiting = r.registry.get(one);
  r.registry.deactivate(one.id);
  r.calls.at(-1)?.answer({ kind: 'found', answer: answerOf(one) });
  t.equal((await waiting)?.gone.aborted, true, 'who waited is told as well');

  const again = await r.load(one);
  t.equal(again?.gone.aborted, false);
  await r.load(other);
  t.equal(r.registry.size, 1);
  t.equal(again?.gone.aborted, false, 'eviction ends nothing');
  r.registry.deactivate(one.id);
  t.equal(again?.gone.aborted, true);
  t.same(r.events.slice(2), [['workspace_activated', one.id], ['workspace_evicted', one.id], ['workspace_activated', other.id]]);
});

t.test('evicted and activated again, both have one signal', async (t) => {
  const r = rig(t, { entriesMax: 1 });
  const [one, other] = [ref(), ref()];
  const first = await r.load(one);
  await r.load(other);
  const second = await r.load(one);
  t.not(first, second);
  r.registry.deactivate(one.id);
  t.same([first?.gone.aborted, second?.gone.aborted], [true, true]);
});

t.test('stopped without our being told: the next answer ends it', async (t) => {
  const r = rig(t);
  const one = ref();
  const held = await r.load(one);
  r.clockMs += 1_000;
  t.equal(await r.registry.get(one), held);
  r.calls[1]?.answer({ kind: 'unknown' });
  await turn();
  t.equal(held?.gone.aborted, true);
  t.equal(await r.registry.get(one), undefined);
  t.same(r.events, [['workspace_activated', one.id], ['workspace_deactivated', one.id]]);
});

t.test('the control plane does not answer: what is held covers for it, for a bounded time, and never after a change', async (t) => {
  const r = rig(t);
  const [one, never, changed] = [ref(), ref(), ref()];
  const held = await r.load(one);
  await r.load(changed);
  const failing = async (which: WorkspaceRef): Promise<ActiveWorkspace | undefined> => {
    const before = r.calls.length;
    const got = r.registry.get(which);
    if (r.calls.length > before) r.calls.at(-1)?.fail();
    return got;
  };
  await t.rejects(failing(never), /unreachable/);
  t.equal(r.registry.size, 2, 'nothing is kept of it');
  r.clockMs += 5_000;
  t.equal(await failing(one), held);
  const asked = r.calls.length;
  t.equal(await failing(one), held);
  t.equal(r.calls.length, asked, 'not asked at every request');
  r.clockMs += 1_000;
  t.equal(await failing(one), held);
  t.equal(r.calls.length, asked + 1);
  r.clockMs += 3_999;
  t.equal(await failing(one), held);
  r.clockMs += 1;
  await t.rejects(failing(one), /unreachable/, 'too old');
  r.registry.refresh(changed.id);
  await t.rejects(failing(changed), /unreachable/);
  t.ok(r.errors.length >= 4);
  t.equal((await r.load(one))?.id, one.id, 'it recovers');

  const young = ref();
  await r.load(young);
  r.registry.refresh(young.id);
  await t.rejects(failing(young), /unreachable/, 'young, but known to be wrong');
  r.registry.revalidateAll();
  await t.rejects(failing(young), /unreachable/, 'and stays so');
});

t.test('messages may have been missed: everything is asked for again without waiting for requests', async (t) => {
  const r = rig(t);
  const refs = Array.from({ length: 10 }, ref);
  const held = await Promise.all(refs.map((one) => r.load(one)));
  r.registry.revalidateAll();
  const covered = r.registry.get(refs[9] ?? ref());
  for (let n = 10; n < 21; n += 1) {
    while (r.calls.length <= n && n < 20) await turn();
    const call = r.calls[n];
    if (call?.ref.id === refs[0]?.id) call?.answer({ kind: 'unknown' });
    else if (call?.ref.id === refs[9]?.id) call?.fail();
    else call?.answer({ kind: 'unchanged' });
    await turn();
  }
  t.equal(held[0]?.gone.aborted, true, 'stopped meanwhile');
  t.equal(held[1]?.gone.aborted, false);
  t.equal(await covered, held[9], 'not known to be wrong: the grace covers it');
  t.equal(r.registry.size, 9);
});

t.test('bounded: the longest unused one is forgotten, and one that nobody uses', async (t) => {
  const r = rig(t, { entriesMax: 3, idleMs: 30 });
  const [a, b, c, d] = [ref(), ref(), ref(), ref()];
  for (const one of [a, b, c]) await r.load(one);
  r.clockMs += 3;
  await r.registry.get(a);
  await r.load(d);
  t.equal(r.registry.size, 3);
  t.same(r.events.at(-1), ['workspace_activated', d.id]);
  t.same(r.events.filter(([event]) => event === 'workspace_evicted'), [['workspace_evicted', b.id]]);
  r.clockMs += 29;
  await r.registry.get(d);
  r.clockMs += 1;
  while (r.registry.size > 1) await turn();
  t.same(r.events.filter(([event]) => event === 'workspace_evicted').map(([, id]) => id), [b.id, c.id, a.id]);
  for (let n = 0; n < 10; n += 1) await r.load(ref(), { kind: 'unknown' });
  t.equal(r.registry.size, 1);
});

t.test('stopped: get rejects, loads under way end', async (t) => {
  const r = rig(t);
  const waiting = r.registry.get(ref());
  const stopping = r.registry.stop();
  r.calls[0]?.fail();
  await t.rejects(waiting);
  await stopping;
  await t.rejects(r.registry.get(ref()), { name: 'RegistryStoppedError' });
});

t.test('compiled policies are kept by use, and are bounded', async (t) => {
  let compilations = 0;
  const cache = createPolicyCache({ entriesMax: 2, compile: () => {
    compilations += 1;
    return undefined;
  } });
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) t.equal(cache.policyOf(text), 'broken');
  t.equal(compilations, 4, 'b was the longest unused one when c came');
  t.equal(cache.size, 2);
});
