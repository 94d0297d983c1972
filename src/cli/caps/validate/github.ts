import type { Problem } from '../../../policy/problem.ts';
import type { CheckedFile } from '../policy-file.ts';
import { counted } from './human.ts';

/** The text of a workflow command: a line of its own could otherwise be a second command. */
export function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

export function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/** One annotation. Standard input has no file to annotate. */
function annotation(file: string, level: 'error' | 'warning', { slug, message, path, line, column, hint }: Problem): string {
  const properties: (readonly [string, string])[] = [
    ...(file === '-' ? [] : [['file', file.replace(/^\.\//, '')] as const]),
    ...(line === undefined ? [] : [['line', String(line)] as const, ['col', String(column ?? 1)] as const]),
    ['title', slug],
  ];
  const text = `${path}: ${message}${hint === undefined ? '' : `\n${hint}`}`;
  return `::${level} ${properties.map(([name, value]) => `${name}=${escapeProperty(value)}`).join(',')}::${escapeData(text)}\n`;
}

/** Workflow commands of GitHub Actions, and for the log one line of plain text. */
export function githubReport(files: readonly CheckedFile[]): string {
  const annotations = files.flatMap(({ file, problems, warnings }) => [...problems.map((problem) => annotation(file, 'error', problem)), ...warnings.map((problem) => annotation(file, 'warning', problem))]);
  const sum = (lists: readonly (readonly unknown[])[]): number => lists.reduce((total, list) => total + list.length, 0);
  return `${annotations.join('')}${counted(files.length, 'file')}, ${counted(sum(files.map((file) => file.problems)), 'problem')}, ${counted(sum(files.map((file) => file.warnings)), 'warning')}\n`;
}
