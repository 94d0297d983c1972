import type { Command } from 'commander';
import type { ImportOptions } from './run.ts';

/** Ctrl-C once: the chunk at hand is finished and the place is kept. Twice: the process ends, and the next run continues all the same. */
function interruptSignal(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}

/** `customhouse import FILE`: see run.ts for what it promises. */
export function registerImport(program: Command): void {
  program.command('import')
    .description('take rows in the API\'s JSON form, one to a line, through the whole pipeline')
    .argument('<file>', 'NDJSON file, or - for standard input')
    .option('--org <id>', 'org of all rows, in place of their own org_id')
    .option('--data-dir <dir>', 'data directory of the stack; also holds the state of the import', '.data')
    .option('--name <name>', 'name of the import, under which it is continued (default: of the file)')
    .option('--again', 'compare every row with the store and take those that are missing')
    .option('--no-wait', 'come back when everything is queued, before it is stored')
    .option('--rejected <file>', 'where rejected lines are listed (default: FILE.rejected.ndjson)')
    .addHelpText('after', '\nRun it again after any interruption: it continues and doubles nothing.\nExit codes: 0 all taken, 3 some lines rejected, 130 interrupted, 1 failed.')
    .action(async (file: string, options: ImportOptions) => {
      const { runImport } = await import('./run.ts');
      const { signal, release } = interruptSignal();
      try {
        process.exitCode = await runImport(file, options, { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }, signal);
      } finally {
        release();
      }
    });
}
