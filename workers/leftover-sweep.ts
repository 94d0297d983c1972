import type { Sql } from '../src/store/pg/connect.ts';
import { hasLeftovers } from '../src/store/pg/batches.ts';
import type { Committer } from './commit.ts';

const sweepMs = 1_000;

/**
 * Publishes commits whose process was killed before it could: without a sweep they would wait for the next commit, on a quiet system for
 * hours. Looks once a second, and takes the commit lock only when there is something.
 */
export function startLeftoverSweep(deps: { sql: Sql; committer: Pick<Committer, 'publishLeftovers'>; onError: (error: unknown) => void }): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  async function sweep(): Promise<void> {
    try {
      if (await hasLeftovers(deps.sql, sweepMs)) await deps.committer.publishLeftovers();
    } catch (error) {
      deps.onError(error);
    }
  }
  function next(): void {
    if (stopped) return;
    running = sweep().then(() => { timer = setTimeout(next, sweepMs); });
  }
  let timer = setTimeout(next, sweepMs);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
      clearTimeout(timer);
    },
  };
}
