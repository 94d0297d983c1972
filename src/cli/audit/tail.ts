import type { Command } from 'commander';
import type { AuditEvent } from '../../events/event.ts';
import type { TargetOptions } from '../target.ts';
import { addTargetOptions, resolveTarget } from '../target.ts';
import type { Params } from './api-call.ts';
import { eventCells, eventColumns } from './event-table.ts';
import { followStream } from './event-stream.ts';
import { settle } from './failure.ts';
import type { Screen } from './table.ts';
import { columnWidths, plain, tint } from './table.ts';
import { collect, countOption } from './time.ts';

export type TailOptions = TargetOptions & { filter?: string[]; workspace?: string; eventType?: string; taskId?: string; lastEventId?: string; count?: number; json?: boolean; columns?: string };

function streamRoute({ workspace, filter, eventType, taskId }: TailOptions): { path: string; params: Params } {
  if (workspace !== undefined) return { path: `/workspaces/${encodeURIComponent(workspace)}/activity/stream`, params: { filter, event_type: eventType, task_id: taskId } };
  if (eventType !== undefined || taskId !== undefined) throw new Error('--event-type and --task-id: only with --workspace; use --filter event_type=… or task_id=…');
  return { path: '/audit/stream', params: { filter } };
}

/** Lines of a table whose rows are not known yet: every column has its greatest width, shrunk to the screen once. */
function lineWriter(screen: Screen, names: string | undefined): (event: AuditEvent) => string {
  const columns = eventColumns(names);
  const widths = columnWidths(columns, [columns.map((column) => 'x'.repeat(column.widthMax))], screen.columns ?? 120);
  return (event) => eventCells(columns, event).map((cell, at) => {
    const width = widths[at] ?? 8;
    const clean = plain(cell);
    const text = (clean.length > width ? `${clean.slice(0, width - 1)}…` : clean).padEnd(width);
    const colour = columns[at]?.tint?.(clean);
    return colour === undefined ? text : tint(screen, colour, text);
  }).join('  ').trimEnd();
}

export async function runTail(options: TailOptions, screen: Screen, notes: Screen, signal: AbortSignal): Promise<void> {
  const target = resolveTarget(options);
  const { path, params } = streamRoute(options);
  const asLines = screen.isTTY === true && options.json !== true;
  const line = asLines ? lineWriter(screen, options.columns) : undefined;
  const onRetry = (why: string, pauseMs: number): void => void notes.write(`${why}; trying again in ${pauseMs} ms\n`);
  let left = options.count ?? Number.POSITIVE_INFINITY;
  for await (const { data } of followStream(target, path, params, { lastEventId: options.lastEventId, signal, onRetry })) {
    screen.write(line === undefined ? `${data}\n` : `${line(JSON.parse(data) as AuditEvent)}\n`);
    left -= 1;
    if (left <= 0) return;
  }
}

export function registerTail(audit: Command): void {
  addTargetOptions(audit.command('tail').description('rows as they are committed; reconnects without a gap'))
    .option('--filter <filter>', 'as for query (repeatable)', collect)
    .option('--workspace <id>', 'activity of one workspace')
    .option('--event-type <type>', 'with --workspace: of one type')
    .option('--task-id <id>', 'with --workspace: of one task')
    .option('--last-event-id <id>', 'begin behind this row instead of now')
    .option('--count <n>', 'end after so many rows', countOption('--count', Number.MAX_SAFE_INTEGER))
    .option('--json', 'NDJSON also on a terminal')
    .option('--columns <names>', 'columns of the lines, separated by commas')
    .action((options: TailOptions) => settle(async () => {
      const interrupted = new AbortController();
      process.once('SIGINT', () => interrupted.abort());
      process.once('SIGTERM', () => interrupted.abort());
      await runTail(options, process.stdout, process.stderr, interrupted.signal);
      // Rows may still wait for the reader of a pipe, and an exit would drop them.
      await new Promise<void>((written) => void process.stdout.write('', () => written()));
      // A connection that was left in the middle of a stream would keep the process for its keep-alive time.
      process.exit(0);
    }));
}
