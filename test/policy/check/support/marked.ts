import type { Test } from 'tap';
import type { Problem } from '../../../../src/policy/problem.ts';
import { readPolicyText } from '../../../../src/policy/read-policy.ts';
import type { PolicyReport } from '../../../../src/policy/read-policy.ts';
import { readMarks } from '../../contract/support/marks.ts';

/** Warnings of the checks under test; others are about whole policies and have tests of their own. */
const compared: ReadonlySet<string> = new Set(['field_has_no_effect', 'header_managed_by_proxy', 'accept_encoding_partial']);

const placed = (slug: string, warning: boolean, line: number | undefined, column: number | undefined) => `${line ?? 0}:${column ?? 0} ${warning ? '!' : ''}${slug}`;
const reported = (problems: readonly Problem[], warning: boolean) => problems.map(({ slug, line, column }) => placed(slug, warning, line, column));

/** Reads a text with marks (see contract/support/marks.ts) and holds all that is reported of it against them. */
export function checkMarked(t: Test, name: string, marked: string): PolicyReport {
  const { text, expected } = readMarks(marked);
  const report = readPolicyText(text);
  const found = [...reported(report.problems, false), ...reported(report.warnings.filter(({ slug }) => compared.has(slug)), true)];
  t.strictSame(found.sort(), expected.map(({ slug, warning, line, column }) => placed(slug, warning, line, column)).sort(), name, { text, problems: report.problems });
  for (const { slug, line, message } of expected) {
    if (message === undefined) continue;
    const texts = [...report.problems, ...report.warnings].filter((problem) => problem.slug === slug && problem.line === line).map((problem) => `${problem.message} (${problem.hint ?? ''})`);
    t.ok(texts.some((said) => said.includes(message)), `${name}: says ${message}`, { texts });
  }
  return report;
}
