import type { ProblemSlug } from '../../../../src/policy/problem-slugs.ts';

/** What a case expects at one place. */
export type Expected = { readonly slug: ProblemSlug; readonly warning: boolean; readonly line: number; readonly column: number; readonly message: string | undefined };

const mark = /‹(!?)([a-z0-9_]+)(?:\|([^›]*))?›/u;

/**
 * Takes the marks out of a case's text. `‹slug›` stands right before the place at which a problem is expected, `‹!slug›` before that of a
 * warning, and `‹slug|text›` says in addition what its message must hold. Several marks may stand side by side.
 */
export function readMarks(marked: string): { readonly text: string; readonly expected: readonly Expected[] } {
  const expected: Expected[] = [];
  const lines = marked.split('\n').map((line, index) => {
    let rest = line;
    for (let found = mark.exec(rest); found !== null; found = mark.exec(rest)) {
      const [whole, warning, slug, message] = found;
      expected.push({ slug: slug as ProblemSlug, warning: warning === '!', line: index + 1, column: found.index + 1, message });
      rest = rest.slice(0, found.index) + rest.slice(found.index + whole.length);
    }
    return rest;
  });
  return { text: lines.join('\n'), expected };
}

/** Whether a map written as block YAML has this key at its top, marked or not. */
export function hasKey(fragment: string, key: string): boolean {
  return new RegExp(`^(?:‹[^›]*›)*${key}:`, 'mu').test(fragment);
}
