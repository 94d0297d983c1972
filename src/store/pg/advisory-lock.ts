import { connectPostgres } from './connect.ts';
import type { PostgresOptions, Sql, Tx } from './connect.ts';

/** First key of every advisory lock of ours, so that they do not meet those of others in the same database. */
const space = 0x63757374;

/** One row per lock. */
export const locks = { migrate: 1, commit: 2, outbox: 3 } as const;

export type LockName = keyof typeof locks;

/** The connection broke and with it the lock: somebody else may hold it now. Nothing was written; try again. */
export class LockLostError extends Error {
  constructor(name: LockName) {
    super(`the ${name} lock was lost with its connection`);
    this.name = 'LockLostError';
  }
}

/** Waits for a lock that ends with the transaction. */
export async function lockInTransaction(tx: Tx, name: LockName): Promise<void> {
  await tx`select pg_advisory_xact_lock(${space}, ${locks[name]})`;
}

/**
 * A session that holds one advisory lock. It is a client of its own with a single connection rather than a reserved one of the pool:
 * after a lost connection the driver hands a reserved one to others, and reconnects without a word, so the lock would be gone unseen.
 * `assertHeld` inside a transaction is what makes the work after it safe.
 */
export type LockSession = {
  readonly sql: Sql;
  /** Waits for the lock, runs `work`, releases it. Callers of one session take turns. */
  exclusively<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Takes the lock, and keeps it until `close` or a lost connection; true when this session holds it afterwards. */
  tryHold(): Promise<boolean>;
  /** Throws LockLostError unless the connection of `tx` holds the lock. */
  assertHeld(tx: Tx): Promise<void>;
  close(): Promise<void>;
};

export function createLockSession(options: Omit<PostgresOptions, 'poolMax'>, name: LockName): LockSession {
  const key = locks[name];
  const sql = connectPostgres({ ...options, poolMax: 1, applicationName: `${options.applicationName} ${name}` });
  let turn: Promise<unknown> = Promise.resolve();

  async function holds(query: Sql | Tx): Promise<boolean> {
    const [row] = await query<{ held: boolean }[]>`
      select exists (select from pg_locks where locktype = 'advisory' and granted and pid = pg_backend_pid() and classid = ${space} and objid = ${key}
        and database = (select oid from pg_database where datname = current_database())) as held`;
    return row?.held ?? false;
  }

  async function locked<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    await sql`select pg_advisory_lock(${space}, ${key})`;
    try {
      return await work(sql);
    } finally {
      // When the connection broke meanwhile this gives false on the new one, which is right: the server released the lock.
      await sql`select pg_advisory_unlock(${space}, ${key})`.catch(() => endSession());
    }
  }

  /** An unlock that failed on a live connection would leave the lock held for ever; a session that ends lets go of everything. */
  async function endSession(): Promise<void> {
    await sql`select pg_terminate_backend(pg_backend_pid())`.catch(() => undefined);
  }

  return {
    sql,
    exclusively: <T>(work: (sql: Sql) => Promise<T>) => {
      const mine = turn.then(() => locked(work));
      turn = mine.catch(() => undefined);
      return mine;
    },
    async tryHold() {
      if (await holds(sql)) return true;
      const [row] = await sql<{ got: boolean }[]>`select pg_try_advisory_lock(${space}, ${key}) as got`;
      return row?.got ?? false;
    },
    async assertHeld(tx) {
      if (!await holds(tx)) throw new LockLostError(name);
    },
    close: () => sql.end({ timeout: 2 }),
  };
}
