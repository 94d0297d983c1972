import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { streamKey, streamOrg } from './entry.ts';
import { connectRedis } from './redis-connection.ts';

export type EntryReaderDeps = {
  readonly redisUrl: string;
  /** Orgs to read and the seq after which to read; asked before each read. */
  readonly positions: () => ReadonlyMap<string, number>;
  /** A connection is up and nothing has been read from it: what the server had before may be lost. */
  readonly onConnected: () => void;
  readonly onEntry: (orgId: string, id: string, fields: readonly Buffer[]) => void;
  readonly onError: (error: unknown) => void;
  readonly blockMs: number;
};

export type EntryReader = {
  /** Call when `positions` gains an org; interrupts the running read when that does not cover it. */
  wake(orgId: string): void;
  stop(): Promise<void>;
};

/** Entries of one org in one reply: bounds the reply to this times 32 KiB per org. */
const entriesPerRead = 16;
/** After this long without letting others run, the loop gives way between two entries. */
const turnMs = 10;

type Reply = readonly (readonly [Buffer, readonly (readonly [Buffer, readonly Buffer[]])[]])[] | null;

/**
 * One loop per process that follows the streams of all wanted orgs with a blocking XREAD on a connection of its own; a second
 * connection interrupts the read (CLIENT UNBLOCK) when an org is added, so that a new subscriber does not wait for the block to end.
 */
export function createEntryReader(deps: EntryReaderDeps): EntryReader {
  const blocking = connectRedis(deps.redisUrl, 'stream-reader', { enableOfflineQueue: false }, deps.onError);
  const control = connectRedis(deps.redisUrl, 'stream-control', { enableOfflineQueue: false, commandTimeout: 5000 }, deps.onError);
  let stopped = false;
  let connection = 0;
  let clientId = 0;
  /** What the running XREAD covers. */
  let reading: ReadonlyMap<string, number> | undefined;
  let signalled = false;
  let signal: (() => void) | undefined;

  function notify(): void {
    signalled = true;
    signal?.();
  }

  async function notified(): Promise<void> {
    if (!signalled) {
      await new Promise<void>((resolve) => {
        signal = resolve;
      });
    }
    signal = undefined;
    signalled = false;
  }

  blocking.on('ready', () => {
    connection += 1;
    notify();
  });

  async function interrupt(read: ReadonlyMap<string, number>): Promise<void> {
    // The command may still be on its way to the server: ask until it was blocked or is over. The block's own end bounds this.
    while (reading === read && !stopped && control.status === 'ready') {
      try {
        if ((await control.client('UNBLOCK', clientId)) === 1) return;
      } catch (error) {
        deps.onError(error);
      }
      await sleep(5);
    }
  }

  async function read(positions: ReadonlyMap<string, number>): Promise<Reply> {
    const keys: string[] = [];
    const ids: string[] = [];
    for (const [orgId, seq] of positions) {
      keys.push(streamKey(orgId));
      ids.push(`${seq}-0`);
    }
    reading = positions;
    // A connection that died without a word would block for ever.
    const guard = setTimeout(() => blocking.disconnect(true), deps.blockMs + 5000);
    try {
      return (await blocking.callBuffer('XREAD', 'COUNT', entriesPerRead, 'BLOCK', deps.blockMs, 'STREAMS', ...keys, ...ids)) as Reply;
    } finally {
      reading = undefined;
      clearTimeout(guard);
    }
  }

  async function dispatch(reply: Reply): Promise<void> {
    let since = performance.now();
    for (const [key, entries] of reply ?? []) {
      const orgId = streamOrg(key.toString());
      for (const [id, fields] of entries) {
        deps.onEntry(orgId, id.toString(), fields);
        if (performance.now() - since < turnMs) continue;
        await nextTurn();
        since = performance.now();
      }
    }
  }

  async function run(): Promise<void> {
    let seenConnection = 0;
    while (!stopped) {
      try {
        if (blocking.status !== 'ready') {
          await notified();
        } else if (seenConnection !== connection) {
          const current = connection;
          clientId = Number(await blocking.client('ID'));
          seenConnection = current;
          deps.onConnected();
        } else {
          const positions = deps.positions();
          if (positions.size === 0) {
            await notified();
            continue;
          }
          const reply = await read(positions);
          // A reply of a connection that is gone by now is dropped; its entries are read again.
          if (seenConnection === connection) await dispatch(reply);
        }
      } catch (error) {
        if (stopped) return;
        deps.onError(error);
        await sleep(100);
      }
    }
  }

  const running = run();

  return {
    wake(orgId) {
      notify();
      if (reading !== undefined && !reading.has(orgId)) void interrupt(reading);
    },
    async stop() {
      if (!stopped) {
        stopped = true;
        blocking.disconnect();
        control.disconnect();
        notify();
      }
      await running;
    },
  };
}
