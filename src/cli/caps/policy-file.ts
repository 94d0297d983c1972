import type { KnownNames } from '../../policy/known-names.ts';
import type { Problem } from '../../policy/problem.ts';
import type { PolicyReport } from '../../policy/read-policy.ts';
import { readPolicyText } from '../../policy/read-policy.ts';
import type { SourceFile } from './source-file.ts';
import { textOf } from './source-file.ts';

/** One file with all that is to be said about it. `text` is '' where the file is not UTF-8. */
export type CheckedFile = PolicyReport & { readonly file: string; readonly text: string };

export function checkFile(source: SourceFile, known?: KnownNames): CheckedFile {
  const read = textOf(source);
  if ('text' in read) return { file: source.name, text: read.text, ...readPolicyText(read.text, known === undefined ? {} : { known }) };
  const good = Buffer.from(source.bytes.subarray(0, read.badAt)).toString('utf8').split('\n');
  const problem: Problem = { slug: 'yaml_syntax', message: 'the file is not UTF-8 text', path: 'capabilities', line: good.length, column: (good.at(-1)?.length ?? 0) + 1 };
  return { file: source.name, text: '', policy: undefined, problems: [problem], warnings: [] };
}
