import type { CommitReader } from './commit-reader.ts';
import type { StreamEntry } from './entry.ts';
import { decodeInline } from './entry.ts';
import type { CommitRows, StreamRow } from './row.ts';
import type { Subscriber } from './subscriber.ts';

export type FeedDeps = {
  readonly reader: CommitReader;
  /** Takes over a subscriber that has left the live set; its position is right. */
  readonly catchUp: (subscriber: Subscriber) => void;
  readonly onError: (error: unknown) => void;
};

/** Commits kept for clients that are just about to join, else a busy org would always be one commit ahead of them. */
const recentCommits = 32;

/**
 * The live end of one org. Invariant: every live subscriber has got all commits up to `position`. An entry that does not continue
 * exactly there, or cannot be used, sends all of them to the commit log, each from its own position; nothing is ever skipped here.
 */
export class Feed {
  readonly orgId: string;
  /** Every subscriber of the org. */
  readonly members = new Set<Subscriber>();
  readonly live = new Set<Subscriber>();
  readonly #deps: FeedDeps;
  /** Seq up to which live subscribers have everything. Meaningless while nobody is live. */
  #position = 0;
  /** Seq of the last entry read from Redis, used or not. */
  #cursor = 0;
  /** A cursor ahead of the commit log, seen once already: see `join`. */
  #doubted = 0;
  /** All commits of the org after `#recentFrom` up to `#position`. */
  #recent: CommitRows[] = [];
  #recentFrom = 0;

  constructor(orgId: string, deps: FeedDeps) {
    this.orgId = orgId;
    this.#deps = deps;
  }

  get position(): number {
    return this.#position;
  }

  /** Seq after which to read the Redis stream; never goes back. */
  get readAfter(): number {
    return Math.max(this.#position, this.#cursor);
  }

  /** Takes in a subscriber that has caught up; answers false when it has to ask the log once more, or its sink is full. */
  join(subscriber: Subscriber): boolean {
    if (this.live.size === 0) {
      if (!this.#restart(subscriber.position.seq)) return false;
    } else if (subscriber.position.seq < this.#position) {
      if (subscriber.position.seq < this.#recentFrom) return false;
      for (const { seq, rows } of this.#recent) {
        if (seq > subscriber.position.seq && !subscriber.offer(seq, rows)) return false;
      }
      subscriber.reached(this.#position);
    }
    this.live.add(subscriber);
    return true;
  }

  /** The next entry of the org's Redis stream. */
  accept(entry: StreamEntry): void {
    const { seq } = entry.commit;
    this.#cursor = Math.max(this.#cursor, seq);
    if (this.live.size === 0 || seq <= this.#position) return;
    // `prev` 0 says that the stream is new: either the org's first commit, or Redis lost what was before.
    const rows = entry.prev > 0 && entry.prev <= this.#position ? this.#decode(entry) : undefined;
    if (rows === undefined) {
      this.dismissAll();
      return;
    }
    this.#deps.reader.remember(this.orgId, entry.commit.batchId, rows);
    this.#position = seq;
    this.#recent.push({ seq, rows });
    if (this.#recent.length > recentCommits) this.#recentFrom = this.#recent.shift()?.seq ?? seq;
    for (const subscriber of this.live) {
      if (subscriber.position.seq >= seq || subscriber.offer(seq, rows)) continue;
      this.live.delete(subscriber);
      this.#deps.catchUp(subscriber);
    }
  }

  /** An entry that is not in our format: what it stands for is in the commit log. */
  acceptUnreadable(seq: number): void {
    this.#cursor = Math.max(this.#cursor, seq);
    this.dismissAll();
  }

  /** The org has no commit between `position` and `seq`. */
  advance(seq: number): void {
    this.#position = Math.max(this.#position, seq);
  }

  /** Sends every live subscriber to the commit log. */
  dismissAll(): void {
    const leaving = [...this.live];
    this.live.clear();
    for (const subscriber of leaving) {
      subscriber.reached(this.#position);
      this.#deps.catchUp(subscriber);
    }
  }

  /**
   * Starts the live end anew at `seq`. An entry beyond it has been read already and will not come again, so the log must be asked once
   * more; if it does not know of that entry then either, the ledger was set back (a restored backup) and the entry is stale.
   */
  #restart(seq: number): boolean {
    if (seq < this.#cursor && this.#doubted !== this.#cursor) {
      this.#doubted = this.#cursor;
      return false;
    }
    this.#position = seq;
    this.#recentFrom = seq;
    this.#recent = [];
    return true;
  }

  #decode(entry: StreamEntry): StreamRow[] | undefined {
    if (entry.data === undefined) return undefined;
    try {
      return decodeInline(this.orgId, entry.data);
    } catch (error) {
      this.#deps.onError(error);
      return undefined;
    }
  }
}
