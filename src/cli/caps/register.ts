import type { Command, CommanderError } from 'commander';
import { registerCases } from './cases/cases.ts';
import { registerExplain } from './explain/explain.ts';
import { registerFmt } from './fmt/fmt.ts';
import { registerSchema } from './schema.ts';
import { exitCodes, exitCodesText } from './usage.ts';
import { registerValidate } from './validate/validate.ts';

/** `customhouse caps …`: policies (`caps.yaml`) checked, explained, tested and formatted. None of it needs a stack. */
export function registerCaps(program: Command, version: string): void {
  const caps = program.command('caps')
    .description('check, explain, test and format policies (caps.yaml)')
    .addHelpText('after', `\n${exitCodesText}`)
    // Commands below inherit it. Elsewhere wrong usage is 1, which here means "problems found".
    .exitOverride((error: CommanderError) => process.exit(error.exitCode === 0 ? exitCodes.sound : exitCodes.usage));
  registerValidate(caps, version);
  registerExplain(caps);
  registerCases(caps);
  registerFmt(caps);
  registerSchema(caps);
}
