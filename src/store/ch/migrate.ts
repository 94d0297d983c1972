import type { MigrationState } from '../pg/migrate.ts';
import type { MigrationFile } from '../pg/migration-files.ts';
import { MigrationError, readMigrations } from '../pg/migration-files.ts';
import type { ClickHouse } from './connection.ts';
import { clickHouseCode } from './errors.ts';
import { renderMigration } from './migration-template.ts';

export type ClickHouseMigrationOptions = {
  readonly dir: string;
  readonly dryRun?: boolean;
  /**
   * Runs `work` while no other migrator runs: ClickHouse has no locks, so the caller lends one (Postgres' `migrate` lock).
   */
  readonly withLock: <T>(work: () => Promise<T>) => Promise<T>;
};

/** As for Postgres, with the statements that ran or would run. */
export type ClickHouseMigrationState = MigrationState & { readonly statements: readonly string[] };

type AppliedRow = { number: number; name: string; checksum: string };

const unknownTable = 60;
const unknownDatabase = 81;

const ledgerDdl = `CREATE TABLE IF NOT EXISTS {{database}}.schema_migrations {{on_cluster}}
  (number UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3)) ENGINE = {{engine MergeTree}} ORDER BY number`;

async function appliedRows(clickhouse: ClickHouse): Promise<AppliedRow[]> {
  try {
    const result = await clickhouse.client.query({ query: `SELECT DISTINCT number, name, checksum FROM \`${clickhouse.database}\`.schema_migrations ORDER BY number`, format: 'JSONEachRow' });
    return await result.json<AppliedRow>();
  } catch (error) {
    const code = clickHouseCode(error);
    if (code === unknownTable || code === unknownDatabase) return [];
    throw error;
  }
}

function checkApplied(files: readonly MigrationFile[], applied: readonly AppliedRow[]): void {
  for (const row of applied) {
    const file = files[row.number - 1];
    if (file === undefined) throw new MigrationError(`ClickHouse has ${row.name}, which this version does not know: it was migrated by a newer one`);
    if (file.name !== row.name) throw new MigrationError(`${file.name}: number ${row.number} was applied as ${row.name}`);
    if (file.checksum !== row.checksum) throw new MigrationError(`${file.name} was changed after it was applied; put it back and write a new migration`);
  }
}

async function run(clickhouse: ClickHouse, query: string): Promise<void> {
  const clustered = clickhouse.cluster === undefined ? {} : { distributed_ddl_task_timeout: '180' };
  await clickhouse.client.command({ query, clickhouse_settings: { wait_end_of_query: 1, ...clustered } });
}

async function apply(clickhouse: ClickHouse, file: MigrationFile, statements: readonly string[]): Promise<void> {
  try {
    for (const statement of statements) await run(clickhouse, statement);
  } catch (error) {
    throw new MigrationError(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  await clickhouse.client.insert({
    table: `\`${clickhouse.database}\`.schema_migrations`,
    columns: ['number', 'name', 'checksum'],
    values: [{ number: file.number, name: file.name, checksum: file.checksum }],
    format: 'JSONEachRow',
    clickhouse_settings: { async_insert: 0, wait_end_of_query: 1 },
  });
}

/**
 * Brings the audit schema up to the files in `dir`. With `dryRun` it changes nothing and says what would run.
 *
 * Crash points: ClickHouse has no transactions, so a crash between two statements, or between the last one and the ledger row, leaves
 * the file half applied and not recorded. The next run applies the whole file again; therefore every statement of a file must be one
 * that may run twice (IF [NOT] EXISTS), which a test holds.
 *
 * @throws MigrationError when an applied file was changed, renamed or is gone, when numbers have a gap, or a statement fails
 */
export async function migrateClickHouse(clickhouse: ClickHouse, options: ClickHouseMigrationOptions): Promise<ClickHouseMigrationState[]> {
  const files = (await readMigrations(options.dir)).map((file) => ({ file, statements: renderMigration(file.name, file.text, clickhouse) }));
  const plan = async () => {
    const applied = await appliedRows(clickhouse);
    checkApplied(files.map(({ file }) => file), applied);
    const done = new Set(applied.map((row) => row.number));
    return files.map(({ file, statements }) => ({ file, statements, present: done.has(file.number) }));
  };
  if (options.dryRun === true) return (await plan()).map(({ file, statements, present }) => ({ name: file.name, state: present ? 'present' : 'pending', statements }));
  return options.withLock(async () => {
    for (const statement of renderMigration('schema_migrations', `CREATE DATABASE IF NOT EXISTS {{database}} {{on_cluster}}; ${ledgerDdl}`, clickhouse)) await run(clickhouse, statement);
    const states: ClickHouseMigrationState[] = [];
    for (const { file, statements, present } of await plan()) {
      if (!present) await apply(clickhouse, file, statements);
      states.push({ name: file.name, state: present ? 'present' : 'applied', statements });
    }
    return states;
  });
}
