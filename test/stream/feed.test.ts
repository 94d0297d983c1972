import t from 'tap';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { createCommitReader } from '../../src/stream/commit-reader.ts';
import { inlineData } from '../../src/stream/entry.ts';
import type { StreamEntry } from '../../src/stream/entry.ts';
import { Feed } from '../../src/stream/feed.ts';
import type { Publication } from '../../src/stream/publisher.ts';
import { Subscriber } from '../../src/stream/subscriber.ts';
import { all } from './rig.ts';
import { Client, Truth, row } from './truth.ts';

const org = uuidv7();

function entry({ seq, batchId, minTimestamp, maxTimestamp, orgs }: Publication, prev: number): StreamEntry {
  return { commit: { seq, batchId, minTimestamp, maxTimestamp }, prev, data: inlineData(orgs[0]?.lines ?? []) };
}

function setUp(): { truth: Truth; feed: Feed; dismissed: Subscriber[]; at: (seq: number) => { subscriber: Subscriber; client: Client }; next: () => number } {
  const truth = new Truth();
  const dismissed: Subscriber[] = [];
  const reader = createCommitReader(truth.log, { concurrency: 1, cacheBytesMax: 1_000_000 });
  const feed = new Feed(org, { reader, catchUp: (subscriber) => dismissed.push(subscriber), onError: (error) => { throw error; } });
  let last = 0;
  return {
    truth,
    feed,
    dismissed,
    at(seq) {
      const subscriber = new Subscriber({ orgId: org, matches: all }, { seq, afterId: undefined }, (error) => { throw error; });
      const client = new Client();
      subscriber.attach(client);
      return { subscriber, client };
    },
    /** Commits one row and hands its entry to the feed; answers the seq. */
    next() {
      const publication = truth.record(row(org, 1));
      feed.accept(entry(publication, last));
      last = publication.seq;
      return last;
    },
  };
}

t.test('a subscriber a few commits behind joins by what the feed still holds, and gets them once', async (t) => {
  const { truth, feed, dismissed, at, next } = setUp();
  feed.join(at(0).subscriber);
  // The org's first entry says `prev` 0, which might also be a wiped stream: the log decides.
  const first = next();
  t.equal(dismissed.length, 1);
  const old = at(first);
  t.equal(feed.join(old.subscriber), true);
  const seqs = Array.from({ length: 10 }, next);
  for (const behind of [0, 3, 9]) {
    const late = at(seqs[behind] ?? 0);
    t.equal(feed.join(late.subscriber), true);
    t.same(late.client.ids, truth.ids(org).slice(behind + 2));
    next();
    t.same(late.client.ids.at(-1), truth.ids(org).at(-1));
    t.same(new Set(late.client.ids).size, late.client.ids.length);
  }
  t.same(old.client.ids, truth.ids(org).slice(1));
});

t.test('a subscriber further behind than the feed holds goes back to the log', async (t) => {
  const { feed, at, next } = setUp();
  const first = next();
  feed.join(at(first).subscriber);
  for (let n = 0; n < 40; n += 1) next();
  const late = at(first);
  t.equal(feed.join(late.subscriber), false);
  t.same(late.client.ids, []);
  t.equal(late.subscriber.position.seq, first);
});

t.test('a subscriber ahead of the feed joins and skips what it has', async (t) => {
  const { truth, feed, at, next } = setUp();
  const first = next();
  feed.join(at(first).subscriber);
  const known = truth.record(row(org, 1));
  const ahead = at(known.seq);
  t.equal(feed.join(ahead.subscriber), true);
  feed.accept(entry(known, first));
  t.same(ahead.client.ids, []);
  feed.accept(entry(truth.record(row(org, 2)), known.seq));
  t.same(ahead.client.ids, truth.ids(org).slice(-1));
});

t.test('the feed never joins behind an entry it has read, unless the log does not know of it', async (t) => {
  const { truth, feed, at, next } = setUp();
  const first = next();
  const publication = truth.record(row(org, 1));
  feed.accept(entry(publication, first));
  t.equal(feed.readAfter, publication.seq);
  // Nobody was live: the entry has gone by, and its rows must come from the log.
  const { subscriber } = at(first);
  t.equal(feed.join(subscriber), false, 'ask again');
  t.equal(feed.join(subscriber), true, 'the log was asked twice and knows nothing: the entry is stale');
  t.equal(feed.readAfter, publication.seq, 'it is not read again');
});
