import type { Command } from 'commander';
import { Option } from 'commander';
import type { AuditEvent } from '../../events/event.ts';
import type { ApiTarget, TargetOptions } from '../target.ts';
import { addTargetOptions, resolveTarget } from '../target.ts';
import type { Params } from './api-call.ts';
import { getJson } from './api-call.ts';
import { eventCells, eventColumns, usedColumns } from './event-table.ts';
import { settle } from './failure.ts';
import type { Screen } from './table.ts';
import { renderTable, tint } from './table.ts';
import { collect, countOption, timeOption } from './time.ts';

export type QueryOptions = TargetOptions & {
  filter?: string[]; from?: string; to?: string; order?: string; limit: number; all?: boolean; cursor?: string;
  workspace?: string; activity?: boolean; taskId?: string; eventType?: string; after?: string; json?: boolean; columns?: string;
};

type Page = { events: AuditEvent[]; cursor?: string };

/** The most one page may hold (contract 4.1). */
const pageRowsMax = 10_000;
/** Rows of one table; more would make the widths wait for all of them. */
const tableRows = 200;

/** Route and fixed parameters of a query; wrong combinations are told before anything is sent. */
export function queryRoute(options: QueryOptions): { path: string; params: Params } {
  const { workspace, activity, taskId, eventType, after, filter, from, to, order } = options;
  if (activity === true) {
    if (workspace === undefined) throw new Error('--activity: needs --workspace');
    if (filter !== undefined || from !== undefined || to !== undefined) throw new Error('--activity: takes --task-id, --event-type and --after in place of --filter, --from and --to');
    if (after !== undefined && options.cursor !== undefined) throw new Error('--after: not together with --cursor');
    return { path: `/workspaces/${encodeURIComponent(workspace)}/activity`, params: { task_id: taskId, event_type: eventType, after, order } };
  }
  if (taskId !== undefined || eventType !== undefined || after !== undefined) throw new Error('--task-id, --event-type and --after: only with --activity; use --filter task_id=… or event_type=…');
  return { path: workspace === undefined ? '/audit' : `/workspaces/${encodeURIComponent(workspace)}/audit`, params: { filter, from, to, order } };
}

/** Pages until `limit` rows are out or the log ends. `after` leaves the parameters with the first page: a cursor takes its place. */
export async function* pages(target: ApiTarget, options: QueryOptions, pageRows: number): AsyncGenerator<Page> {
  const { path, params } = queryRoute(options);
  let left = options.all === true ? Number.POSITIVE_INFINITY : options.limit;
  let cursor = options.cursor;
  while (left > 0) {
    const limit = Math.min(left, pageRows);
    const page = await getJson<Page>(target, path, { ...params, limit, cursor, ...(cursor === undefined ? {} : { after: undefined }) });
    left -= page.events.length;
    yield page;
    if (page.cursor === undefined) return;
    cursor = page.cursor;
  }
}

export async function runQuery(options: QueryOptions, screen: Screen): Promise<void> {
  const target = resolveTarget(options);
  const columns = eventColumns(options.columns);
  const asTable = screen.isTTY === true && options.json !== true;
  let shown = 0;
  let cursor: string | undefined;
  for await (const page of pages(target, options, asTable ? tableRows : pageRowsMax)) {
    cursor = page.cursor;
    shown += page.events.length;
    if (asTable && page.events.length > 0) {
      const used = usedColumns(columns, page.events);
      screen.write(renderTable(screen, used, page.events.map((event) => eventCells(used, event))));
    } else if (!asTable) {
      screen.write(page.events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    }
  }
  if (asTable) screen.write(tint(screen, 'dim', shown === 0 ? 'no rows\n' : `${shown} rows${cursor === undefined ? '' : `; more with --all, or --cursor ${cursor}`}\n`));
}

export function registerQuery(audit: Command): void {
  addTargetOptions(audit.command('query').description('pages of the audit log, newest first'))
    .option('--filter <filter>', 'col=v1,v2 or col!=v1,v2 or col!= (repeatable)', collect)
    .option('--from <time>', 'rows at or after this time, or this long ago (2h, 7d)', timeOption('--from'))
    .option('--to <time>', 'rows before this time', timeOption('--to'))
    .addOption(new Option('--order <order>', 'by time').choices(['asc', 'desc']))
    .option('--limit <n>', 'rows, over as many pages as it takes', countOption('--limit', Number.MAX_SAFE_INTEGER), 100)
    .option('--all', 'every row')
    .option('--cursor <cursor>', 'continue behind a page')
    .option('--workspace <id>', 'rows of one workspace')
    .option('--activity', 'with --workspace: its activity, oldest first')
    .option('--task-id <id>', 'with --activity: of one task')
    .option('--event-type <type>', 'with --activity: of one type')
    .option('--after <time>', 'with --activity: strictly after this time', timeOption('--after'))
    .option('--json', 'NDJSON also on a terminal')
    .option('--columns <names>', 'columns of the table, separated by commas')
    .action((options: QueryOptions) => settle(() => runQuery(options, process.stdout)));
}
