import type { Command } from 'commander';
import { Option } from 'commander';
import type { Problem } from '../../../policy/problem.ts';
import type { Screen } from '../../audit/table.ts';
import { plain } from '../../audit/table.ts';
import { onlyOneStdin } from '../explain/request-options.ts';
import type { CheckedFile } from '../policy-file.ts';
import { checkFile } from '../policy-file.ts';
import type { SourceFile } from '../source-file.ts';
import { readSource, textOf } from '../source-file.ts';
import type { Outcome } from '../usage.ts';
import { exitCodes, settle, UsageError } from '../usage.ts';
import { linesOf } from '../validate/excerpt.ts';
import { counted, entry } from '../validate/human.ts';
import { problemJson } from '../validate/json.ts';
import { readCases } from './read-cases.ts';
import { humanCases, jsonCases } from './report.ts';
import type { CaseResult } from './run-case.ts';
import { runCase } from './run-case.ts';

const formats = ['human', 'json'] as const;

export type CasesOptions = { readonly format: (typeof formats)[number] };

const help = `
CASES.yaml is a list of requests and what must become of them; what expect leaves out is not looked at:
  - name: a comment                        # each name once
    request:
      method: POST
      url: https://api.github.com/repos/acme/widgets/issues/7/comments
      headers: {content-type: application/json}        # a list for a header that is there several times
      json: {body: Reproduced on main.}                # or body: a text
      workspace: {role: triage, environment: staging, id: w-1, org_id: o-1}
      task: t-1
    expect:
      decision: allow
      capability: github-write
      rule: comment                        # allow[0] for one without a name
      sent: {headers: {authorization: Bearer «credential:github-writer», cookie: null}, json: {body: …}}   # also path, query, body
      transforms_failed: {}                # all of them: {id: apply_error}
      counters: {writes: 1}                # what is taken before the request leaves
  - name: nobody deletes
    request: {method: DELETE, url: 'https://api.github.com/repos/acme/widgets'}
    expect: {decision: deny, reason: no_match, check: method}   # or refused: path_dot_segment
Rules that no case is admitted by are named at the end.
Exit codes: 0 all pass; 1 some fail, or one of the files has problems; 2 wrong usage, unreadable files included.`;

/** Runs a table of cases against a policy. With problems in either file, none is run and all of them are told. */
export async function runCases(name: string, casesName: string, { format }: CasesOptions, { screen }: { readonly screen: Screen }): Promise<Outcome> {
  onlyOneStdin([name, casesName]);
  const file = checkFile(await readSource(name));
  const source = await readSource(casesName);
  const text = casesText(source);
  const { cases, problems } = readCases(text);
  const { policy } = file;
  if (policy === undefined || problems.length > 0) {
    const found = { policy: file, cases: { file: casesName, text, problems } };
    return { code: exitCodes.problems, output: format === 'human' ? humanProblems(screen, found) : written(problemsJson(found)) };
  }
  const results: CaseResult[] = [];
  for (const one of cases) results.push(await runCase(policy, one));
  const report = { file: name, casesFile: casesName, results, rules: policy.rules };
  const bad = results.some(({ differences }) => differences.length > 0);
  return { code: bad ? exitCodes.problems : exitCodes.sound, output: format === 'human' ? humanCases(screen, report) : written(jsonCases(report)) };
}

function casesText(source: SourceFile): string {
  const read = textOf(source);
  if ('badAt' in read) throw new UsageError(`${plain(source.name)}: not UTF-8 text (byte ${read.badAt + 1})`);
  return read.text;
}

type Found = { readonly policy: CheckedFile; readonly cases: { readonly file: string; readonly text: string; readonly problems: readonly Problem[] } };

function humanProblems(screen: Screen, { policy, cases }: Found): string {
  const parts = [policy, cases].filter(({ problems }) => problems.length > 0).map(({ file, text, problems }) => {
    const lines = linesOf(text);
    return `${problems.map((problem) => `${entry(screen, file, problem, 'problem', lines)}\n`).join('')}${plain(file)}: ${counted(problems.length, 'problem')}\n`;
  });
  return `${parts.join('\n')}no case was run\n`;
}

/** The same keys as of a table that was run, so that a reader needs no second form. */
function problemsJson({ policy, cases }: Found): object {
  const problems = [policy, cases].flatMap(({ file, problems: found }) => found.map((problem) => ({ file, ...problemJson(problem) })));
  return { file: policy.file, cases_file: cases.file, problems, passed: 0, failed: 0, cases: [], coverage: null };
}

function written(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export function registerCases(caps: Command): void {
  caps.command('test').description('run a table of requests with expected decisions against a policy').argument('<file>', 'a policy; - is standard input').argument('<cases>', 'the table; - is standard input')
    .addOption(new Option('--format <format>', 'how to report').choices(formats).default('human'))
    .addHelpText('after', help)
    .action((name: string, casesName: string, options: CasesOptions) => settle(() => runCases(name, casesName, options, { screen: process.stdout })));
}
