import type { ErrorCode, YAMLParseError } from 'yaml';

/** A syntax error in our words. `local`: the values around it are still what the author meant, so the document can be checked on. */
export type SyntaxError = { readonly message: string; readonly hint?: string; readonly local: boolean };

type Row = { readonly message: string; readonly hint?: string; readonly local?: true };

const quote = 'put the text into quotes, or write it as a block: |- and the text in the next lines';

/** By code of the parser; the others come with several meanings and keep its text. */
const rows: Partial<Readonly<Record<ErrorCode, Row>>> = {
  TAB_AS_INDENT: { message: 'a tab cannot indent', hint: 'indent with spaces', local: true },
  BAD_ALIAS: { message: '* begins an alias and needs a name behind it', hint: 'put a text that begins with * into quotes', local: true },
  ALIAS_PROPS: { message: 'an alias takes no anchor and no tag', local: true },
  MULTIPLE_ANCHORS: { message: 'a value has one anchor at most', local: true },
  MULTIPLE_TAGS: { message: 'a value has one tag at most', local: true },
  BAD_PROP_ORDER: { message: 'an anchor or a tag stands behind the -, ? or : of its value', local: true },
  BAD_DIRECTIVE: { message: 'a directive that cannot be read', hint: 'a capability document needs no directives', local: true },
  BLOCK_AS_IMPLICIT_KEY: { message: 'a colon that would begin a map in the middle of a line', hint: quote },
  MULTILINE_IMPLICIT_KEY: { message: 'a key over several lines', hint: 'a key stands in one line, followed by a colon and a space' },
  KEY_OVER_1024_CHARS: { message: 'a key of more than 1,024 characters' },
};

/** More exact where the parser's own text tells cases of one code apart. */
const texts: readonly (readonly [pattern: RegExp, row: Row])[] = [
  [/^Comments must be separated/, { message: '# begins a comment only behind a space', hint: 'put a text that holds # into quotes', local: true }],
  [/directives-end/, { message: 'directives (%…) end with a line of ---' }],
  [/^Missing closing/, { message: 'a quote that is never closed' }],
  [/^Implicit map keys need/, { message: 'a colon is missing behind a key', hint: 'a key, a colon, a space, a value' }],
  [/^Sequence item without/, { message: 'an item without its dash, or an indentation that fits nothing above' }],
  [/must be sufficiently indented and end with a (.)$/, { message: 'a bracket that is never closed, or whose lines are indented less than where it begins' }],
  [/^All .* items must start at the same column/, { message: 'items of one list, and keys of one map, begin in the same column' }],
];

export function readSyntaxError({ code, message, pos }: YAMLParseError, text: string): SyntaxError {
  const row = texts.find(([pattern]) => pattern.test(message))?.[1] ?? rows[code] ?? special(code, message, text.slice(pos[0], pos[1]), text.slice(pos[0], pos[0] + 20).toWellFormed());
  return { message: row.message, ...(row.hint === undefined ? {} : { hint: row.hint }), local: row.local === true };
}

function special(code: ErrorCode, message: string, token: string, follows: string): Row {
  if (code === 'BAD_SCALAR_START') return { message: `a text cannot begin with ${token.charAt(0)} without quotes`, hint: 'put it into quotes', local: true };
  if (code === 'BAD_DQ_ESCAPE') return { message: `${message.replace(/^Invalid escape sequence /, '').slice(0, 12)} is no escape of a text in double quotes`, hint: 'write a backslash as \\\\, or use single quotes, which know no escapes', local: true };
  if (/^Unexpected /.test(message)) return { message: `unexpected ${JSON.stringify(follows.split('\n')[0])}`, hint: quote };
  return { message: message.replace(/\s+/g, ' ').slice(0, 160) };
}
