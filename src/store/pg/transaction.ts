import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql, Tx } from './connect.ts';
import { isPostgresUnavailable } from './errors.ts';

/** Time that a broken connection may take to be reported as closed. */
const closeMs = 1_000;

/**
 * A transaction whose statements stop when it does. The driver (postgres 3.4.9) rejects `begin` when the connection breaks, but lets the
 * callback go on: its next statement, and the driver's own `rollback` or `commit` at its end, run on the connection made anew, outside
 * of any transaction or within somebody else's. So every transaction is begun here: once the connection is lost, a statement is neither
 * sent nor settled, the callback never ends, and the garbage collector takes both. The caller has the rejection of `begin` by then.
 */
export async function transaction<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  let isLost = false;
  let loss: () => void = () => undefined;
  const lost = new Promise<void>((resolve) => (loss = resolve));
  const never = new Promise<never>(() => undefined);

  const guarded = (tx: Tx): Tx => new Proxy(tx, {
    apply: (target, self, args: unknown[]) => (isLost && isStatement(args) ? neverSent() : (Reflect.apply(target, self, args) as unknown)),
    get: (target, name) => (isLost && name === 'unsafe' ? neverSent : (Reflect.get(target, name) as unknown)),
  });
  /** Stands for a query: may be awaited, or executed early. */
  function neverSent(): Promise<never> & { execute: () => Promise<never> } {
    return Object.assign(new Promise<never>(() => undefined), { execute: () => never });
  }

  const running = sql.begin(async (tx) => {
    try {
      return { value: await work(guarded(tx)) };
    } catch (error) {
      // The statement in flight may hear of the loss before `begin` does.
      if (isPostgresUnavailable(error)) await Promise.race([lost, sleep(closeMs)]);
      throw error;
    } finally {
      if (isLost) await never;
    }
  });
  running.catch(() => {
    isLost = true;
    loss();
  });
  return (await running as { value: T }).value;
}

/** A tagged template is a statement; anything else makes a fragment of one. */
function isStatement([first]: unknown[]): boolean {
  return Array.isArray(first) && 'raw' in first;
}
