import type { Problem } from '../../../policy/problem.ts';
import type { Screen } from '../../audit/table.ts';
import { plain, tint } from '../../audit/table.ts';
import type { CheckedFile } from '../policy-file.ts';
import type { Lines } from './excerpt.ts';
import { excerpt, linesOf } from './excerpt.ts';

/** `file:line:col: path: message [slug]`, the line itself with a caret, and what to do about it. */
export function entry(screen: Screen, file: string, problem: Problem, kind: 'problem' | 'warning', lines: Lines): string {
  const { line, column, path, message, slug, hint } = problem;
  const colour = kind === 'problem' ? 'red' : 'yellow';
  const place = [plain(file), ...(line === undefined ? [] : [line, column ?? 1])].join(':');
  const head = `${tint(screen, 'bold', `${place}:`)} ${kind === 'warning' ? `${tint(screen, colour, 'warning')}: ` : ''}${plain(path)}: ${tint(screen, colour, plain(message))} ${tint(screen, 'dim', `[${slug}]`)}\n`;
  const shown = line === undefined ? '' : excerpt(lines, line, column ?? 1);
  return `${head}${shown}${hint === undefined ? '' : `      → ${plain(hint)}\n`}`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function summary(screen: Screen, { file, policy, problems, warnings }: CheckedFile): string {
  const warned = warnings.length === 0 ? '' : `, ${counted(warnings.length, 'warning')}`;
  if (problems.length > 0) return `${plain(file)}: ${tint(screen, 'red', counted(problems.length, 'problem'))}${warned}\n`;
  const capabilities = policy?.document.capabilities ?? [];
  const rules = capabilities.reduce((sum, capability) => sum + capability.allow.length, 0);
  const size = capabilities.length === 0 ? 'denies everything' : `${counted(capabilities.length, 'capability', 'capabilities')}, ${counted(rules, 'rule')}`;
  return `${plain(file)}: ${tint(screen, 'green', 'valid')} (${size})${warned}\n`;
}

/** Problems and warnings of each file in the order of the text, then one line that sums up. */
export function humanReport(screen: Screen, files: readonly CheckedFile[]): string {
  return files.map((file) => {
    const lines = linesOf(file.text);
    const all = [
      ...file.problems.map((problem) => ({ problem, kind: 'problem' as const })),
      ...file.warnings.map((problem) => ({ problem, kind: 'warning' as const })),
    ];
    // Those without a place, such as "the rest is not listed", come last.
    const place = ({ problem }: (typeof all)[number]): [number, number] => [problem.line ?? Number.MAX_SAFE_INTEGER, problem.column ?? 0];
    const ordered = all.toSorted((a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1]);
    const entries = ordered.map(({ problem, kind }) => entry(screen, file.file, problem, kind, lines));
    return `${entries.join('\n')}${entries.length > 0 ? '\n' : ''}${summary(screen, file)}`;
  }).join('');
}
