import { Scalar } from 'yaml';
import type { ScalarTag } from 'yaml';
import type { StringifyContext } from 'yaml/util';
import { stringifyString } from 'yaml/util';

/** How single scalars are written: set before a document is written, read while it is. */
export type ScalarStyles = {
  /** Text to write as it is: numbers, true, null. */
  readonly verbatim: Map<Scalar, string>;
  /** Lines of text that the author folded: they stay broken where they were. */
  readonly folded: Map<Scalar, { readonly header: string; readonly lines: readonly string[] }>;
};

/** The core schema's string tag, writing by `styles`. Without lines to keep, nothing is ever folded: an expression is one line. */
export function stringTag(base: ScalarTag, styles: ScalarStyles): ScalarTag {
  return {
    ...base,
    stringify(item, context, onComment, onChompKeep) {
      const verbatim = styles.verbatim.get(item);
      if (verbatim !== undefined) return verbatim;
      const folded = styles.folded.get(item);
      if (folded !== undefined && context.inFlow !== true && context.implicitKey !== true) return foldedText(item, folded, context, onComment);
      // `actualString`: quotes where the text would be read as a number or the like.
      return stringifyString(item, { ...context, actualString: true, options: { ...context.options, lineWidth: 0 } }, onComment, onChompKeep);
    },
  };
}

function foldedText(item: Scalar, { header, lines }: { readonly header: string; readonly lines: readonly string[] }, context: StringifyContext, onComment: (() => void) | undefined): string {
  let first = header;
  if (item.comment !== null && item.comment !== undefined && item.comment !== '') {
    first += ` ${context.options.commentString(item.comment.replace(/ ?[\r\n]+/g, ' '))}`;
    onComment?.();
  }
  const indent = context.indent === '' ? '  ' : context.indent;
  return `${first}\n${lines.map((line) => (line === '' ? '' : `${indent}${line}`)).join('\n')}`;
}

/** The lines of a `>` block without their indentation; undefined where they cannot be moved as they are. */
export function foldedLines(source: string): { readonly header: string; readonly lines: readonly string[] } | undefined {
  const [first = '', ...rest] = source.replaceAll('\r\n', '\n').split('\n');
  const header = /^>-?(?=\s|$)/.exec(first)?.[0];
  if (header === undefined) return undefined;
  // A space at the end of a line is text.
  const lines = rest.map((line) => (/^ *$/.test(line) ? '' : line));
  while (lines.at(-1) === '') lines.pop();
  const indent = /^ */.exec(lines.find((line) => line !== '') ?? '')?.[0].length ?? 0;
  if (indent === 0 || lines.some((line) => line !== '' && line.slice(0, indent).trim() !== '')) return undefined;
  return { header, lines: lines.map((line) => line.slice(indent)) };
}

/** A plain or quoted text over several lines becomes a `>-` block with the same lines, where that says the same. */
export function refolded(source: string, value: string): { readonly header: string; readonly lines: readonly string[] } | undefined {
  const bare = /^(["']).*\1$/s.test(source) ? source.slice(1, -1) : source;
  const lines = bare.split(/\r?\n/).map((line) => line.trim());
  return lines.length > 1 && !lines.includes('') && lines.join(' ') === value ? { header: '>-', lines } : undefined;
}

/** The style of a text that is not folded. What cannot stand in it is quoted by the writer. */
export function styleOf(value: string, inFlow: boolean, quoted: boolean): Scalar.Type {
  if (quoted) return Scalar.QUOTE_DOUBLE;
  return value.includes('\n') && !inFlow ? Scalar.BLOCK_LITERAL : Scalar.PLAIN;
}
