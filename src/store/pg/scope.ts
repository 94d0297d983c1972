import type { Sql, Tx } from './connect.ts';
import { seesEveryOrg } from './connect.ts';
import { asAppError } from './errors.ts';
import { transaction } from './transaction.ts';

const everyOrg = '*';

async function scoped<T>(sql: Sql, scope: string, work: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return await transaction(sql, async (tx) => {
      // Sent without waiting, so that the work's first statement follows in the same packet; were it to fail, the work would see no row.
      const scopeSet = tx`select set_config('app.org_id', ${scope}, true)`.execute();
      const [, value] = await Promise.all([scopeSet, work(tx)]);
      return value;
    });
  } catch (error) {
    throw asAppError(error);
  }
}

/**
 * Runs `work` in a transaction that row-level security confines to one org (sql/001_tenants.sql). Every query in it still names the
 * org itself: this is the second guard. Throws `dependency_unavailable` when Postgres does not answer.
 */
export function inOrg<T>(sql: Sql, orgId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (orgId === everyOrg || orgId === '') throw new RangeError('inOrg needs the id of one org');
  return scoped(sql, orgId, work);
}

/**
 * The same over all orgs: for look-ups that come before the org is known (a key's prefix, a user's memberships) and background work. On a
 * pool that sees every org anyway the work runs without a transaction, a round trip in place of three: give such a pool to readers only.
 */
export async function acrossOrgs<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (!seesEveryOrg(sql)) return scoped(sql, everyOrg, work);
  try {
    return await work(sql as unknown as Tx);
  } catch (error) {
    throw asAppError(error);
  }
}

/** False when the role is a superuser or has BYPASSRLS: the second guard is then off, and whoever runs the service should know. */
export async function rowSecurityBinds(sql: Sql): Promise<boolean> {
  const [role] = await sql<{ binds: boolean }[]>`select not (rolsuper or rolbypassrls) as binds from pg_roles where rolname = current_user`;
  return role?.binds ?? false;
}
