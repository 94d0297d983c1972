import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Hole, LedgerReport, ProducerReport } from '../../../workers/ledger.ts';
import { verifyLedger } from '../../../workers/ledger.ts';
import type { Settings } from '../../config/settings.ts';
import type { WaitingBatches } from '../../journal/waiting-batches.ts';
import { readWaitingBatches } from '../../journal/waiting-batches.ts';
import { connectClickHouse } from '../../store/ch/connection.ts';
import { createAuditReader } from '../../store/ch/reader.ts';
import { connectPostgres } from '../../store/pg/connect.ts';
import { createLedgerReader } from '../../store/pg/ledger.ts';
import { createOutboxBatches } from '../../store/pg/outbox-batches.ts';
import { stackSettings } from '../org.ts';
import { defaultDataDir } from '../target.ts';
import { exitCodes, settle } from './failure.ts';
import type { Screen } from './table.ts';
import { renderTable, tint } from './table.ts';
import { collect } from './time.ts';

export type VerifyOptions = { dataDir: string; journal?: string[]; json?: boolean };

const statementMs = 600_000;
const pendingMax = 1_000_000;

/** The journals that can be seen from here: the proxy's, those of imports, and the ones that were named. */
export function journalDirs(options: VerifyOptions, settings: Settings): string[] {
  const dataDir = resolve(options.dataDir);
  const imports = join(dataDir, 'import');
  const named = (options.journal ?? []).map((dir) => {
    if (!existsSync(join(dir, 'journal.json'))) throw new Error(`--journal: ${dir} is not a journal`);
    return resolve(dir);
  });
  const found = [join(dataDir, 'journal', 'proxy'), resolve(settings.journalDir), ...(existsSync(imports) ? readdirSync(imports).map((name) => join(imports, name, 'journal')) : [])];
  return [...new Set([...named, ...found])];
}

async function readJournals(dirs: readonly string[]): Promise<WaitingBatches[]> {
  return (await Promise.all(dirs.map(readWaitingBatches))).filter((journal) => journal !== undefined);
}

/** The loss ledger of a deployment: stored + dead-lettered + in flight = accepted, per producer (design 5). */
export async function verify(options: VerifyOptions): Promise<{ report: LedgerReport; journals: readonly string[] }> {
  const settings = stackSettings(options.dataDir);
  const dirs = journalDirs(options, settings);
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 2, applicationName: 'customhouse-verify', statementTimeoutMs: statementMs });
  const clickhouse = connectClickHouse({ url: settings.clickhouseUrl, user: settings.clickhouseUser, password: settings.clickhousePassword, database: settings.clickhouseDatabase, cluster: settings.clickhouseCluster, connectionsMax: 2 });
  try {
    const reader = createAuditReader(clickhouse, { ...settings, queryTimeoutMs: statementMs, exportTimeoutMs: statementMs }, () => undefined);
    const outbox = createOutboxBatches(sql);
    const journals = new Set<string>();
    const report = await verifyLedger({
      ledger: createLedgerReader(sql, settings.retentionDays),
      stored: () => reader.producerLedger(),
      countBatchRows: (id, min, max) => reader.batchRowCount(id, min, max),
      accepted: async () => (await readJournals(dirs)).map(({ producer, sealedBatches }) => ({ producer, batches: sealedBatches })),
      inFlight: async () => {
        const waiting = await readJournals(dirs);
        for (const { producer } of waiting) journals.add(producer);
        return [...waiting.flatMap((journal) => journal.batches), ...await outbox.pending(pendingMax)];
      },
    });
    return { report, journals: [...journals] };
  } finally {
    await Promise.allSettled([clickhouse.close(), sql.end({ timeout: 5 })]);
  }
}

function holeText({ producer }: ProducerReport, hole: Hole): string {
  const range = hole.from === hole.to ? `batch ${hole.from}` : `batches ${hole.from} to ${hole.to}`;
  const rows = hole.expectedRows === undefined ? '' : `, ${hole.foundRows ?? 0} of ${hole.expectedRows} rows`;
  return `${producer}: ${hole.kind.replace('_', ' ')}: ${range}${hole.batchId === undefined ? '' : ` (${hole.batchId})`}${rows}`;
}

function reportTable(screen: Screen, { producers }: LedgerReport): string {
  const number = (value: number): string => value.toLocaleString('en-US');
  const columns = [
    { title: 'producer', widthMin: 8, widthMax: 60 },
    ...['batches', 'accepted', 'stored', 'dead letters', 'in flight'].map((title) => ({ title, right: true, widthMin: 6, widthMax: 20 })),
    { title: 'holes', right: true, widthMin: 5, widthMax: 8, tint: (cell: string) => (cell === '0' ? 'green' as const : 'red' as const) },
  ];
  return renderTable(screen, columns, producers.map((one) => [one.producer, number(one.acceptedBatches), number(one.acceptedRows), number(one.storedRows), number(one.deadRows), number(one.inFlightRows), number(one.holes.length)]));
}

export async function runVerify(options: VerifyOptions, screen: Screen): Promise<number> {
  const { report, journals } = await verify(options);
  const code = report.sound ? 0 : exitCodes.failed;
  if (screen.isTTY !== true || options.json === true) {
    screen.write(report.producers.map((producer) => `${JSON.stringify(producer)}\n`).join(''));
    return code;
  }
  if (report.producers.length === 0) {
    screen.write(tint(screen, 'dim', 'no batches yet\n'));
    return code;
  }
  screen.write(reportTable(screen, report));
  for (const producer of report.producers) {
    for (const hole of producer.holes) screen.write(`${tint(screen, 'red', holeText(producer, hole))}\n`);
    const unseen = producer.holes.some((hole) => hole.kind === 'lost') && /^(proxy|import):/.test(producer.producer) && !journals.includes(producer.producer);
    if (unseen) screen.write(`${producer.producer}: its journal is not on this machine; what waits there looks lost. Run this where it is, or name it with --journal.\n`);
  }
  screen.write(report.sound ? tint(screen, 'green', 'sound: stored + dead letters + in flight = accepted\n') : tint(screen, 'red', 'NOT sound\n'));
  return code;
}

export function registerVerify(audit: Command): void {
  audit.command('verify').description('prove per producer that stored + dead letters + in flight = accepted; exit code 1 and the holes by name where not')
    .option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment', defaultDataDir)
    .option('--journal <dir>', 'a journal of another proxy or import (repeatable)', collect)
    .option('--json', 'NDJSON also on a terminal')
    .action((options: VerifyOptions) => settle(() => runVerify(options, process.stdout)));
}
