import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { AppError } from '../kernel/errors.ts';
import { registerAudit } from './audit/register.ts';
import { registerCaps } from './caps/register.ts';
import { registerDoctor } from './doctor/register.ts';
import { registerImport } from './import/register.ts';
import { endWithoutReader } from './lost-reader.ts';
import { registerMigrate } from './migrate.ts';
import { registerOrg } from './org.ts';
import { registerPolicy } from './policy.ts';
import { registerRoles } from './roles/register.ts';
import { registerToken } from './token.ts';
import { registerTrust } from './trust/register.ts';
import { registerUp } from './up/up.ts';

process.stdout.on('error', endWithoutReader);

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string };

const program = new Command('customhouse')
  .description('The customs post between software agents and the internet.')
  .version(version)
  .showHelpAfterError('(run with --help for the options)');

// One line per command group; each file says what its commands do and take.
registerUp(program);
registerRoles(program);
registerMigrate(program);
registerDoctor(program);
registerOrg(program);
registerToken(program);
registerImport(program);
registerAudit(program);
registerCaps(program, version);
registerPolicy(program);
registerTrust(program);

try {
  await program.parseAsync();
} catch (error) {
  // A person reads this: the message, not a stack. DEBUG=1 shows where it came from.
  const text = error instanceof AppError ? `${error.code}: ${error.message}` : error instanceof Error ? error.message : String(error);
  process.stderr.write(`customhouse: ${text}\n`);
  if (process.env['DEBUG'] !== undefined) console.error(error);
  process.exitCode = 1;
}
