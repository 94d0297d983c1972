import { Redis } from 'ioredis';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { BudgetOwner, BudgetStore, Exhausted, Hold, Reservation } from '../../src/budgets/contract.ts';
import { createMemoryBudgetStore } from '../../src/budgets/memory-store.ts';
import { createRedisBudgetStore } from '../../src/budgets/redis-store.ts';
import type { RedisBudgetStoreOptions } from '../../src/budgets/redis-store.ts';
import type { Counter } from '../../src/policy/model.ts';
import { startStack } from '../support/stack.ts';
import { counter, scope } from './counter-fixture.ts';

const int64Max = 2n ** 63n - 1n;
const { redis: server, redisUrl } = await startStack(t, { redis: true });
const plain = new Redis(redisUrl);
t.teardown(() => plain.disconnect());

let workspaces = 0;
function owner(taskId?: string): BudgetOwner {
  workspaces += 1;
  return { orgId: 'org', workspaceId: `w${workspaces}`, taskId };
}
function open(t: { teardown(fn: () => unknown): unknown }, options: Partial<RedisBudgetStoreOptions> = {}): BudgetStore {
  const store = createRedisBudgetStore({ redisUrl, holdTtlMs: 60_000, commandTimeoutMs: 10_000, onError: () => undefined, ...options });
  t.teardown(() => store.close());
  return store;
}
const of = (counter: Counter, amount: bigint): Reservation[] => [{ counter, amount }];
async function held(answer: Promise<Hold | Exhausted>): Promise<Hold> {
  const hold = await answer;
  if (hold.kind !== 'held') throw new Error(JSON.stringify(hold));
  return hold;
}
const keysOf = async ({ workspaceId }: BudgetOwner): Promise<string[]> => (await plain.keys(`ch:budget:{${workspaceId}}*`)).sort();

t.test('fifty requests at once get what there is, not more', async (t) => {
  // Two connections, as two proxies have.
  const stores = [open(t), open(t)];
  const race = async (who: BudgetOwner, what: Counter): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => (stores[index % 2] ?? stores[0])!.reserve(who, of(what, 3n))));
    return answers.filter((answer) => answer?.kind === 'held').length;
  };
  t.equal(await race(owner(), counter('c', { workspace: scope(100) })), 33, 'workspace');
  t.equal(await race(owner('a'), counter('c', { workspace: scope(200), task: scope(30) })), 10, 'task');
  t.equal(await race(owner(), counter('c', { maxConcurrent: 7 })), 7, 'max_concurrent');
});

t.test('all or none: a later counter or scope that is reached leaves nothing of the earlier ones', async (t) => {
  const store = open(t);
  const who = owner('a');
  const [first, second] = [counter('first', { workspace: scope(10), task: scope(10), maxConcurrent: 1 }), counter('second', { workspace: scope(10), task: scope(2) })];
  const both = [{ counter: first, amount: 1n }, { counter: second, amount: 3n }];
  t.strictSame(await store.reserve(who, both), { kind: 'exhausted', limit: 'budget', counter: 'second', scope: 'task' });
  t.strictSame(await store.charge(who, both), { kind: 'exhausted', limit: 'budget', counter: 'second', scope: 'task' });
  t.strictSame(await keysOf(who), []);
});

t.test('ceilings: reached, passed by a debt, and unlimited', async (t) => {
  const store = open(t);
  const [who, limited, unlimited] = [owner(), counter('c', { workspace: scope(10) }), counter('u', { workspace: scope(0) })];
  const hold = await held(store.reserve(who, [{ counter: limited, amount: 4n }, { counter: unlimited, amount: int64Max }]));
  t.equal((await store.reserve(who, of(limited, 7n))).kind, 'exhausted', 'what is held counts');
  t.strictSame(await store.settle(who, hold, new Map([['c', 25n], ['u', int64Max], ['other', 1n]])), {
    c: { workspace: { max: 10, used: 25, held: 0 } },
    u: { workspace: { max: 0, used: String(int64Max), held: 0 } },
  }, 'debts stay');
  t.equal((await store.reserve(who, of(limited, 0n))).kind, 'exhausted', 'a reached ceiling denies also what costs nothing yet');
  const again = await held(store.reserve(who, of(unlimited, int64Max)));
  t.strictSame(await store.settle(who, again, new Map([['u', int64Max]])), { u: { workspace: { max: 0, used: String(int64Max), held: 0 } } }, 'stops at the end of int64');
});

t.test('sums are exact where doubles are not', async (t) => {
  const store = open(t);
  const used = async (amounts: readonly bigint[], max: bigint): Promise<unknown> => {
    const who = owner();
    const answers = [];
    for (const amount of amounts) answers.push(await store.charge(who, of(counter('c', { workspace: scope(max) }), amount)));
    const last = answers.at(-1);
    return last?.kind === 'charged' ? last.state['c']?.workspace?.used : last?.kind;
  };
  t.equal(await used([2n ** 53n, 1n], 0n), '9007199254740993');
  t.equal(await used([9_999_999_999n, 1n], 0n), 10_000_000_000);
  t.equal(await used([99_999_999_999_999_999n, 1n], 0n), '100000000000000000');
  t.equal(await used([int64Max - 1n, 1n], int64Max), String(int64Max));
  t.equal(await used([int64Max - 1n, 2n], int64Max), 'exhausted');
  t.equal(await used([2n ** 62n, 2n ** 62n - 1n], int64Max - 1n), 'exhausted', 'one over, which a double would not see');
  const [who, big] = [owner(), counter('c', { workspace: scope(0) })];
  const holds = [await held(store.reserve(who, of(big, int64Max))), await held(store.reserve(who, of(big, int64Max - 3n)))] as const;
  await store.release(who, holds[0]);
  const state = await store.charge(who, of(big, 0n));
  t.strictSame(state, { kind: 'charged', state: { c: { workspace: { max: 0, used: 0, held: String(int64Max - 3n) } } } }, 'held sums may pass int64 and come back');
});

t.test('a hold settles once, is released once, and neither after the other', async (t) => {
  const store = open(t);
  const [who, what] = [owner('a'), counter('c', { task: scope(100), maxConcurrent: 2 })];
  const hold = await held(store.reserve(who, of(what, 10n)));
  const answers = await Promise.all(Array.from({ length: 10 }, () => store.settle(who, hold, new Map([['c', 7n]]))));
  t.strictSame(answers.filter((state) => 'c' in state), [{ c: { task: { max: 100, used: 7, held: 0 }, in_flight: 0 } }]);
  await store.release(who, hold);
  t.equal(await store.renew(who, hold), false);
  const other = await held(store.reserve(who, of(what, 10n)));
  t.strictSame(await store.charge(who, of(what, 1n)), { kind: 'charged', state: { c: { task: { max: 100, used: 8, held: 10 }, in_flight: 1 } } });
  await store.release(who, other);
  await store.release(who, other);
  t.strictSame(await store.settle(who, other, new Map([['c', 7n]])), {});
  t.strictSame(await store.charge(who, of(what, 1n)), { kind: 'charged', state: { c: { task: { max: 100, used: 9, held: 0 }, in_flight: 0 } } });
});

t.test('tasks have ceilings of their own; requests without a task share one', async (t) => {
  const store = open(t);
  const who = owner();
  const what = counter('c', { workspace: scope(4), task: scope(2) });
  const charge = async (taskId?: string): Promise<string | undefined> => {
    const answer = await store.charge({ ...who, taskId }, of(what, 1n));
    return answer.kind === 'charged' ? undefined : answer.scope;
  };
  t.strictSame([await charge(), await charge(), await charge(), await charge('a'), await charge('a'), await charge('a'), await charge('b')], [undefined, undefined, 'task', undefined, undefined, 'workspace', 'workspace']);
});

t.test('a crash: a hold nobody settles gives back what it held, and a settle that comes late still debits', async (t) => {
  const store = open(t, { holdTtlMs: 400 });
  const [who, what] = [owner(), counter('c', { workspace: scope(10), maxConcurrent: 1 })];
  const hold = await held(store.reserve(who, of(what, 10n)));
  t.strictSame(await store.reserve(who, of(what, 1n)), { kind: 'exhausted', limit: 'budget', counter: 'c', scope: 'workspace' });
  let answer = await store.charge(who, of(what, 1n));
  while (answer.kind === 'exhausted') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer = await store.charge(who, of(what, 1n));
  }
  t.strictSame(answer.state, { c: { workspace: { max: 10, used: 1, held: 0 }, in_flight: 0 } });
  t.equal(await store.renew(who, hold), false);
  t.strictSame(await store.settle(who, hold, new Map([['c', 5n]])), { c: { workspace: { max: 10, used: 6, held: 0 }, in_flight: 0 } });
  t.strictSame(await store.settle(who, hold, new Map([['c', 5n]])), {});
});

t.test('windows start at their first use by Redis\' clock; no commit restarts them, and a hold stays in its own', async (t) => {
  let nowMs = 1_790_000_000_000;
  const options = { holdTtlMs: 10_000, nowMs: () => nowMs };
  for (const store of [open(t, { holdTtlMs: 10_000, testClock: () => nowMs }), createMemoryBudgetStore(options)]) {
    const [who, what] = [owner(), counter('c', { workspace: scope(10, 1_000) })];
    const state = (used: number, heldNow: number, endsMs: number): unknown => ({ c: { workspace: { max: 10, used, held: heldNow, resets_at: new Date(endsMs).toISOString() } } });
    const startMs = nowMs;
    const hold = await held(store.reserve(who, of(what, 2n)));
    nowMs += 600;
    t.strictSame(await store.charge(who, of(what, 8n)), { kind: 'charged', state: state(8, 2, startMs + 1_000) });
    t.strictSame(await store.charge(who, of(what, 1n)), { kind: 'exhausted', limit: 'budget', counter: 'c', scope: 'workspace', retryAfterMs: 400 });
    nowMs += 400;
    t.strictSame(await store.charge(who, of(what, 1n)), { kind: 'charged', state: state(1, 0, nowMs + 1_000) }, 'what an old window holds is not held in the new one');
    t.strictSame(await store.settle(who, hold, new Map([['c', 9n]])), state(1, 0, nowMs + 1_000), 'nor debited to it');
    nowMs += 1_000;
    const late = await held(store.reserve(who, of(what, 1n)));
    nowMs += 1_000;
    t.strictSame(await store.settle(who, late, new Map([['c', 9n]])), { c: { workspace: { max: 10, used: 0, held: 0 } } }, 'a settle starts no window');
  }
});

t.test('in production the clock is Redis\' own', async (t) => {
  const store = open(t);
  const [seconds] = await plain.time();
  const answer = await store.charge(owner(), of(counter('c', { workspace: scope(10, 3_600_000) }), 1n));
  const resets = answer.kind === 'charged' ? Date.parse(answer.state['c']?.workspace?.resets_at ?? '') : 0;
  t.ok(Math.abs(resets - Number(seconds) * 1_000 - 3_600_000) < 60_000);
});

t.test('keys share a slot and go on their own, but for counters that never reset', async (t) => {
  const store = open(t, { holdTtlMs: 5_000 });
  const who = { ...owner('t:{x}'), workspaceId: `w}{${workspaces}` };
  const windowed = counter('c', { workspace: scope(10, 50_000), task: scope(10, 20_000), maxConcurrent: 1 });
  const hold = await held(store.reserve(who, of(windowed, 1n)));
  const prefix = `ch:budget:{${encodeURIComponent(who.workspaceId)}}`;
  const keys = (await plain.keys(`${prefix}*`)).sort();
  t.strictSame(keys, [`${prefix}:expiry`, `${prefix}:holds`, `${prefix}:task:t%3A%7Bx%7D`, `${prefix}:workspace`]);
  const lives = await Promise.all(keys.map((key) => plain.pttl(key)));
  const [most, hourMs] = [60_000, 3_600_000];
  const bounds = [hourMs + 5_000 + most, hourMs + 5_000 + most, 20_000 + most, 50_000 + most];
  for (const [index, bound] of bounds.entries()) t.ok((lives[index] ?? 0) > bound - 30_000 && (lives[index] ?? 0) <= bound, `${keys[index]}: ${lives[index]}`);
  await store.settle(who, hold, new Map([['c', 1n]]));
  t.strictSame((await plain.keys(`${prefix}*`)).sort(), keys.slice(2), 'without holds nothing of holds stays');
  await store.charge(who, of(counter('forever', { workspace: scope(10) }), 1n));
  t.equal(await plain.pttl(`${prefix}:workspace`), -1);
  await store.charge(who, of(windowed, 1n));
  t.equal(await plain.pttl(`${prefix}:workspace`), -1, 'a windowed counter beside it does not take it along');
});

t.test('counters that enforce nothing need no store', async (t) => {
  const store = open(t, { redisUrl: 'redis://127.0.0.1:1', commandTimeoutMs: 300 });
  const measured = of(counter('c'), 1n);
  const hold = await held(store.reserve(owner(), measured));
  t.strictSame(await store.charge(owner(), measured), { kind: 'charged', state: {} });
  t.strictSame([await store.renew(owner(), hold), await store.settle(owner(), hold, new Map([['c', 1n]])), await store.release(owner(), hold)], [true, {}, undefined]);
});

t.test('wrong amounts are the caller\'s error, in both stores', async (t) => {
  const limited = counter('c', { workspace: scope(10) });
  for (const store of [open(t), createMemoryBudgetStore({ nowMs: () => 0, holdTtlMs: 1 })]) {
    await t.rejects(store.reserve(owner(), of(limited, -1n)), RangeError);
    await t.rejects(store.charge(owner(), [...of(limited, 1n), ...of(limited, 1n)]), RangeError);
    const who = owner();
    const hold = await held(store.reserve(who, of(limited, 1n)));
    await t.rejects(store.settle(who, hold, new Map([['c', -1n]])), RangeError);
  }
});

t.test('scripts that Redis has forgotten are sent again', async (t) => {
  const store = open(t);
  const [who, what] = [owner(), counter('c', { workspace: scope(10) })];
  const hold = await held(store.reserve(who, of(what, 1n)));
  await plain.script('FLUSH');
  t.equal(await store.renew(who, hold), true);
  await plain.script('FLUSH');
  t.strictSame(await store.settle(who, hold, new Map([['c', 1n]])), { c: { workspace: { max: 10, used: 1, held: 0 } } });
});

t.test('a settle goes through when Redis is out of memory; a reserve rejects', async (t) => {
  const store = open(t);
  const [who, what] = [owner(), counter('c', { workspace: scope(10), maxConcurrent: 5 })];
  const hold = await held(store.reserve(who, of(what, 1n)));
  await plain.config('SET', 'maxmemory', '1');
  try {
    await t.rejects(store.reserve(who, of(what, 1n)), /OOM/);
    await t.rejects(store.charge(who, of(what, 1n)), /OOM/);
    t.strictSame(await store.settle(who, hold, new Map([['c', 3n]])), { c: { workspace: { max: 10, used: 3, held: 0 }, in_flight: 0 } });
  } finally {
    await plain.config('SET', 'maxmemory', '0');
  }
  t.strictSame(await store.charge(who, of(what, 1n)), { kind: 'charged', state: { c: { workspace: { max: 10, used: 4, held: 0 }, in_flight: 0 } } }, 'the refused ones left nothing');
});

t.test('a Redis that takes connections and says nothing: calls reject', async (t) => {
  const silent = createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const store = open(t, { redisUrl: `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`, commandTimeoutMs: 200 });
  t.teardown(() => silent.close());
  const what = of(counter('c', { workspace: scope(10) }), 1n);
  await Promise.all(Array.from({ length: 20 }, () => t.rejects(store.charge(owner(), what), /Redis|timed out/)));
});

t.test('Redis away: every call rejects, none is done later; back again: on it goes', async (t) => {
  const errors: unknown[] = [];
  const store = open(t, { commandTimeoutMs: 500, onError: (error) => errors.push(error) });
  const [who, what] = [owner(), counter('c', { workspace: scope(10) })];
  const hold = await held(store.reserve(who, of(what, 1n)));
  await store.charge(who, of(what, 1n));
  await server.stop();
  await t.rejects(store.reserve(who, of(what, 1n)));
  await t.rejects(store.charge(who, of(what, 1n)));
  await t.rejects(store.renew(who, hold));
  await t.rejects(store.settle(who, hold, new Map([['c', 2n]])));
  await t.rejects(store.release(who, hold));
  t.ok(errors.length > 0, 'said once more to the operator');
  await server.restart();
  let state;
  while (state === undefined) state = await store.settle(who, hold, new Map([['c', 2n]])).catch(() => undefined);
  t.strictSame(state, { c: { workspace: { max: 10, used: 3, held: 0 } } });
});
