import type { Position } from './node.ts';

/** A character that no capability document may hold. */
export type BadCharacter = { readonly position: Position; readonly message: string };

/**
 * The first character that YAML does not allow: control characters but tab and line breaks, noncharacters, halves of surrogate pairs. Also
 * a carriage return alone: YAML counts it as a line break, editors and the parser do not agree on it.
 */
export function badCharacter(text: string): BadCharacter | undefined {
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]|\r(?!\n)/.exec(text);
  const half = text.isWellFormed() ? null : /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
  const first = half === null || (control !== null && control.index < half.index) ? control : half;
  if (first === null) return undefined;
  const before = text.slice(0, first.index).split('\n');
  const position = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  if (first[0] === '\r') return { position, message: 'a carriage return without a line feed is not a line end' };
  const code = text.charCodeAt(first.index).toString(16).toUpperCase().padStart(4, '0');
  return { position, message: first === half ? `half a surrogate pair (U+${code}) is not a character` : `character U+${code} is not allowed in YAML` };
}
