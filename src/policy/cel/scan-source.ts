import type { CelProblem } from './contract.ts';
import { celLimits } from './limits.ts';

const opening: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const closing = new Set([')', ']', '}']);
const simpleEscapes = new Set([...'abfnrtv\\?"\'`']);

/**
 * A first pass over the text, before the parser: length, bracket nesting, unclosed brackets and strings, and escapes, all of which the
 * parser is slow at, vague about, or lets pass. Comments come back as blanks of the same length (the parser knows them only in some places),
 * so offsets stay.
 */
export function scanSource(source: string): { readonly text: string } | { readonly problem: CelProblem } {
  if (source.length > celLimits.sourceCharacters) {
    const message = `the expression has ${source.length} characters, more than ${celLimits.sourceCharacters}`;
    return { problem: { slug: 'cel_too_complex', message, offset: celLimits.sourceCharacters } };
  }
  const open: { readonly close: string; readonly offset: number }[] = [];
  let text = '';
  let at = 0;
  while (at < source.length) {
    const character = source.charAt(at);
    if (source.startsWith('//', at)) {
      const end = endOfLine(source, at);
      text += ' '.repeat(end - at);
      at = end;
      continue;
    }
    if (character === '"' || character === "'") {
      const literal = scanString(source, at);
      if ('problem' in literal) return literal;
      text += source.slice(at, literal.end);
      at = literal.end;
      continue;
    }
    const close = opening[character];
    if (close !== undefined) {
      if (open.length >= celLimits.bracketNesting) {
        return { problem: { slug: 'cel_too_complex', message: `brackets are nested deeper than ${celLimits.bracketNesting}`, offset: at } };
      }
      open.push({ close, offset: at });
    } else if (closing.has(character)) {
      const last = open.pop();
      if (last === undefined) return { problem: syntax(`"${character}" closes nothing`, at) };
      if (last.close !== character) return { problem: syntax(`"${character}" where "${last.close}" was expected`, at) };
    }
    text += character;
    at += 1;
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) return { problem: syntax(`"${source.charAt(unclosed.offset)}" is never closed`, unclosed.offset) };
  if (text.trim() === '') return { problem: syntax('the expression is empty', 0) };
  return { text };
}

function endOfLine(source: string, from: number): number {
  for (let at = from; at < source.length; at += 1) if (source[at] === '\n' || source[at] === '\r') return at;
  return source.length;
}

type ScannedString = { readonly end: number } | { readonly problem: CelProblem };

function scanString(source: string, start: number): ScannedString {
  const prefix = /[rRbB]{0,2}$/.exec(source.slice(Math.max(0, start - 2), start))?.[0].toLowerCase() ?? '';
  // An `r` that ends a longer name is no prefix; then the text is no valid expression anyway, and what is said of its escapes matters little.
  const raw = prefix.includes('r');
  const quote = source.charAt(start);
  const delimiter = source.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  let at = start + delimiter.length;
  while (at < source.length) {
    if (source.startsWith(delimiter, at)) return { end: at + delimiter.length };
    const character = source.charAt(at);
    if (delimiter.length === 1 && (character === '\n' || character === '\r')) break;
    if (character === '\\' && !raw) {
      const length = escapeLength(source, at, prefix.includes('b'));
      if (length === 0) return { problem: syntax('unknown escape in a string', at) };
      at += length;
    } else {
      at += 1;
    }
  }
  return { problem: syntax('the string is never closed', start) };
}

/** Characters of the escape at `at`, 0 when there is no such escape. */
function escapeLength(source: string, at: number, bytes: boolean): number {
  if (simpleEscapes.has(source.charAt(at + 1))) return 2;
  const rest = source.slice(at + 1, at + 11);
  const numeric = bytes ? /^(?:[0-3][0-7]{2}|[xX][\da-fA-F]{2})/ : /^(?:[0-3][0-7]{2}|[xX][\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})/;
  const digits = numeric.exec(rest)?.[0];
  return digits === undefined ? 0 : digits.length + 1;
}

function syntax(message: string, offset: number): CelProblem {
  return { slug: 'cel_syntax', message, offset };
}
