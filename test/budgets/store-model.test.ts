import fc from 'fast-check';
import t from 'tap';
import { createMemoryBudgetStore } from '../../src/budgets/memory-store.ts';
import { createRedisBudgetStore } from '../../src/budgets/redis-store.ts';
import type { BudgetOwner, BudgetStore, Exhausted, Hold } from '../../src/budgets/contract.ts';
import type { Counter } from '../../src/policy/model.ts';
import { startStack } from '../support/stack.ts';
import { counter, scope } from './counter-fixture.ts';

const int64Max = 2n ** 63n - 1n;
const holdTtlMs = 1_000;
const counters: readonly Counter[] = [
  counter('plain', { workspace: scope(20), task: scope(10) }),
  counter('windowed', { workspace: scope(12, 700), task: scope(8, 300), maxConcurrent: 3 }),
  counter('slots', { maxConcurrent: 2 }),
  counter('unlimited', { workspace: scope(0), task: scope(int64Max - 5n, 2_000) }),
  counter('huge', { workspace: scope(int64Max) }),
  counter('measured'),
  // The same counter in a later version of its policy.
  counter('windowed', { workspace: scope(30, 2_000), maxConcurrent: 1 }),
  counter('plain', { workspace: scope(20, 1_500), task: scope(0) }),
  counter('plain', { capability: 'other', workspace: scope(5), maxConcurrent: 2 }),
];
const tasks = [undefined, '', 'a', 'b:{c} d'];

type Op =
  | { readonly kind: 'reserve' | 'charge'; readonly task: number; readonly picks: readonly { readonly counter: number; readonly amount: bigint }[] }
  | { readonly kind: 'settle'; readonly hold: number; readonly debits: readonly bigint[] }
  | { readonly kind: 'renew' | 'release'; readonly hold: number }
  | { readonly kind: 'advance'; readonly ms: number };

const amount = fc.oneof({ weight: 8, arbitrary: fc.bigInt(0n, 6n) }, { weight: 1, arbitrary: fc.constantFrom(int64Max, int64Max - 1n, 2n ** 62n, 9_999_999_999n, 10_000_000_000n, 2n ** 70n) });
const picks = fc.uniqueArray(fc.record({ counter: fc.nat(counters.length - 1), amount }), { minLength: 0, maxLength: 4, selector: (pick) => counters[pick.counter]?.name });
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('reserve', 'charge'), task: fc.nat(tasks.length - 1), picks }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const), hold: fc.nat(8), debits: fc.array(amount, { minLength: counters.length, maxLength: counters.length }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('renew', 'release'), hold: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.oneof(fc.constantFrom(1, 299, 300, 700, 999, 1_000, 3_600_000, 3_601_000), fc.nat(1_500)) }) },
);

/** The holds of one store in the order they were opened; both stores open the same ones. */
async function run(store: BudgetStore, holds: { owner: BudgetOwner; hold: Hold }[], workspaceId: string, step: Exclude<Op, { kind: 'advance' }>): Promise<unknown> {
  if ('picks' in step) {
    const owner = { orgId: 'org', workspaceId, taskId: tasks[step.task] };
    const reservations = step.picks.flatMap(({ counter: index, amount }) => (counters[index] === undefined ? [] : [{ counter: counters[index], amount }]));
    if (step.kind === 'charge') return store.charge(owner, reservations);
    const answer: Hold | Exhausted = await store.reserve(owner, reservations);
    if (answer.kind === 'exhausted') return answer;
    holds.push({ owner, hold: answer });
    return 'held';
  }
  const entry = holds[step.hold % Math.max(holds.length, 1)];
  if (entry === undefined) return 'no such hold';
  if (!('debits' in step)) return step.kind === 'renew' ? store.renew(entry.owner, entry.hold) : store.release(entry.owner, entry.hold);
  const debits = new Map(step.debits.map((debit, index): [string, bigint] => [counters[index]?.name ?? '', debit]));
  return store.settle(entry.owner, entry.hold, debits);
}

t.test('the Redis scripts and the model answer the same, whatever happens in whatever order', async (t) => {
  const { redisUrl } = await startStack(t, { redis: true });
  let nowMs = 1_790_000_000_000;
  const nothing = (): void => undefined;
  const redis = createRedisBudgetStore({ redisUrl, holdTtlMs, commandTimeoutMs: 10_000, onError: nothing, testClock: () => nowMs });
  const model = createMemoryBudgetStore({ nowMs: () => nowMs, holdTtlMs });
  t.teardown(() => redis.close());
  let workspace = 0;
  const seen = new Map<string, number>();
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  await fc.assert(fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 60 }), async (steps) => {
    workspace += 1;
    const [redisHolds, modelHolds]: { owner: BudgetOwner; hold: Hold }[][] = [[], []];
    for (const [index, step] of steps.entries()) {
      if (step.kind === 'advance') {
        nowMs += step.ms;
        continue;
      }
      const expected = await run(model, modelHolds ?? [], `w${workspace}`, step);
      const answer = await run(redis, redisHolds ?? [], `w${workspace}`, step);
      const texts = [answer, expected].map((value) => JSON.stringify(value));
      if (texts[0] !== texts[1]) throw new Error(`step ${index} ${step.kind}: ${texts[0]} is not ${texts[1]}`);
      count(`${step.kind} ${typeof expected === 'object' && expected !== null && 'limit' in expected ? String(expected.limit) : JSON.stringify(expected)?.slice(0, 4)}`);
    }
  }), { numRuns: 1_500 });
  // A property over steps that never deny, expire or settle would hold for anything.
  for (const what of ['reserve budget', 'reserve concurrency', 'charge budget', 'renew true', 'renew fals', 'reserve "hel', 'settle {"pl', 'settle {"wi', 'settle {}']) t.ok((seen.get(what) ?? 0) > 50, `${what}: ${seen.get(what)}`);
});
