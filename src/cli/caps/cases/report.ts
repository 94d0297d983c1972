import type { AllowRule } from '../../../policy/model.ts';
import type { Screen } from '../../audit/table.ts';
import { plain, tint } from '../../audit/table.ts';
import { counted } from '../validate/human.ts';
import type { CaseResult } from './run-case.ts';

/** A table of cases run against a policy. */
export type CasesReport = {
  readonly file: string;
  readonly casesFile: string;
  readonly results: readonly CaseResult[];
  /** Every rule of the policy, in the order they are tried. */
  readonly rules: readonly AllowRule[];
};

function unreachedOf({ results, rules }: CasesReport): readonly AllowRule[] {
  const reached = new Set(results.map((result) => result.reached));
  return rules.filter((rule) => !reached.has(rule));
}

function passed({ differences }: CaseResult): boolean {
  return differences.length === 0;
}

const shownCharactersMax = 600;
const unreachedMax = 20;

function clean(text: string): string {
  return plain(text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}… (${text.length} characters)` : text);
}

/** A line a case, differences below the failed ones, the rules that no case reaches, and the sum. */
export function humanCases(screen: Screen, report: CasesReport): string {
  const { results, rules, casesFile } = report;
  const failed = results.filter((result) => !passed(result)).length;
  const unreached = unreachedOf(report);
  const coverage = unreached.length === 0
    ? `every rule is reached (${counted(rules.length, 'rule')})`
    : `${rules.length - unreached.length} of ${counted(rules.length, 'rule')} reached; no case is admitted by ${unreached.slice(0, unreachedMax).map((rule) => tint(screen, 'yellow', `${clean(rule.capability)} / ${clean(rule.id)}`)).join(', ')}${unreached.length > unreachedMax ? ` and ${unreached.length - unreachedMax} more` : ''}`;
  const sum = failed === 0 ? tint(screen, 'green', `${counted(results.length, 'case')} passed`) : `${tint(screen, 'red', `${failed} failed`)}, ${results.length - failed} passed`;
  return `${results.map((result) => humanCase(screen, result, casesFile)).join('')}\ncoverage: ${coverage}\n${clean(casesFile)}: ${sum}\n`;
}

function humanCase(screen: Screen, result: CaseResult, casesFile: string): string {
  const { case: { name, position }, differences, because } = result;
  if (passed(result)) return `${tint(screen, 'green', '✓')} ${clean(name)}\n`;
  const place = position === undefined ? '' : tint(screen, 'dim', `  ${clean(casesFile)}:${position.line}`);
  const lines = differences.flatMap(({ what, expected, got }) => [
    `    ${clean(what)}`,
    `      ${tint(screen, 'green', `expected  ${clean(expected)}`)}`,
    `      ${tint(screen, 'red', `got       ${clean(got)}`)}`,
  ]);
  return `${tint(screen, 'red', '✗')} ${clean(name)}${place}\n${[...lines, ...because.map((text) => `      ${tint(screen, 'dim', clean(text))}`)].join('\n')}\n`;
}

/** `problems` is empty here: with any, no case is run. */
export function jsonCases(report: CasesReport): object {
  const { file, casesFile, results, rules } = report;
  const unreached = unreachedOf(report);
  const failed = results.filter((result) => !passed(result)).length;
  return {
    file,
    cases_file: casesFile,
    problems: [],
    passed: results.length - failed,
    failed,
    cases: results.map((result) => ({
      name: result.case.name,
      line: result.case.position?.line ?? null,
      passed: passed(result),
      differences: result.differences,
      ...(result.because.length === 0 ? {} : { because: result.because }),
    })),
    coverage: {
      rules: rules.length,
      reached: rules.length - unreached.length,
      unreached: unreached.map((rule) => ({ capability: rule.capability, rule: rule.id, path: rule.path, line: rule.position?.line ?? null })),
    },
  };
}
