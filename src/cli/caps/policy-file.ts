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
  // As a stream, so that the beginning of a character that does not go on is left out.
  const good = new TextDecoder().decode(source.bytes.subarray(0, read.badAt), { stream: true }).split('\n');
  const problem: Problem = { slug: 'yaml_syntax', message: 'the file is not UTF-8 text', path: 'capabilities', line: good.length, column: (good.at(-1)?.length ?? 0) + 1 };
  return { file: source.name, text: '', policy: undefined, problems: [problem], warnings: [] };
}
