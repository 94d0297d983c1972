import { join } from 'node:path';
import { connectPostgres } from '../../../src/store/pg/connect.ts';
import type { Sql } from '../../../src/store/pg/connect.ts';
import { migratePostgres } from '../../../src/store/pg/migrate.ts';
import type { Stack, Teardown } from '../../support/stack.ts';

export const migrationsDir = join(import.meta.dirname, '../../../sql');

/** A pool on the stack's migrated database, closed when the test ends. */
export async function openDatabase(t: Teardown, stack: Stack, poolMax = 6): Promise<Sql> {
  const sql = connectPostgres({ url: stack.postgresUrl, poolMax, applicationName: 'test' });
  t.teardown(() => sql.end({ timeout: 1 }));
  await migratePostgres(sql, { dir: migrationsDir });
  return sql;
}
