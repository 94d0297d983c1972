import type { Command } from 'commander';
import type { Screen } from '../../audit/table.ts';
import { plain, tint } from '../../audit/table.ts';
import { checkFile } from '../policy-file.ts';
import type { SourceFile } from '../source-file.ts';
import { readSource, textOf } from '../source-file.ts';
import type { Outcome } from '../usage.ts';
import { exitCodes, settle, UsageError } from '../usage.ts';
import { linesOf } from '../validate/excerpt.ts';
import { entry } from '../validate/human.ts';
import type { Canonical } from './canonical.ts';
import { canonical } from './canonical.ts';
import { replaceFile } from './replace-file.ts';

export type FmtOptions = { readonly check?: boolean; readonly stdout?: boolean };

export type FmtContext = { readonly screen: Screen; /** Where complaints go. */ readonly errorScreen: Screen };

const help = `
Keys in the order of the documentation, lists of rules, transforms and counters as blocks, two spaces a level, one empty line between
capabilities; comments are kept. The meaning is compared before anything is written. Files are replaced whole; - goes to standard output.
Exit codes: 0 formatted, 1 with --check: not formatted, 2 wrong usage, a file that cannot be read or is no YAML of a policy.`;

/** Formats each file. One that cannot be is told on standard error and left alone, the others are formatted all the same. */
export async function runFmt(names: readonly string[], options: FmtOptions, { screen, errorScreen }: FmtContext): Promise<Outcome> {
  const { check = false, stdout = false } = options;
  if (check && stdout) throw new UsageError('--check and --stdout do not go together');
  if (names.length > 1 && (stdout || names.includes('-'))) throw new UsageError('standard output takes one file: name one, or leave out --stdout and -');
  const said: string[] = [];
  const complaints: string[] = [];
  let unformatted = 0;
  for (const name of names) {
    try {
      const source = await readSource(name);
      const { before, after } = formatted(source, errorScreen);
      const same = before === after;
      if (!same) unformatted += 1;
      if (check) said.push(`${plain(name)}: ${same ? tint(screen, 'green', 'formatted') : tint(screen, 'red', 'not formatted')}\n`);
      else if (stdout || name === '-') said.push(after);
      else {
        if (!same) await replaceFile(name, after);
        said.push(`${plain(name)}: ${same ? 'unchanged' : 'formatted'}\n`);
      }
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      complaints.push(error.message);
    }
  }
  const code = complaints.length > 0 ? exitCodes.usage : check && unformatted > 0 ? exitCodes.problems : exitCodes.sound;
  return { code, output: said.join(''), complaints };
}

function formatted(source: SourceFile, screen: Screen): { readonly before: string; readonly after: string } {
  const { name } = source;
  const read = textOf(source);
  // JSON is YAML, but what would be written is not JSON.
  if (/\.json$/i.test(name)) throw new UsageError(`${plain(name)}: is JSON by its name, and the canonical form is YAML; see it with customhouse caps fmt - < ${plain(name)}`);
  const text = 'text' in read ? read.text : '';
  const result: Canonical = 'text' in read ? canonical(text) : { problems: checkFile(source).problems };
  if ('refused' in result) throw new UsageError(`${plain(name)}: left as it is: ${result.refused}`);
  if ('text' in result) return { before: text, after: result.text };
  const lines = linesOf(text);
  const entries = result.problems.map((problem) => entry(screen, name, problem, 'problem', lines));
  throw new UsageError(`${plain(name)}: left as it is, it cannot be read\n${entries.join('\n').trimEnd()}`);
}

export function registerFmt(caps: Command): void {
  caps.command('fmt').description('bring policies into canonical form, comments kept').argument('<file...>', 'policies; - is standard input')
    .option('--check', 'write nothing; exit with 1 when a file is not formatted')
    .option('--stdout', 'print the result, write nothing')
    .addHelpText('after', help)
    .action((names: string[], options: FmtOptions) => settle(() => runFmt(names, options, { screen: process.stdout, errorScreen: process.stderr })));
}
