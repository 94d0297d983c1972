import type { Counter, Scope } from '../policy/model.ts';
import { checkedAmount, saturated, shownAmount } from './amount.ts';
import type { BudgetOwner, BudgetStore, CounterState, Exhausted, Hold, Reservation, ScopeState } from './contract.ts';
import { emptyHold, enforcedOf, lateSettleMs, newHold } from './reservations.ts';

type Window = { readonly startMs: number; used: bigint };
type HeldScope = { readonly kind: 'workspace' | 'task'; readonly place: string; readonly scope: Scope };
type HeldCounter = { readonly counter: Counter; readonly amount: bigint; readonly scopes: readonly (HeldScope & { readonly startMs: number })[] };
type LiveHold = { expiresMs: number; readonly counters: readonly HeldCounter[] };
type Workspace = { readonly windows: Map<string, Window>; readonly holds: Map<string, LiveHold> };

/**
 * The same contract on plain objects, for one process: the model that property tests hold the Redis scripts against. It keeps no totals:
 * what is held is added up from the holds each time, slow and plainly right. No await lies between a check and its write.
 */
export function createMemoryBudgetStore(deps: { readonly nowMs: () => number; readonly holdTtlMs: number }): BudgetStore {
  const workspaces = new Map<string, Workspace>();

  const workspaceOf = ({ workspaceId }: BudgetOwner, nowMs: number): Workspace => {
    const workspace = workspaces.get(workspaceId) ?? { windows: new Map<string, Window>(), holds: new Map<string, LiveHold>() };
    workspaces.set(workspaceId, workspace);
    for (const [id, hold] of workspace.holds) if (hold.expiresMs + lateSettleMs <= nowMs) workspace.holds.delete(id);
    return workspace;
  };
  const open = (kind: 'reserve' | 'charge', owner: BudgetOwner, reservations: readonly Reservation[]): Exhausted | { workspace: Workspace; counters: readonly HeldCounter[]; nowMs: number } => {
    const nowMs = deps.nowMs();
    const workspace = workspaceOf(owner, nowMs);
    const exhausted = firstExhausted(workspace, owner, reservations, nowMs);
    if (exhausted !== undefined) return exhausted;
    const counters = reservations.map(({ counter, amount }): HeldCounter => ({
      counter,
      amount,
      scopes: scopesOf(owner, counter).map((held) => {
        const window = runningWindow(workspace, held, nowMs) ?? { startMs: nowMs, used: 0n };
        workspace.windows.set(held.place, window);
        if (kind === 'charge') window.used = saturated(window.used + amount);
        return { ...held, startMs: window.startMs };
      }),
    }));
    return { workspace, counters, nowMs };
  };
  const end = (owner: BudgetOwner, { id }: Hold, debits: ReadonlyMap<string, bigint>): Readonly<Record<string, CounterState>> => {
    const nowMs = deps.nowMs();
    const workspace = workspaceOf(owner, nowMs);
    const hold = workspace.holds.get(id);
    if (hold === undefined) return {};
    workspace.holds.delete(id);
    for (const { counter, scopes } of hold.counters) {
      for (const scope of scopes) {
        const window = runningWindow(workspace, scope, nowMs);
        if (window?.startMs === scope.startMs) window.used = saturated(window.used + (debits.get(counter.name) ?? 0n));
      }
    }
    return statesOf(workspace, hold.counters, nowMs);
  };

  return {
    async reserve(owner, reservations) {
      const enforced = enforcedOf(reservations);
      if (enforced.length === 0) return emptyHold;
      const opened = open('reserve', owner, enforced);
      if ('kind' in opened) return opened;
      const hold = newHold();
      opened.workspace.holds.set(hold.id, { expiresMs: opened.nowMs + deps.holdTtlMs, counters: opened.counters });
      return hold;
    },
    async charge(owner, reservations) {
      const opened = open('charge', owner, enforcedOf(reservations));
      return 'kind' in opened ? opened : { kind: 'charged', state: statesOf(opened.workspace, opened.counters, opened.nowMs) };
    },
    async renew(owner, { id }) {
      if (id === emptyHold.id) return true;
      const nowMs = deps.nowMs();
      const hold = workspaceOf(owner, nowMs).holds.get(id);
      if (hold === undefined || hold.expiresMs <= nowMs) return false;
      hold.expiresMs = nowMs + deps.holdTtlMs;
      return true;
    },
    async settle(owner, hold, debits) {
      return end(owner, hold, new Map([...debits].map(([name, amount]) => [name, checkedAmount(amount, `the debit of ${name}`)])));
    },
    async release(owner, hold) {
      end(owner, hold, new Map());
    },
    async close() {
      workspaces.clear();
    },
  };
}

function scopesOf(owner: BudgetOwner, counter: Counter): readonly HeldScope[] {
  return (['workspace', 'task'] as const).flatMap((kind) => {
    const scope = counter[kind];
    return scope === undefined ? [] : [{ kind, scope, place: JSON.stringify([kind === 'task' ? (owner.taskId ?? '') : null, counter.capability, counter.name]) }];
  });
}

function runningWindow(workspace: Workspace, { place, scope }: HeldScope, nowMs: number): Window | undefined {
  const window = workspace.windows.get(place);
  return window === undefined || (scope.ttlMs !== undefined && nowMs >= window.startMs + scope.ttlMs) ? undefined : window;
}

function liveCounters(workspace: Workspace, nowMs: number): readonly HeldCounter[] {
  return [...workspace.holds.values()].filter((hold) => hold.expiresMs > nowMs).flatMap((hold) => hold.counters);
}

function heldIn(workspace: Workspace, place: string, window: Window | undefined, nowMs: number): bigint {
  const holding = liveCounters(workspace, nowMs).filter(({ scopes }) => scopes.some((scope) => scope.place === place && scope.startMs === window?.startMs));
  return holding.reduce((sum, { amount }) => sum + amount, 0n);
}

function inFlight(workspace: Workspace, counter: Counter, nowMs: number): number {
  return liveCounters(workspace, nowMs).filter((held) => held.counter.capability === counter.capability && held.counter.name === counter.name && held.counter.maxConcurrent > 0).length;
}

function firstExhausted(workspace: Workspace, owner: BudgetOwner, reservations: readonly Reservation[], nowMs: number): Exhausted | undefined {
  for (const { counter, amount } of reservations) {
    for (const held of scopesOf(owner, counter)) {
      const window = runningWindow(workspace, held, nowMs);
      const taken = (window?.used ?? 0n) + heldIn(workspace, held.place, window, nowMs);
      const { max, ttlMs } = held.scope;
      if (max > 0n && (taken >= max || taken + amount > max)) {
        const retry = window === undefined || ttlMs === undefined ? {} : { retryAfterMs: window.startMs + ttlMs - nowMs };
        return { kind: 'exhausted', limit: 'budget', counter: counter.name, scope: held.kind, ...retry };
      }
    }
    if (counter.maxConcurrent > 0 && inFlight(workspace, counter, nowMs) >= counter.maxConcurrent) return { kind: 'exhausted', limit: 'concurrency', counter: counter.name };
  }
  return undefined;
}

function statesOf(workspace: Workspace, counters: readonly HeldCounter[], nowMs: number): Readonly<Record<string, CounterState>> {
  return Object.fromEntries(counters.map(({ counter, scopes }): [string, CounterState] => {
    const state = Object.fromEntries(scopes.map((held): [string, ScopeState] => {
      const window = runningWindow(workspace, held, nowMs);
      const resets = window === undefined || held.scope.ttlMs === undefined ? {} : { resets_at: new Date(window.startMs + held.scope.ttlMs).toISOString() };
      return [held.kind, { max: shownAmount(held.scope.max), used: shownAmount(window?.used ?? 0n), held: shownAmount(heldIn(workspace, held.place, window, nowMs)), ...resets }];
    }));
    return [counter.name, counter.maxConcurrent > 0 ? { ...state, in_flight: inFlight(workspace, counter, nowMs) } : state];
  }));
}
