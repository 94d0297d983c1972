import type { AuditEvent } from '../events/event.ts';
import type { StreamRow } from './row.ts';

/**
 * Why a stream ended. `duration`: maximum age (contract 8); `slow_consumer`: the client did not read; `shutdown`: this process stops;
 * `error`: a defect on our side; `client`: the client went away.
 */
export type CloseReason = 'duration' | 'slow_consumer' | 'shutdown' | 'error' | 'client';

/** Where rows of a subscription go. */
export type StreamSink = {
  /** Takes the rows, always, in delivery order; answers whether more are welcome now. */
  deliver(rows: readonly StreamRow[]): boolean;
  /** Resolves when rows are welcome again. */
  drained(): Promise<void>;
  /** The hub ends the subscription; nothing is delivered after it. */
  closed(reason: CloseReason): void;
};

/** All commits up to `seq` are delivered; with `afterId` commit `seq` itself only up to that row. */
export type Position = { readonly seq: number; readonly afterId: string | undefined };

export type SubscriberOptions = {
  readonly orgId: string;
  /** Filters and visibility in one function. It is called for every row of the org. */
  readonly matches: (event: AuditEvent) => boolean;
  /** Told of each `workspace_created` row before `matches` decides on it, so that a visibility by ownership can be refreshed in time. */
  readonly workspaceCreated?: ((event: AuditEvent) => void) | undefined;
};

/** Rows are handed over in parts of about this size, so that a client's buffer overshoots its bound by one part at most. */
const sliceBytes = 64 * 1024;

/** One client's place in its org's sequence of rows. It alone decides what was delivered, so moving between live and catching up is safe. */
export class Subscriber {
  readonly orgId: string;
  position: Position;
  #matches: (event: AuditEvent) => boolean;
  readonly #workspaceCreated: ((event: AuditEvent) => void) | undefined;
  readonly #onError: (error: unknown) => void;
  #sink: StreamSink | undefined;
  #isClosed = false;
  #interrupt: (() => void) | undefined;

  constructor(options: SubscriberOptions, position: Position, onError: (error: unknown) => void) {
    this.orgId = options.orgId;
    this.#matches = options.matches;
    this.#workspaceCreated = options.workspaceCreated;
    this.position = position;
    this.#onError = onError;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  attach(sink: StreamSink): void {
    if (this.#sink !== undefined) throw new Error('a subscription is started once');
    this.#sink = sink;
  }

  refresh(matches: (event: AuditEvent) => boolean): void {
    this.#matches = matches;
  }

  /**
   * Hands over those rows of a commit that come after the position and match, and moves the position. Answers false when the sink has
   * enough for now, or is closed; the position then says where to go on. A predicate or sink that throws ends this stream only.
   */
  offer(seq: number, rows: readonly StreamRow[]): boolean {
    try {
      return this.#offer(seq, rows);
    } catch (error) {
      this.#onError(error);
      this.close('error');
      return false;
    }
  }

  #offer(seq: number, rows: readonly StreamRow[]): boolean {
    const { afterId } = this.position;
    let at = seq === this.position.seq && afterId !== undefined ? rows.findIndex((row) => row.event.id === afterId) + 1 : 0;
    let welcome = true;
    while (at < rows.length && welcome) {
      const slice: StreamRow[] = [];
      let bytes = 0;
      for (; at < rows.length && bytes < sliceBytes; at += 1) {
        const row = rows[at] as StreamRow;
        if (row.event.event_type === 'workspace_created') this.#workspaceCreated?.(row.event);
        if (!this.#matches(row.event)) continue;
        slice.push(row);
        bytes += row.json.length;
      }
      this.position = { seq, afterId: rows[at - 1]?.event.id };
      if (slice.length > 0) welcome = this.#sink?.deliver(slice) ?? false;
      if (this.#isClosed) return false;
    }
    if (at >= rows.length) this.position = { seq, afterId: undefined };
    return welcome;
  }

  /** Nothing of the org is left up to this seq. */
  reached(seq: number): void {
    if (seq >= this.position.seq) this.position = { seq, afterId: undefined };
  }

  /** Resolves true when the sink takes rows, false when it did not within the time or the subscription is closed. */
  async writable(stallMs: number): Promise<boolean> {
    return this.#sink !== undefined && (await this.#wait(stallMs, this.#sink.drained())) && !this.#isClosed;
  }

  /** Resolves after the time, or when the subscription is closed. */
  async pause(ms: number): Promise<void> {
    await this.#wait(ms, undefined);
  }

  close(reason: CloseReason | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#interrupt?.();
    if (reason !== undefined) this.#sink?.closed(reason);
  }

  async #wait(ms: number, event: Promise<void> | undefined): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, ms, false);
    this.#interrupt = () => resolve(false);
    if (this.#isClosed) resolve(false);
    event?.then(() => resolve(true), reject);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#interrupt = undefined;
    }
  }
}
