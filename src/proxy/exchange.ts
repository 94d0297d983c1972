import type { EmittedEvent } from '../events/emitter.ts';
import { uuidv7 } from '../kernel/ids.ts';
import type { Recorder } from './recorder.ts';
import type { RequestTarget } from './request-target.ts';
import type { Attribution, Changed, Outcome, Spent } from './verdict.ts';

/** What could be seen of a request; a malformed one has no method and no target. */
export type SeenRequest = RequestTarget & { readonly method?: string };

const methodCharactersMax = 64;

/**
 * One request at the proxy, from its first byte to its one row (design 1, promise 1). Nothing else writes `policy_decision` rows, and
 * `close` can be called once: that makes the promise hold by construction.
 */
export class Exchange {
  /** Id of the row and `x-request-id` of the answer, so that one leads to the other. */
  readonly id = uuidv7();
  readonly #openedAtMs = performance.now();
  readonly #record: Recorder;
  #request: SeenRequest;
  #closed = false;

  constructor(request: SeenRequest, record: Recorder) {
    this.#request = request;
    this.#record = record;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** From here on the row says what was decided on, and no longer what the wire looked like. */
  decidedOn(request: Required<SeenRequest>): void {
    this.#request = request;
  }

  /** Makes the row of a request that is being let through durable as an intent: it becomes the row when this process dies before `close`. */
  async admitted(outcome: Outcome): Promise<void> {
    await this.#record.intent(this.#row({ ...outcome, detail: { ...outcome.detail, interrupted: true } }));
  }

  /** Writes the row. Rejects when it could not be written: then the request counts as undecided and must be answered so. */
  async close(outcome: Outcome): Promise<void> {
    if (this.#closed) throw new Error('exchange closed twice');
    this.#closed = true;
    await this.#record.row(this.#row(outcome));
  }

  #row(outcome: Outcome): EmittedEvent {
    const { method, destination, path } = this.#request;
    return {
      id: this.id,
      event_type: 'policy_decision',
      ...attributed(outcome.attribution),
      ...(destination === undefined ? {} : { destination }),
      ...(method === undefined ? {} : { method: method.slice(0, methodCharactersMax) }),
      ...(path === undefined ? {} : { path }),
      decision: outcome.decision,
      ...(outcome.decision === 'deny' ? { reason: outcome.reason } : {}),
      ...(outcome.decision === 'allow' && outcome.capability !== undefined ? { capability_name: outcome.capability } : {}),
      latency_ms: Math.round(performance.now() - this.#openedAtMs),
      transforms_applied: outcome.changed?.applied ?? 0,
      validations_applied: outcome.decision === 'allow' ? outcome.validationsApplied : 0,
      policy_type: 'http',
      phase: outcome.phase,
      ...(outcome.changed === undefined ? {} : changedColumns(outcome.changed)),
      ...(outcome.spent === undefined ? {} : spentColumns(outcome.spent)),
      ...(outcome.detail === undefined ? {} : { detail: { ...outcome.detail } }),
    };
  }
}

function attributed({ orgId, userId, workspaceId, taskId, agentRole, agentProvider }: Attribution): Pick<EmittedEvent, 'org_id' | 'user_id'> & Partial<EmittedEvent> {
  return {
    org_id: orgId,
    user_id: userId,
    ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
    ...(taskId === undefined ? {} : { task_id: taskId }),
    ...(agentRole === undefined ? {} : { agent_role: agentRole }),
    ...(agentProvider === undefined ? {} : { agent_provider: agentProvider }),
  };
}

function changedColumns({ failed, authUsed, authFailures }: Changed): Partial<EmittedEvent> {
  return {
    ...(failed.size === 0 ? {} : { transforms_failed: Object.fromEntries(failed) }),
    ...(authUsed.length === 0 ? {} : { auth_used: [...authUsed] }),
    ...(authFailures.size === 0 ? {} : { auth_failures: Object.fromEntries(authFailures) }),
  };
}

function spentColumns({ debits, budgetState, floored }: Spent): Partial<EmittedEvent> {
  return {
    ...(Object.keys(debits).length === 0 ? {} : { debits: { ...debits } }),
    ...(Object.keys(budgetState).length === 0 ? {} : { budget_state: { ...budgetState } }),
    ...(floored.size === 0 ? {} : { floored: Object.fromEntries(floored) }),
  };
}
