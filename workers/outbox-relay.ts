import type { BatchSource } from '../src/queue/batch.ts';
import { compressLines } from '../src/queue/payload.ts';
import type { LockSession } from '../src/store/pg/advisory-lock.ts';
import type { Sql } from '../src/store/pg/connect.ts';
import type { OutboxBatches } from '../src/store/pg/outbox-batches.ts';
import { cutOutboxBatch } from '../src/store/pg/outbox-batches.ts';

/** A process that does not hold the lock asks for it this often; so long an outbox may wait after its relay was killed. */
const takeoverMs = 1_000;

export type OutboxRelayDeps = {
  readonly sql: Sql;
  /** Session of the outbox lock; closed by `stop`. */
  readonly session: LockSession;
  readonly batches: OutboxBatches;
  /** Pause between two looks, and the least time between two cuts: it bounds the number of small batches. */
  readonly pollMs: number;
  readonly rowsMax?: number;
  readonly bytesMax?: number;
  /** There is a new batch in `source`. */
  readonly onCut: () => void;
  readonly onError: (error: unknown) => void;
};

export type OutboxRelay = {
  /** Empty on a process that does not hold the lock: one relay ships. */
  readonly source: BatchSource;
  readonly leading: () => boolean;
  stop(): Promise<void>;
};

/**
 * Cuts the outbox into batches: at once when a mutation commits (NOTIFY), and by polling, since notices are lost with a connection.
 * One process at a time does it, the holder of the outbox lock. Crash points are those of `cutOutboxBatch`: before its commit nothing
 * has happened, after it the batch is a source of its own.
 */
export function startOutboxRelay(deps: OutboxRelayDeps): OutboxRelay {
  const { sql, session, batches, pollMs, rowsMax = 10_000, bytesMax = 8 * 1_048_576 } = deps;
  let leading = false;
  let stopped = false;
  let noticed = false;
  let listening: { unlisten: () => Promise<void> } | undefined;
  let wake: () => void = () => undefined;

  async function pause(ms: number, until: 'notice' | 'stop'): Promise<void> {
    if (stopped || (until === 'notice' && noticed)) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        if (!stopped && until === 'stop') return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Cuts until the outbox is empty; true when it cut anything. */
  async function cutAll(): Promise<boolean> {
    leading ||= await session.tryHold();
    if (!leading) return false;
    listening ??= await sql.listen('audit_outbox', () => {
      noticed = true;
      wake();
    });
    for (let cut = 0; ; cut += 1) {
      const batch = stopped ? undefined : await cutOutboxBatch(session, { rowsMax, bytesMax }, compressLines);
      if (batch === undefined) return cut > 0;
      deps.onCut();
      // Neither limit was reached: it took all there was, and what came meanwhile waits for company.
      if (batch.rows < rowsMax && batch.bytes < bytesMax / 100) return true;
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      noticed = false;
      try {
        const cut = await cutAll();
        if (cut) await pause(pollMs, 'stop');
        else await pause(leading ? pollMs : takeoverMs, 'notice');
      } catch (error) {
        leading = false;
        deps.onError(error);
        await pause(takeoverMs, 'stop');
      }
    }
  }
  const running = run();

  return {
    source: {
      pending: async (limit) => (leading ? batches.pending(limit) : []),
      load: (id) => batches.load(id),
      confirm: (id) => batches.confirm(id),
    },
    leading: () => leading,
    async stop() {
      stopped = true;
      wake();
      await running;
      leading = false;
      await listening?.unlisten().catch(deps.onError);
      await session.close();
    },
  };
}
