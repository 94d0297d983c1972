import type { Scalar } from 'yaml';

/**
 * Offsets in the text of a scalar for offsets in its value: a CEL error at character 17 of a folded block is shown where it stands in the
 * file. Both texts are walked together. Undefined where they do not match, so that the caller falls back to the scalar's start.
 */
export function sourceOffset(source: string, style: Scalar.Type, value: string, offset: number): number | undefined {
  const block = style === 'BLOCK_LITERAL' || style === 'BLOCK_FOLDED';
  return block ? blockOffset(source, value, offset) : flowOffset(source, style, value, offset);
}

/** Plain and quoted: escapes and folded line ends stand for the characters they mean. Exact, but that an offset inside of white space is that of its start. */
function flowOffset(source: string, style: Scalar.Type, value: string, offset: number): number | undefined {
  let at = 0;
  let index = 0;
  for (;;) {
    const unit = foldAt(source, at) ?? escapeAt(source, at, style) ?? { text: source.charAt(at), width: 1 };
    // An escape for two UTF-16 units has no middle, and what stands for nothing is passed.
    if (index + unit.text.length > offset || (index === offset && at >= source.length)) return at;
    if (at >= source.length || !value.startsWith(unit.text, index)) return undefined;
    at += unit.width;
    index += unit.text.length;
  }
}

/**
 * Indentation and folding change white space only, all other characters follow one another in both texts: these are placed exactly, white
 * space nearly.
 */
function blockOffset(source: string, value: string, offset: number): number | undefined {
  let at = 0;
  for (let index = 0; index < offset; ) {
    const same = source[at] === value[index] || (isSpace(source[at]) && isSpace(value[index]));
    if (!same && !isSpace(source[at])) return undefined;
    at += 1;
    if (same) index += 1;
  }
  if (!isSpace(value[offset])) while (isSpace(source[at])) at += 1;
  return at;
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\t' || character === '\r';
}

/** Characters of the value, and how many of the source mean them. */
type Unit = { readonly text: string; readonly width: number };

/** A whole run of white space: one line end in it is a space; of several, all but one stay. */
function foldAt(source: string, at: number): Unit | undefined {
  if (!isSpace(source[at])) return undefined;
  const fold = /[ \t]*(?:\r?\n[ \t]*)*/y;
  fold.lastIndex = at;
  const found = fold.exec(source)?.[0] ?? '';
  const ends = found.split('\n').length - 1;
  if (ends === 0) return found === '' ? undefined : { text: found, width: found.length };
  return { text: ends === 1 ? ' ' : '\n'.repeat(ends - 1), width: found.length };
}

const letters: Readonly<Record<string, string>> = {
  '0': '\0', a: '\u0007', b: '\b', t: '\t', '\t': '\t', n: '\n', v: '\v', f: '\f', r: '\r', e: '\u001b', ' ': ' ', '"': '"', '/': '/', '\\': '\\',
  N: '\u0085', _: '\u00a0', L: '\u2028', P: '\u2029',
};
const digitsOf: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function escapeAt(source: string, at: number, style: Scalar.Type): Unit | undefined {
  if (style === 'QUOTE_SINGLE') return source.startsWith("''", at) ? { text: "'", width: 2 } : undefined;
  if (style !== 'QUOTE_DOUBLE' || source[at] !== '\\') return undefined;
  const letter = source[at + 1] ?? '';
  const text = Object.hasOwn(letters, letter) ? letters[letter] : undefined;
  if (text !== undefined) return { text, width: 2 };
  const digits = Object.hasOwn(digitsOf, letter) ? (digitsOf[letter] ?? 0) : 0;
  if (digits === 0) return lineEndAt(source, at);
  const code = Number.parseInt(source.slice(at + 2, at + 2 + digits), 16);
  return code <= 0x10ffff ? { text: String.fromCodePoint(code), width: 2 + digits } : undefined;
}

/** A line end behind a backslash stands for nothing, and so does the indentation of the next line. */
function lineEndAt(source: string, at: number): Unit | undefined {
  const end = /\\\r?\n[ \t]*/y;
  end.lastIndex = at;
  const found = end.exec(source)?.[0];
  return found === undefined ? undefined : { text: '', width: found.length };
}
