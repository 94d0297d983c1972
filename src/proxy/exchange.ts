import type { EmittedEvent } from '../events/emitter.ts';
import { uuidv7 } from '../kernel/ids.ts';
import type { Recorder } from './recorder.ts';
import type { RequestTarget } from './request-target.ts';
import type { Verdict } from './verdict.ts';

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
  readonly #request: SeenRequest;
  readonly #record: Recorder;
  #closed = false;

  constructor(request: SeenRequest, record: Recorder) {
    this.#request = request;
    this.#record = record;
  }

  /** Writes the row. Rejects when it could not be written: then the request counts as undecided and must be answered so. */
  async close(verdict: Verdict): Promise<void> {
    if (this.#closed) throw new Error('exchange closed twice');
    this.#closed = true;
    await this.#record(this.#row(verdict));
  }

  #row({ reason, attribution, detail }: Verdict): EmittedEvent {
    const { method, destination, path } = this.#request;
    const { orgId, userId, workspaceId, taskId } = attribution;
    return {
      id: this.id,
      event_type: 'policy_decision',
      org_id: orgId,
      user_id: userId,
      ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
      ...(taskId === undefined ? {} : { task_id: taskId }),
      ...(destination === undefined ? {} : { destination }),
      ...(method === undefined ? {} : { method: method.slice(0, methodCharactersMax) }),
      ...(path === undefined ? {} : { path }),
      decision: 'deny',
      reason,
      latency_ms: Math.round(performance.now() - this.#openedAtMs),
      transforms_applied: 0,
      validations_applied: 0,
      policy_type: 'http',
      phase: 'request_headers',
      ...(detail === undefined ? {} : { detail: { ...detail } }),
    };
  }
}
