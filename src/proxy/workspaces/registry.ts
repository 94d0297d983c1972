import { isUuid } from '../../kernel/ids.ts';
import type { ActiveWorkspace } from '../contract.ts';
import { activate } from './activate.ts';
import type { ManagedWorkspaceRegistry, WorkspaceRef, WorkspaceRegistryDeps } from './contract.ts';
import type { Entry } from './entry.ts';
import { newEntry } from './entry.ts';
import { createGoneSignals } from './gone-signals.ts';
import { createPolicyCache } from './policy-cache.ts';
import { createUnknownWorkspaces } from './unknown-workspaces.ts';

/** Pause after a failed load in which a cached workspace is served without another try. */
const retryMs = 1_000;
const sweepMsMax = 30_000;
const touchMsMax = 1_000;
const policiesMax = 1_000;
const reloadLanes = 4;

/** The registry was stopped: the proxy is going away. */
export class RegistryStoppedError extends Error {
  constructor() {
    super('the workspace registry was stopped');
    this.name = 'RegistryStoppedError';
  }
}

/**
 * The workspaces this proxy knows (contract 6.2, 6.3; design 10). A workspace is asked for on its first request, once however many
 * requests wait for it; then it is served from memory and asked for again behind the requests' backs when it is older than `ttlMs`.
 * After `refresh` the next request waits for what is true now, and nothing older is served. When the control plane does not
 * answer, `get` rejects, unless what is held is younger than `graceMs` and not known to be wrong.
 */
export function createWorkspaceRegistry(deps: WorkspaceRegistryDeps): ManagedWorkspaceRegistry {
  const { load, ttlMs, graceMs, idleMs, entriesMax, negativeTtlMs = 2_000, onLifecycle, onError, now = () => performance.now() } = deps;
  /** In order of use, the longest unused one first. */
  const entries = new Map<string, Entry>();
  const unknown = createUnknownWorkspaces({ ttlMs: negativeTtlMs, entriesMax });
  /** The order of use is kept this exact: moving an entry at every request would cost more than the rest of the look-up. */
  const touchMs = Math.min(touchMsMax, idleMs / 10);
  const signals = createGoneSignals();
  const policies = createPolicyCache({ entriesMax: policiesMax });
  const loads = new Set<Promise<unknown>>();
  let stopped = false;
  let reloadNo = 0;

  const keyOf = ({ id, orgId }: WorkspaceRef): string => `${orgId}/${id}`;
  const isHeld = (entry: Entry): boolean => entries.get(keyOf(entry.ref)) === entry;

  function drop(entry: Entry, event: 'workspace_deactivated' | 'workspace_evicted'): void {
    if (isHeld(entry)) entries.delete(keyOf(entry.ref));
    entry.epoch += 1;
    entry.loading = undefined;
    if (entry.workspace !== undefined) onLifecycle?.(event, entry.workspace);
    entry.workspace = undefined;
  }

  function end(entry: Entry): void {
    drop(entry, 'workspace_deactivated');
    signals.abort(keyOf(entry.ref));
  }

  async function ask(entry: Entry): Promise<ActiveWorkspace | undefined> {
    const { epoch, workspace: before } = entry;
    const askedAtMs = now();
    // Taken first: a deactivation while we wait must reach those who wait.
    const gone = signals.signalOf(keyOf(entry.ref));
    const found = await load(entry.ref, before === undefined ? undefined : entry.version);
    const isCurrent = entry.epoch === epoch && !stopped;
    if (found.kind === 'unknown') {
      if (isCurrent) {
        end(entry);
        unknown.add(keyOf(entry.ref), now());
      }
      return undefined;
    }
    if (found.kind === 'unchanged') {
      if (before === undefined) throw new Error('the control plane answered "unchanged" to a first question');
      if (isCurrent) Object.assign(entry, { askedAtMs, trust: 'sure' });
      return before;
    }
    const { answer } = found;
    const workspace = activate(answer, { policies, gone });
    if (!isCurrent) return workspace;
    Object.assign(entry, { workspace, askedAtMs, trust: 'sure', version: answer.version, agentRoleId: answer.agentRoleId });
    if (before === undefined) onLifecycle?.('workspace_activated', workspace);
    return workspace;
  }

  /** One load at a time for each entry and epoch. */
  function loadOnce(entry: Entry): Promise<ActiveWorkspace | undefined> {
    if (entry.loading !== undefined) return entry.loading;
    const loading = ask(entry).catch((error: unknown) => {
      onError?.(error);
      entry.retryAtMs = now() + retryMs;
      // Nothing is held for it: the place is given back.
      if (entry.workspace === undefined && entry.loading === loading && isHeld(entry)) entries.delete(keyOf(entry.ref));
      throw error;
    }).finally(() => {
      if (entry.loading === loading) entry.loading = undefined;
      loads.delete(loading);
    });
    entry.loading = loading;
    loads.add(loading);
    // Whoever waits hears of it; a load behind the requests' backs has nobody.
    loading.catch(() => undefined);
    return loading;
  }

  function covered(entry: Entry): ActiveWorkspace | undefined {
    return entry.trust !== 'changed' && now() - entry.askedAtMs < graceMs ? entry.workspace : undefined;
  }

  function entryOf(ref: WorkspaceRef, key: string, nowMs: number): Entry {
    const known = entries.get(key);
    if (known !== undefined && nowMs - known.usedAtMs < touchMs) return known;
    const entry = known ?? newEntry(ref);
    if (known !== undefined) entries.delete(key);
    entries.set(key, entry);
    entry.usedAtMs = nowMs;
    if (entries.size > entriesMax) {
      const [oldest] = entries.values();
      if (oldest !== undefined) drop(oldest, 'workspace_evicted');
    }
    return entry;
  }

  async function get(ref: WorkspaceRef): Promise<ActiveWorkspace | undefined> {
    if (stopped) throw new RegistryStoppedError();
    if (!isUuid(ref.id) || !isUuid(ref.orgId)) return undefined;
    const key = keyOf(ref);
    const nowMs = now();
    if (unknown.has(key, nowMs)) return undefined;
    const entry = entryOf(ref, key, nowMs);
    const { workspace } = entry;
    if (workspace !== undefined) {
      const ageMs = nowMs - entry.askedAtMs;
      if (entry.trust === 'sure' && ageMs < ttlMs) return workspace;
      if (nowMs < entry.retryAtMs && covered(entry) !== undefined) return workspace;
      if (entry.trust === 'sure' && ageMs < Math.min(ttlMs * 2, graceMs)) {
        void loadOnce(entry).catch(() => undefined);
        return workspace;
      }
    }
    try {
      return await loadOnce(entry);
    } catch (error) {
      const standIn = covered(entry);
      if (standIn === undefined) throw error;
      return standIn;
    }
  }

  /** `changed` outlives a later `unsure`: only an answer asked for afterwards clears it. */
  function distrust(concerns: (entry: Entry) => boolean, trust: 'unsure' | 'changed'): void {
    for (const entry of entries.values()) {
      if (!concerns(entry)) continue;
      if (entry.trust !== 'changed') entry.trust = trust;
      if (trust === 'changed') entry.retryAtMs = 0;
      entry.epoch += 1;
      // The next request must not join a load that began before.
      entry.loading = undefined;
    }
  }

  /**
   * Asks again for everything that is held, a few at a time, so that a workspace that was stopped while nobody told us ends its streams
   * also when it makes no further request. It gives up when the control plane does not answer: requests then ask for themselves.
   */
  function reloadHeld(): void {
    reloadNo += 1;
    const own = reloadNo;
    const waiting = [...entries.values()].filter((entry) => entry.workspace !== undefined).values();
    const lane = async (): Promise<void> => {
      for (const entry of waiting) {
        if (stopped || own !== reloadNo) return;
        if (isHeld(entry) && entry.trust === 'unsure') await loadOnce(entry);
      }
    };
    for (let n = 0; n < reloadLanes; n += 1) void lane().catch(() => waiting.return?.());
  }

  function sweep(): void {
    for (const entry of entries.values()) {
      if (now() - entry.usedAtMs < idleMs) break;
      drop(entry, 'workspace_evicted');
    }
  }
  const sweeping = setInterval(sweep, Math.min(idleMs, sweepMsMax));
  sweeping.unref();

  return {
    get,
    deactivate(id) {
      for (const entry of [...entries.values()]) if (entry.ref.id === id) drop(entry, 'workspace_deactivated');
      signals.abortAll((key) => key.endsWith(`/${id}`));
    },
    refresh(id) {
      distrust((entry) => entry.ref.id === id, 'changed');
      unknown.forget((key) => key.endsWith(`/${id}`));
    },
    refreshRole: (orgId, agentRoleId) => distrust((entry) => entry.ref.orgId === orgId && (entry.agentRoleId === undefined || entry.agentRoleId === agentRoleId), 'changed'),
    refreshOrg: (orgId) => distrust((entry) => entry.ref.orgId === orgId, 'changed'),
    revalidateAll() {
      distrust(() => true, 'unsure');
      unknown.forget(() => true);
      reloadHeld();
    },
    get size() {
      return entries.size;
    },
    async stop() {
      stopped = true;
      clearInterval(sweeping);
      await Promise.allSettled(loads);
      entries.clear();
    },
  };
}
