import type { Command } from 'commander';
import { Option } from 'commander';
import type { KnownNames } from '../../../policy/known-names.ts';
import type { Screen } from '../../audit/table.ts';
import type { CheckedFile } from '../policy-file.ts';
import { checkFile } from '../policy-file.ts';
import { readSource } from '../source-file.ts';
import type { Outcome } from '../usage.ts';
import { exitCodes, settle, UsageError } from '../usage.ts';
import { githubReport } from './github.ts';
import { humanReport } from './human.ts';
import { jsonReport } from './json.ts';
import { sarifReport } from './sarif.ts';

const formats = ['human', 'json', 'sarif', 'github'] as const;

export type ValidateOptions = {
  readonly format: (typeof formats)[number];
  readonly strict?: boolean;
  /** Without these, no name is unknown. */
  readonly secret?: readonly string[];
  readonly credential?: readonly string[];
};

function knownNames({ secret, credential }: ValidateOptions): KnownNames {
  return { ...(secret === undefined ? {} : { secrets: new Set(secret) }), ...(credential === undefined ? {} : { credentials: new Set(credential) }) };
}

/** Checks each file. One that cannot be read is told on standard error, the others are reported all the same. */
export async function runValidate(names: readonly string[], options: ValidateOptions, context: { readonly screen: Screen; readonly version: string }): Promise<Outcome> {
  if (names.filter((name) => name === '-').length > 1) throw new UsageError('standard input (-) can be read once only');
  const known = knownNames(options);
  const files: CheckedFile[] = [];
  const unreadable: string[] = [];
  for (const name of names) {
    try {
      files.push(checkFile(await readSource(name), known));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      unreadable.push(error.message);
    }
  }
  const bad = files.some(({ problems, warnings }) => problems.length > 0 || (options.strict === true && warnings.length > 0));
  const code = unreadable.length > 0 ? exitCodes.usage : bad ? exitCodes.problems : exitCodes.sound;
  return { code, output: report(files, options, { ...context, unreadable }), complaints: unreadable };
}

function report(files: readonly CheckedFile[], { format }: ValidateOptions, { screen, version, unreadable }: { readonly screen: Screen; readonly version: string; readonly unreadable: readonly string[] }): string {
  switch (format) {
    case 'human': return humanReport(screen, files);
    case 'json': return jsonReport(files);
    case 'sarif': return sarifReport(files, { version, unreadable });
    case 'github': return githubReport(files);
  }
}

export function collect(value: string, list: readonly string[] = []): readonly string[] {
  return [...list, value];
}

export function registerValidate(caps: Command, version: string): void {
  caps.command('validate').description('check policies; everything wrong is said at once, with its place').argument('<file...>', 'policies; - is standard input')
    .addOption(new Option('--format <format>', 'how to report').choices(formats).default('human'))
    .option('--strict', 'warnings fail too')
    .option('--secret <name>', 'a secret that exists (repeatable): others are warned about', collect)
    .option('--credential <name>', 'a credential that exists (repeatable): others are warned about', collect)
    .action((names: string[], options: ValidateOptions) => settle(() => runValidate(names, options, { screen: process.stdout, version })));
}
