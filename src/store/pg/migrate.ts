import { lockInTransaction } from './advisory-lock.ts';
import type { Sql, Tx } from './connect.ts';
import { transaction } from './transaction.ts';
import { MigrationError, readMigrations } from './migration-files.ts';
import type { MigrationFile } from './migration-files.ts';

/** `present`: applied by an earlier run; `applied`: by this one; `pending`: would be applied (dry run). */
export type MigrationState = { readonly name: string; readonly state: 'present' | 'applied' | 'pending' };

type AppliedRow = { number: number; name: string; checksum: string };

/**
 * Brings the schema up to the files in `dir`. All pending files run in one transaction under an advisory lock, so that two migrators
 * at once apply each file once, and a file that fails leaves nothing behind. With `dryRun` it only says what would be done.
 *
 * Throws MigrationError when an applied file was changed, renamed or is gone, and when numbers have a gap.
 */
export async function migratePostgres(sql: Sql, options: { dir: string; dryRun?: boolean }): Promise<MigrationState[]> {
  const files = await readMigrations(options.dir);
  if (options.dryRun === true) {
    const [table] = await sql<{ exists: boolean }[]>`select to_regclass('schema_migrations') is not null as exists`;
    const applied = table?.exists === true ? await sql<AppliedRow[]>`select number, name, checksum from schema_migrations order by number` : [];
    return plan(files, applied).map(({ file, present }) => ({ name: file.name, state: present ? 'present' : 'pending' }));
  }
  return transaction(sql, (tx) => migrate(tx, files));
}

async function migrate(tx: Tx, files: readonly MigrationFile[]): Promise<MigrationState[]> {
  // A migration may take longer than any query of the service, and the wait for another migrator too.
  await tx`select set_config('statement_timeout', '600s', true), set_config('app.org_id', '*', true)`;
  await lockInTransaction(tx, 'migrate');
  await tx`create table if not exists schema_migrations (
    number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`;
  const applied = await tx<AppliedRow[]>`select number, name, checksum from schema_migrations order by number`;
  const states: MigrationState[] = [];
  for (const { file, present } of plan(files, applied)) {
    if (!present) await apply(tx, file);
    states.push({ name: file.name, state: present ? 'present' : 'applied' });
  }
  return states;
}

async function apply(tx: Tx, file: MigrationFile): Promise<void> {
  try {
    await tx.unsafe(file.text);
  } catch (error) {
    throw new MigrationError(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  await tx`insert into schema_migrations (number, name, checksum) values (${file.number}, ${file.name}, ${file.checksum})`;
}

function plan(files: readonly MigrationFile[], applied: readonly AppliedRow[]): { file: MigrationFile; present: boolean }[] {
  const rows = new Map(applied.map((row) => [row.number, row]));
  const newest = files.at(-1)?.number ?? 0;
  const unknown = applied.find((row) => row.number > newest);
  if (unknown !== undefined) throw new MigrationError(`the database has ${unknown.name}, which this version does not know: it was migrated by a newer one`);
  return files.map((file) => {
    const row = rows.get(file.number);
    if (row === undefined) return { file, present: false };
    if (row.name !== file.name) throw new MigrationError(`${file.name}: number ${file.number} was applied as ${row.name}`);
    if (row.checksum !== file.checksum) throw new MigrationError(`${file.name} was changed after it was applied; put it back and write a new migration`);
    return { file, present: true };
  });
}
