import { RE2JS } from 're2js';

/** A pattern in RE2's syntax: time linear in the text, so no agent can stop the proxy with a path or a body. */
export type Re2 = {
  readonly source: string;
  test(text: string): boolean;
  /** Replaces every match; the replacement is literal, `$1` in it stays `$1` (contract 2.7, path variant: no back-references). */
  replaceAll(text: string, literal: string): string;
};

export const patternCharactersMax = 1_000;

const cacheEntriesMax = 1_000;
const cache = new Map<string, Re2>();

/** Compiles, or says why not in RE2's words. Equal patterns share one program; the oldest leave first. */
export function compileRe2(pattern: string): { readonly re2: Re2 } | { readonly error: string } {
  const known = cache.get(pattern);
  if (known !== undefined) return { re2: known };
  if (pattern.length > patternCharactersMax) return { error: `the pattern has ${pattern.length} characters, more than ${patternCharactersMax}` };
  const program = compiled(pattern);
  if (typeof program === 'string') return { error: program };
  const re2: Re2 = Object.freeze({
    source: pattern,
    test: (text: string) => program.matcher(text).find(),
    replaceAll: (text: string, literal: string) => program.matcher(text).replaceAll(RE2JS.quoteReplacement(literal)),
  });
  const [oldest] = cache.keys();
  if (cache.size >= cacheEntriesMax && oldest !== undefined) cache.delete(oldest);
  cache.set(pattern, re2);
  return { re2 };
}

function compiled(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    // All it throws here is its own syntax error.
    return error instanceof Error ? error.message.slice(0, 200) : 'not a pattern';
  }
}
