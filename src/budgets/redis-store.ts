import type { Scope } from '../policy/model.ts';
import { checkedAmount, shownAmount } from './amount.ts';
import type { BudgetOwner, BudgetStore, CounterState, Exhausted, Reservation, ScopeState } from './contract.ts';
import { connectForBudgets, createReadyWait, writeTogether } from './redis-connection.ts';
import { endLua, openLua, renewLua } from './redis-lua.ts';
import { emptyHold, enforcedOf, lateSettleMs, newHold } from './reservations.ts';

export type RedisBudgetStoreOptions = {
  readonly redisUrl: string;
  /** A hold that is neither renewed nor settled for so long gives its amounts back. */
  readonly holdTtlMs: number;
  /** A call rejects after twice this at the latest: once to wait for the connection, once for the answer. */
  readonly commandTimeoutMs: number;
  readonly onError: (error: unknown) => void;
  /** Only for tests: Redis' own clock counts, and cannot be moved. Milliseconds since the epoch. */
  readonly testClock?: () => number;
};

/**
 * Counters in Redis (design 11, attacks 119, 123, 130, 131). How keys and windows work is said in redis-lua.ts.
 * A counter is checked in the order workspace, task, `max_concurrent`, and counters in the order of the reservations; the first that
 * fails is named. `max_concurrent` counts the holds of the whole workspace, whatever their task. A hold does not outlast its window:
 * what it holds, and what it debits, belongs to the window in which it opened, and never to the next.
 * Crash points: a process that dies between reserve and settle leaves a hold, which expires. One whose reserve was written but not
 * answered leaves a hold nobody knows; it is released when Redis answers again, else it expires.
 */
export function createRedisBudgetStore(options: RedisBudgetStoreOptions): BudgetStore {
  const { holdTtlMs, commandTimeoutMs, onError, testClock } = options;
  const redis = connectForBudgets(options.redisUrl, commandTimeoutMs, onError);
  // defineCommand sends the hash and, when Redis does not know it (restart, flush), the text.
  redis.defineCommand('chBudgetOpen', { lua: openLua, numberOfKeys: 4 });
  redis.defineCommand('chBudgetRenew', { lua: renewLua, numberOfKeys: 4 });
  redis.defineCommand('chBudgetEnd', { lua: endLua, numberOfKeys: 4 });
  const scripts = redis as unknown as Record<'chBudgetOpen' | 'chBudgetRenew' | 'chBudgetEnd', (...args: string[]) => Promise<unknown>>;
  const ready = createReadyWait(redis, commandTimeoutMs);
  const call = async (name: keyof typeof scripts, owner: BudgetOwner, ...args: string[]): Promise<unknown> => {
    await ready();
    writeTogether(redis);
    const { holds, expiry, workspace, task } = keysOf(owner);
    return scripts[name](holds, expiry, workspace, task, testClock === undefined ? '' : String(testClock()), String(lateSettleMs), ...args);
  };
  const open = async (kind: 'reserve' | 'charge', owner: BudgetOwner, id: string, enforced: readonly Reservation[]): Promise<Exhausted | readonly string[][]> => {
    const counters = JSON.stringify(enforced.map((reservation) => written(owner, reservation)));
    const [verdict, ...rest] = await call('chBudgetOpen', owner, kind, id, String(holdTtlMs), counters) as [string, ...unknown[]];
    return verdict === 'exhausted' ? exhaustedFrom(rest as string[]) : rest[0] as string[][];
  };
  const end = (owner: BudgetOwner, id: string, debits: Record<string, string>): Promise<unknown> => call('chBudgetEnd', owner, id, JSON.stringify(debits));

  return {
    async reserve(owner, reservations) {
      const enforced = enforcedOf(reservations);
      if (enforced.length === 0) return emptyHold;
      const hold = newHold();
      try {
        const answer = await open('reserve', owner, hold.id, enforced);
        return 'kind' in answer ? answer : hold;
      } catch (error) {
        end(owner, hold.id, {}).catch(onError);
        throw error;
      }
    },
    async charge(owner, reservations) {
      const enforced = enforcedOf(reservations);
      if (enforced.length === 0) return { kind: 'charged', state: {} };
      const answer = await open('charge', owner, '', enforced);
      return 'kind' in answer ? answer : { kind: 'charged', state: statesFrom(answer) };
    },
    async renew(owner, { id }) {
      return id === emptyHold.id || await call('chBudgetRenew', owner, id, String(holdTtlMs)) === 1;
    },
    async settle(owner, { id }, debits) {
      const checked = [...debits].map(([name, amount]): [string, string] => [name, String(checkedAmount(amount, `the debit of ${name}`))]);
      return id === emptyHold.id ? {} : statesFrom(await end(owner, id, Object.fromEntries(checked)) as string[][]);
    },
    async release(owner, { id }) {
      if (id !== emptyHold.id) await end(owner, id, {});
    },
    async close() {
      // QUIT would wait for a Redis that is away.
      redis.disconnect();
    },
  };
}

/** Ids come from tokens: encoded, so that none can leave its place in a key or the braces of the hash tag. */
function encoded(id: string): string {
  return encodeURIComponent(id.toWellFormed());
}

function keysOf({ workspaceId, taskId }: BudgetOwner): { holds: string; expiry: string; workspace: string; task: string } {
  const prefix = `ch:budget:{${encoded(workspaceId)}}`;
  return { holds: `${prefix}:holds`, expiry: `${prefix}:expiry`, workspace: `${prefix}:workspace`, task: `${prefix}:task:${encoded(taskId ?? '')}` };
}

function written(owner: BudgetOwner, { counter, amount }: Reservation): Record<string, unknown> {
  const field = `${counter.capability}/${counter.name}`;
  const keys = keysOf(owner);
  const scope = (kind: 'workspace' | 'task', of: Scope | undefined): Record<string, string>[] =>
    of === undefined ? [] : [{ kind, key: keys[kind], field, max: String(of.max), ttl: of.ttlMs === undefined ? '' : String(of.ttlMs) }];
  const scopes = [...scope('workspace', counter.workspace), ...scope('task', counter.task)];
  return { name: counter.name, field, amount: String(amount), limit: String(counter.maxConcurrent), scopes };
}

function exhaustedFrom([limit, counter = '', scope, endsInMs]: readonly string[]): Exhausted {
  if (limit === 'concurrency') return { kind: 'exhausted', limit, counter };
  const retry = endsInMs === undefined || endsInMs === '' ? {} : { retryAfterMs: Number(endsInMs) };
  return { kind: 'exhausted', limit: 'budget', counter, scope: scope === 'task' ? 'task' : 'workspace', ...retry };
}

function statesFrom(answer: readonly (readonly string[])[]): Readonly<Record<string, CounterState>> {
  return Object.fromEntries(answer.map(([name = '', inFlight = '', ...scopes]): [string, CounterState] => {
    const state: Record<string, ScopeState | number> = {};
    for (let at = 0; at < scopes.length; at += 5) {
      const [kind = '', max = '', used = '', held = '', ends = ''] = scopes.slice(at, at + 5);
      const resets = ends === '' ? {} : { resets_at: new Date(Number(ends)).toISOString() };
      state[kind] = { max: shownAmount(BigInt(max)), used: shownAmount(BigInt(used)), held: shownAmount(BigInt(held)), ...resets };
    }
    return [name, inFlight === '' ? state : { ...state, in_flight: Number(inFlight) }];
  }));
}
