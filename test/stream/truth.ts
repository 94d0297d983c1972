import { encodeLine } from '../../src/events/line.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { formatTimestamp, nowMicros } from '../../src/kernel/clock.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { Commit, CommitLog } from '../../src/stream/commit.ts';
import type { Publication, StreamPublisher } from '../../src/stream/publisher.ts';
import type { StreamRow } from '../../src/stream/row.ts';
import type { CloseReason, StreamSink } from '../../src/stream/subscriber.ts';

type Recorded = Commit & { readonly events: readonly AuditEvent[]; published: boolean };

/** One row; `n` shows in its path, so that filters and failures can name it. */
export function row(orgId: string, n: number, extra: Partial<AuditEvent> = {}): AuditEvent {
  return {
    id: uuidv7(), org_id: orgId, user_id: 'u1', timestamp: formatTimestamp(nowMicros()), source_seq: n, event_type: 'policy_decision',
    category: 'audit', actor: 'policy-engine', decision: 'allow', destination: `d${n % 7}.example`, path: `/${n}`, latency_ms: 1,
    transforms_applied: 0, validations_applied: 0, ...extra,
  };
}

export function rows(orgId: string, count: number, from = 0, extra: Partial<AuditEvent> = {}): AuditEvent[] {
  return Array.from({ length: count }, (_, at) => row(orgId, from + at, extra));
}

/**
 * The ledger and the stored rows as plain arrays: what Postgres and ClickHouse hold in production, and what the hub gets injected.
 * Redis, the publisher and the hub are the real ones.
 */
export class Truth {
  readonly commits: Recorded[] = [];
  /** Calls of each function of the log. */
  readonly calls = { commitsAfter: 0, readBatchRows: 0, locate: 0, seqOf: 0, headSeq: 0 };
  /** While set, every call of the log rejects with it. */
  outage: Error | undefined;
  #seq = 0;

  /** Ledger row and stored rows, as step 2 of a commit leaves them; not published. Seqs have holes, as Postgres identities do. */
  record(...events: AuditEvent[]): Publication {
    this.#seq += 1 + (this.#seq % 3);
    const times = events.map((event) => event.timestamp).sort();
    const [minTimestamp = '', maxTimestamp = ''] = [times[0], times.at(-1)];
    const batchId = uuidv7();
    this.commits.push({ seq: this.#seq, batchId, minTimestamp, maxTimestamp, rows: events.length, events, published: false });
    const orgIds = [...new Set(events.map((event) => event.org_id))];
    const orgs = orgIds.map((orgId) => {
      const lines = events.filter((event) => event.org_id === orgId).map((event) => encodeLine(event, 30));
      return { orgId, rows: lines.length, lines };
    });
    return { seq: this.#seq, batchId, minTimestamp, maxTimestamp, orgs };
  }

  /** The whole commit step: leftovers as pointers first, then the own batch. */
  async commit(publisher: StreamPublisher, ...events: AuditEvent[]): Promise<void> {
    const publication = this.record(...events);
    for (const leftover of this.commits) {
      if (leftover.published || leftover.seq === publication.seq) continue;
      const orgIds = [...new Set(leftover.events.map((event) => event.org_id))];
      await publisher.publish({ ...leftover, orgs: orgIds.map((orgId) => ({ orgId, rows: leftover.events.filter((event) => event.org_id === orgId).length })) });
      leftover.published = true;
    }
    await publisher.publish(publication);
    this.markPublished(publication.seq);
  }

  markPublished(seq: number): void {
    for (const commit of this.commits) if (commit.seq === seq) commit.published = true;
  }

  /** Ids of the org's rows in delivery order, those that match. */
  ids(orgId: string, matches: (event: AuditEvent) => boolean = () => true): string[] {
    return this.commits.flatMap((commit) => sorted(commit.events).filter((event) => event.org_id === orgId && matches(event)).map((event) => event.id));
  }

  readonly log: CommitLog = {
    commitsAfter: (orgId, afterSeq, toSeq, limit) => this.#answer('commitsAfter', () => this.commits
      .filter((commit) => commit.seq > afterSeq && commit.seq <= (toSeq ?? Infinity) && commit.events.some((event) => event.org_id === orgId))
      .slice(0, limit)
      .map(({ seq, batchId, minTimestamp, maxTimestamp, events }) => ({ seq, batchId, minTimestamp, maxTimestamp, rows: events.length }))),
    readBatchRows: (orgId, commits) => this.#answer('readBatchRows', () => commits.map((commit) => ({
      commit,
      events: this.commits.find((one) => one.batchId === commit.batchId)?.events.filter((event) => event.org_id === orgId) ?? [],
    }))),
    locate: (orgId, eventId) => this.#answer('locate', () => this.commits.find((commit) => commit.events.some((event) => event.id === eventId && event.org_id === orgId))),
    seqOf: (batchId) => this.#answer('seqOf', () => this.commits.find((commit) => commit.batchId === batchId)?.seq),
    headSeq: () => this.#answer('headSeq', () => this.commits.at(-1)?.seq ?? 0),
  };

  /** Answers what is true when the call arrives, a turn later, as a store would. */
  async #answer<T>(name: keyof Truth['calls'], value: () => T): Promise<T> {
    this.calls[name] += 1;
    const answer = value();
    await new Promise((resolve) => setImmediate(resolve));
    if (this.outage !== undefined) throw this.outage;
    return answer;
  }
}

export function sorted(events: readonly AuditEvent[]): AuditEvent[] {
  return [...events].sort((a, b) => a.timestamp.localeCompare(b.timestamp) || a.source_seq - b.source_seq || (a.id < b.id ? -1 : 1));
}

/** A client that takes everything at once, or, with `capacity`, that many rows until it is `drain`ed. */
export class Client implements StreamSink {
  readonly ids: string[] = [];
  readonly events: AuditEvent[] = [];
  reason: CloseReason | undefined;
  readonly #capacity: number;
  #held = 0;
  #waiting: (() => void)[] = [];
  peak = 0;

  constructor(capacity = Infinity) {
    this.#capacity = capacity;
  }

  deliver(delivered: readonly StreamRow[]): boolean {
    for (const { event } of delivered) {
      this.ids.push(event.id);
      this.events.push(event);
    }
    this.#held += delivered.length;
    this.peak = Math.max(this.peak, this.#held);
    return this.#held < this.#capacity;
  }

  drained(): Promise<void> {
    return this.#held < this.#capacity ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  drain(): void {
    this.#held = 0;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  closed(reason: CloseReason): void {
    this.reason = reason;
  }
}

/** Polls until the condition holds; throws after a bound that only a defect reaches. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
