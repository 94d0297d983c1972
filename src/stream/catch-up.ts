import type { Commit } from './commit.ts';
import type { CommitReader } from './commit-reader.ts';
import type { Feed } from './feed.ts';
import type { Subscriber } from './subscriber.ts';

export type CatchUpDeps = {
  readonly reader: CommitReader;
  readonly onError: (error: unknown) => void;
  /** A client that takes nothing for this long, while rows wait for it, is closed as slow. */
  readonly stallMs: number;
  readonly retryMsMax: number;
};

/**
 * Walks one subscriber through the commit log until it stands at the live end and the feed takes it in. Paced by the client: nothing is
 * read, and no rows are held for it, while its buffer is full. The log being away is retried until the stream ends by itself.
 */
export async function catchUp(subscriber: Subscriber, feed: Feed, deps: CatchUpDeps): Promise<void> {
  let failures = 0;
  while (!subscriber.isClosed) {
    if (!(await subscriber.writable(deps.stallMs))) {
      subscriber.close('slow_consumer');
      return;
    }
    try {
      if (await step(subscriber, feed, deps.reader)) return;
      failures = 0;
    } catch (error) {
      deps.onError(error);
      failures += 1;
      await subscriber.pause(Math.min(deps.retryMsMax, 50 * 2 ** Math.min(failures, 20)));
    }
  }
}

/** One page of the log; answers true when the subscriber has become live. */
async function step(subscriber: Subscriber, feed: Feed, reader: CommitReader): Promise<boolean> {
  const { seq, afterId } = subscriber.position;
  // A commit that is delivered in part is read once more, for its rest.
  const page = await reader.page(subscriber.orgId, afterId === undefined ? seq : seq - 1);
  if (!(await deliver(subscriber, page.commits, reader))) return false;
  subscriber.reached(page.through);
  return page.complete && feed.join(subscriber);
}

async function deliver(subscriber: Subscriber, commits: readonly Commit[], reader: CommitReader): Promise<boolean> {
  for (let at = 0; at < commits.length;) {
    const read = await reader.rows(subscriber.orgId, commits.slice(at));
    for (const { seq, rows } of read) {
      if (!subscriber.offer(seq, rows)) return false;
    }
    at += read.length;
  }
  return !subscriber.isClosed;
}
