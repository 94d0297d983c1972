import type { Command } from 'commander';
import { replayDeadLetters } from '../../../workers/replay.ts';
import { connectPostgres } from '../../store/pg/connect.ts';
import type { DeadLetter, DeadLetterStore } from '../../store/pg/dead-letters.ts';
import { createDeadLetterStore } from '../../store/pg/dead-letters.ts';
import { stackSettings } from '../org.ts';
import { defaultDataDir } from '../target.ts';
import { exitCodes, settle } from './failure.ts';
import type { Screen } from './table.ts';
import { renderTable, tint } from './table.ts';
import { countOption } from './time.ts';

type StoreOptions = { dataDir: string };
export type ListOptions = StoreOptions & { all?: boolean; limit: number; json?: boolean };
export type ReplayOptions = StoreOptions & { all?: boolean };

const pageLetters = 1000;

async function withDeadLetters<T>(options: StoreOptions, work: (deadLetters: DeadLetterStore) => Promise<T>): Promise<T> {
  const sql = connectPostgres({ url: stackSettings(options.dataDir).postgresUrl, poolMax: 1, applicationName: 'customhouse-dead-letters' });
  try {
    return await work(createDeadLetterStore(sql));
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function letters(deadLetters: DeadLetterStore, options: ListOptions): Promise<DeadLetter[]> {
  const found: DeadLetter[] = [];
  while (found.length < options.limit) {
    const page = await deadLetters.list({ afterId: found.at(-1)?.id ?? 0, limit: Math.min(pageLetters, options.limit - found.length), waitingOnly: options.all !== true });
    found.push(...page);
    if (page.length === 0) break;
  }
  return found;
}

/** The refused line as text: bytes that are not UTF-8 are what it may have been refused for. */
function letterJson({ line, ...letter }: DeadLetter): string {
  return `${JSON.stringify({ ...letter, line: line.toString('utf8') })}\n`;
}

function letterTable(screen: Screen, found: readonly DeadLetter[]): string {
  const columns = [
    { title: 'id', right: true, widthMin: 4, widthMax: 12 },
    { title: 'since (UTC)', widthMin: 19, widthMax: 19 },
    { title: 'producer', widthMin: 8, widthMax: 40 },
    { title: 'batch:line', widthMin: 10, widthMax: 20 },
    { title: 'replayed', widthMin: 3, widthMax: 19 },
    { title: 'code', widthMin: 4, widthMax: 10 },
    { title: 'error', widthMin: 20, widthMax: 200 },
  ];
  return renderTable(screen, columns, found.map((letter) => [
    String(letter.id), letter.createdAt.slice(0, 19).replace('T', ' '), letter.producer, `${letter.batchNo}:${letter.lineNo}`, letter.replayedAt?.slice(0, 19).replace('T', ' ') ?? '', letter.errorCode, letter.error,
  ]));
}

export async function runList(options: ListOptions, screen: Screen): Promise<void> {
  const found = await withDeadLetters(options, (deadLetters) => letters(deadLetters, options));
  if (screen.isTTY !== true || options.json === true) screen.write(found.map(letterJson).join(''));
  else screen.write(found.length === 0 ? tint(screen, 'dim', 'no dead letters\n') : letterTable(screen, found));
}

export async function runReplay(ids: readonly string[], options: ReplayOptions, screen: Screen): Promise<number> {
  if ((ids.length === 0) === (options.all !== true)) throw new Error('dead-letters replay: give the ids to send again, or --all');
  const numbers = ids.map(countOption('dead-letters replay', Number.MAX_SAFE_INTEGER));
  const result = await withDeadLetters(options, (deadLetters) => replayDeadLetters(deadLetters, options.all === true ? undefined : numbers));
  for (const { id, problem } of result.problems) screen.write(`${id}: stays: ${problem}\n`);
  const missing = options.all === true ? 0 : new Set(numbers).size - result.replayed - result.problems.length;
  if (missing > 0) screen.write(`${missing} of these are no waiting dead letters\n`);
  screen.write(`${result.replayed} sent again${result.replayed > 0 ? ' as producer replay; what is refused again comes back as a dead letter' : ''}\n`);
  return result.problems.length > 0 || missing > 0 ? exitCodes.failed : 0;
}

export function registerDeadLetters(audit: Command): void {
  const group = audit.command('dead-letters').description('rows that ClickHouse refused');
  group.command('list', { isDefault: true }).description('the rows that wait, oldest first')
    .option('--all', 'also those that were sent again')
    .option('--limit <n>', 'at most so many', countOption('--limit', 1_000_000), 100)
    .option('--json', 'NDJSON with the refused lines also on a terminal')
    .option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment', defaultDataDir)
    .action((options: ListOptions) => settle(() => runList(options, process.stdout)));
  group.command('replay').description('send rows through the pipeline again, once each').argument('[ids...]', 'ids as listed')
    .option('--all', 'every row that waits')
    .option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment', defaultDataDir)
    .action((ids: string[], options: ReplayOptions) => settle(() => runReplay(ids, options, process.stdout)));
}
