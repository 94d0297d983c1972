import { setTimeout as sleep } from 'node:timers/promises';
import { isUuid } from '../kernel/ids.ts';
import type { CommitReader } from './commit-reader.ts';
import type { Position } from './subscriber.ts';

/**
 * Where a stream starts. `now`: everything committed from here on. `resumed`: after the row of Last-Event-ID. `unknown_event_id`: the
 * Last-Event-ID is malformed, of another org, older than retention or never was; the stream starts now, and the client is told so.
 */
export type StreamOrigin = 'now' | 'resumed' | 'unknown_event_id';

export type StreamStart = { readonly origin: StreamOrigin; readonly position: Position };

const commitWaitMs = 100;
const commitWaits = 20;

/**
 * Fixes the place at which a subscription starts. Rejects when the commit log does not answer: better no stream than one that starts
 * at an unknown place.
 */
export async function resolveStart(reader: CommitReader, orgId: string, lastEventId: string | undefined): Promise<StreamStart> {
  // Before anything else: what is committed while we look for the row must not fall between.
  const now: Position = { seq: await reader.headSeq(), afterId: undefined };
  if (lastEventId === undefined || lastEventId === '') return { origin: 'now', position: now };
  const located = isUuid(lastEventId) ? await reader.locate(orgId, lastEventId) : undefined;
  if (located === undefined) return { origin: 'unknown_event_id', position: now };
  for (let wait = 0; wait < commitWaits; wait += 1) {
    const seq = await reader.seqOf(located.batchId);
    if (seq !== undefined) {
      reader.sawSeq(seq);
      return { origin: 'resumed', position: { seq, afterId: lastEventId } };
    }
    // A page can show a row in the moment between its insert and its commit; no stream has delivered it yet.
    await sleep(commitWaitMs);
  }
  return { origin: 'unknown_event_id', position: now };
}
