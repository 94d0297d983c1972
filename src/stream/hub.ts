import type { AuditEvent } from '../events/event.ts';
import { AppError } from '../kernel/errors.ts';
import { catchUp } from './catch-up.ts';
import type { CommitLog } from './commit.ts';
import { createCommitReader } from './commit-reader.ts';
import { entrySeq, parseEntry } from './entry.ts';
import type { StreamEntry } from './entry.ts';
import { createEntryReader } from './entry-reader.ts';
import { Feed } from './feed.ts';
import { resolveStart } from './resume.ts';
import type { StreamOrigin } from './resume.ts';
import type { StreamSink, SubscriberOptions } from './subscriber.ts';
import { Subscriber } from './subscriber.ts';

export type SubscribeOptions = SubscriberOptions & {
  /** The `Last-Event-ID` header: the stream goes on after this row. */
  readonly lastEventId?: string | undefined;
};

export type Subscription = {
  readonly origin: StreamOrigin;
  /** Rows flow from here on. Once; the place was fixed when `subscribe` resolved, so nothing is missed in between. */
  start(sink: StreamSink): void;
  /** Replaces the predicate for all rows not yet delivered. */
  refresh(matches: (event: AuditEvent) => boolean): void;
  /** Ends the subscription without calling the sink. May be called at any time, also twice, also from within the sink. */
  unsubscribe(): void;
};

export type Hub = {
  /** Resolves when the place of the stream is fixed: every row committed after that is delivered. Rejects when the commit log is away. */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  stats(): { readonly clients: number; readonly live: number; readonly orgs: number };
  /** Closes every stream with `shutdown`. */
  stop(): Promise<void>;
};

export type HubDeps = CommitLog & {
  readonly redisUrl: string;
  readonly onError: (error: unknown) => void;
  /** Reads of the commit log at a time. */
  readonly readConcurrency?: number;
  readonly cacheBytesMax?: number;
  readonly stallMs?: number;
  readonly retryMsMax?: number;
  readonly blockMs?: number;
  /** Pause between two comparisons with the commit log, which find what Redis lost without a trace. */
  readonly sweepMs?: number;
};

/**
 * Fans the committed rows of each org out to its clients (design 7). One hub per process. Redis is only the quick path: each subscriber
 * has a position in the ledger's order, live entries are taken only when they continue it, and everything else (a reconnect with
 * Last-Event-ID, a gap, a large batch, a full client buffer, a lost Redis) is the same walk through the commit log from that position.
 */
export function createHub(deps: HubDeps): Hub {
  const { onError, stallMs = 30_000, retryMsMax = 5000, sweepMs = 10_000 } = deps;
  const reader = createCommitReader(deps, { concurrency: deps.readConcurrency ?? 4, cacheBytesMax: deps.cacheBytesMax ?? 32 * 1024 * 1024 });
  const feeds = new Map<string, Feed>();
  const running = new Set<Promise<void>>();
  let stopped = false;

  const entries = createEntryReader({
    redisUrl: deps.redisUrl,
    onError,
    blockMs: deps.blockMs ?? 5000,
    positions() {
      const positions = new Map<string, number>();
      for (const feed of feeds.values()) {
        if (feed.live.size > 0) positions.set(feed.orgId, feed.readAfter);
      }
      return positions;
    },
    // A restarted Redis may have lost entries whose numbers nobody will ever miss: ask the log before trusting the stream again.
    onConnected: () => feeds.forEach((feed) => feed.dismissAll()),
    onEntry(orgId, id, fields) {
      const feed = feeds.get(orgId);
      if (feed === undefined) return;
      let entry: StreamEntry;
      try {
        entry = parseEntry(id, fields);
      } catch (error) {
        onError(error);
        feed.acceptUnreadable(entrySeq(id));
        return;
      }
      feed.accept(entry);
    },
  });

  function feedOf(orgId: string): Feed {
    let feed = feeds.get(orgId);
    if (feed === undefined) {
      feed = new Feed(orgId, { reader, onError, catchUp: startCatchUp });
      feeds.set(orgId, feed);
    }
    return feed;
  }

  async function follow(subscriber: Subscriber, feed: Feed): Promise<void> {
    try {
      await catchUp(subscriber, feed, { reader, onError, stallMs, retryMsMax });
    } catch (error) {
      onError(error);
      subscriber.close('error');
    }
    if (subscriber.isClosed) remove(subscriber);
    else entries.wake(feed.orgId);
  }

  function startCatchUp(subscriber: Subscriber): void {
    const run = follow(subscriber, feedOf(subscriber.orgId)).finally(() => running.delete(run));
    running.add(run);
  }

  function remove(subscriber: Subscriber): void {
    const feed = feeds.get(subscriber.orgId);
    if (feed === undefined || !feed.members.delete(subscriber)) return;
    feed.live.delete(subscriber);
    if (feed.members.size === 0) feeds.delete(feed.orgId);
  }

  /** Finds commits that the stream should have told of: Redis was emptied, or is away, and no later entry shows the gap. */
  async function sweepFeed(feed: Feed): Promise<void> {
    const { position } = feed;
    const page = await reader.page(feed.orgId, position);
    // A feed that moved meanwhile is being told; what it missed shows as a gap.
    if (feed.position !== position || feed.live.size === 0) return;
    if (page.commits.length > 0) feed.dismissAll();
    else feed.advance(page.through);
  }

  async function sweep(): Promise<void> {
    reader.forgetRows();
    const live = [...feeds.values()].filter((feed) => feed.live.size > 0);
    if (live.length === 0) return;
    await reader.headSeq();
    await Promise.all(live.map(sweepFeed));
  }

  let sweeping = false;
  const sweeper = setInterval(() => {
    if (sweeping) return;
    sweeping = true;
    sweep().catch(onError).finally(() => {
      sweeping = false;
    });
  }, sweepMs);
  sweeper.unref();

  return {
    async subscribe(options) {
      const start = await resolveStart(reader, options.orgId, options.lastEventId);
      if (stopped) throw new AppError('dependency_unavailable', 'this server is shutting down');
      const subscriber = new Subscriber(options, start.position, onError);
      feedOf(options.orgId).members.add(subscriber);
      return {
        origin: start.origin,
        start(sink) {
          subscriber.attach(sink);
          if (stopped) sink.closed('shutdown');
          else startCatchUp(subscriber);
        },
        refresh: (matches) => subscriber.refresh(matches),
        unsubscribe() {
          subscriber.close(undefined);
          remove(subscriber);
        },
      };
    },
    stats() {
      let clients = 0;
      let live = 0;
      for (const feed of feeds.values()) {
        clients += feed.members.size;
        live += feed.live.size;
      }
      return { clients, live, orgs: feeds.size };
    },
    async stop() {
      stopped = true;
      clearInterval(sweeper);
      for (const feed of feeds.values()) {
        for (const subscriber of feed.members) subscriber.close('shutdown');
      }
      feeds.clear();
      await entries.stop();
      await Promise.all(running);
    },
  };
}
