import { JournalFullError, asWriteError } from './journal-error.ts';
import type { JournalRecord } from './record.ts';
import { encodeRecord } from './record.ts';

/** Records that are written, and answered, together. */
export type CommitGroup = { readonly records: JournalRecord[]; readonly texts: string[] };

type WaitingGroup = CommitGroup & { chars: number; readonly done: PromiseWithResolvers<void> };

export type CommitQueue = {
  /** Resolves when the record's group is committed. Rejects with JournalFullError while too much waits for the disk. */
  readonly add: (record: JournalRecord) => Promise<void>;
  /** Runs a task between two commits. */
  readonly exclusive: <T>(task: () => Promise<T>) => Promise<T>;
  /** Resolves when all that was added so far is committed or refused. */
  readonly flush: () => Promise<void>;
};

/**
 * Group commit: what is added within one turn of the event loop, and while an earlier group is being written, goes to the disk in one
 * write. All callers of a group share one promise, which is most of what makes 100,000 appends a second cheap.
 */
export function createCommitQueue(deps: { groupRows: number; groupChars: number; waitingCharsMax: number; commit: (group: CommitGroup) => Promise<void> }): CommitQueue {
  const groups: WaitingGroup[] = [];
  let waitingChars = 0;
  let scheduled = false;
  let tail: Promise<unknown> = Promise.resolve();

  function exclusive<T>(task: () => Promise<T>): Promise<T> {
    const result = tail.then(task);
    tail = result.catch(() => undefined); // its caller hears of it
    return result;
  }

  async function commitNext(): Promise<void> {
    const group = groups.shift();
    if (group === undefined) return;
    try {
      await deps.commit(group);
      group.done.resolve();
    } catch (error) {
      group.done.reject(asWriteError(error));
    } finally {
      waitingChars -= group.chars;
    }
  }

  async function drain(): Promise<void> {
    scheduled = false;
    while (groups.length > 0) await exclusive(commitNext);
  }

  function groupFor(): WaitingGroup {
    const newest = groups.at(-1);
    if (newest !== undefined && newest.records.length < deps.groupRows && newest.chars < deps.groupChars) return newest;
    const group: WaitingGroup = { records: [], texts: [], chars: 0, done: Promise.withResolvers() };
    group.done.promise.catch(() => undefined); // callers that look get the rejection; one that does not must not end the process
    groups.push(group);
    return group;
  }

  return {
    add(record) {
      if (waitingChars > deps.waitingCharsMax) return Promise.reject(new JournalFullError('memory', deps.waitingCharsMax));
      const text = encodeRecord(record);
      const group = groupFor();
      group.records.push(record);
      group.texts.push(text);
      group.chars += text.length;
      waitingChars += text.length;
      if (!scheduled) {
        scheduled = true;
        setImmediate(() => void drain());
      }
      return group.done.promise;
    },
    exclusive,
    async flush() {
      await Promise.allSettled(groups.map((group) => group.done.promise));
      await tail;
    },
  };
}
