import type { Problem } from '../../../policy/problem.ts';
import type { CheckedFile } from '../policy-file.ts';

export type ProblemJson = { slug: string; message: string; path: string; line: number | null; column: number | null; hint?: string; expression_column?: number };

/** `line` and `column` are null where a problem stands nowhere; `hint` and `expression_column` are there when known. */
export function problemJson({ slug, message, path, line, column, hint, expressionColumn }: Problem): ProblemJson {
  return {
    slug, message, path, line: line ?? null, column: column ?? null,
    ...(hint === undefined ? {} : { hint }),
    ...(expressionColumn === undefined ? {} : { expression_column: expressionColumn }),
  };
}

/** A list, one entry a file. */
export function jsonReport(files: readonly CheckedFile[]): string {
  const entries = files.map(({ file, problems, warnings }) => ({ file, valid: problems.length === 0, problems: problems.map(problemJson), warnings: warnings.map(problemJson) }));
  return `${JSON.stringify(entries, null, 2)}\n`;
}
