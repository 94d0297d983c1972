import type { Command } from 'commander';
import { registerDeadLetters } from './dead-letters.ts';
import { registerExport } from './export.ts';
import { exitCodesText } from './failure.ts';
import { registerQuery } from './query.ts';
import { registerStats } from './stats.ts';
import { registerTail } from './tail.ts';
import { registerVerify } from './verify.ts';

/** `customhouse audit …`: query, tail, stats and export are the API's reads; verify and dead-letters look into the stores. */
export function registerAudit(program: Command): void {
  const audit = program.command('audit')
    .description('read the audit log, and prove that nothing is missing')
    .addHelpText('after', `\nTables on a terminal, NDJSON when piped.\n${exitCodesText}`);
  registerQuery(audit);
  registerTail(audit);
  registerStats(audit);
  registerExport(audit);
  registerVerify(audit);
  registerDeadLetters(audit);
}
