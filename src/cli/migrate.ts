import { join } from 'node:path';
import type { Command } from 'commander';
import type { Settings } from '../config/settings.ts';
import { connectClickHouse } from '../store/ch/connection.ts';
import { migrateClickHouse } from '../store/ch/migrate.ts';
import { createLockSession } from '../store/pg/advisory-lock.ts';
import { connectPostgres } from '../store/pg/connect.ts';
import { migratePostgres } from '../store/pg/migrate.ts';
import { stackSettings } from './org.ts';

export type MigrationLine = { store: 'postgres' | 'clickhouse'; name: string; state: 'present' | 'applied' | 'pending' };

const root = join(import.meta.dirname, '../..');

/** Brings both stores up to the files in `sql/` and `clickhouse/`; with `dryRun` it only says what it would do. */
export async function migrate(settings: Settings, options: { dryRun: boolean }): Promise<MigrationLine[]> {
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 2, applicationName: 'customhouse-migrate' });
  const clickhouse = connectClickHouse({ url: settings.clickhouseUrl, user: settings.clickhouseUser, password: settings.clickhousePassword, database: settings.clickhouseDatabase, cluster: settings.clickhouseCluster });
  // ClickHouse has no locks: Postgres keeps a second migrator out of it, for as long as the first one takes.
  const lock = createLockSession({ url: settings.postgresUrl, applicationName: 'customhouse-migrate', statementTimeoutMs: 600_000 }, 'migrate');
  try {
    const lines: MigrationLine[] = (await migratePostgres(sql, { dir: join(root, 'sql'), dryRun: options.dryRun })).map((line) => ({ store: 'postgres', ...line }));
    const rows = await migrateClickHouse(clickhouse, {
      dir: join(root, 'clickhouse'),
      dryRun: options.dryRun,
      withLock: (work) => lock.exclusively(work),
    });
    return [...lines, ...rows.map((line): MigrationLine => ({ store: 'clickhouse', ...line }))];
  } finally {
    await clickhouse.close();
    await lock.close();
    await sql.end({ timeout: 5 });
  }
}

/** `customhouse migrate [--dry-run]`. */
export function registerMigrate(program: Command): void {
  program.command('migrate')
    .description('bring Postgres and ClickHouse up to this version')
    .option('--dry-run', 'only say what would be done')
    .option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment', '.data')
    .action(async (options: { dryRun?: boolean; dataDir: string }) => {
      const lines = await migrate(stackSettings(options.dataDir), { dryRun: options.dryRun === true });
      for (const line of lines) console.log(`${line.store.padEnd(11)}${line.name.padEnd(40)}${line.state}`);
    });
}
