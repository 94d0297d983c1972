export interface Token {
  /** `identifier` is a quoted one; a bare one is a `word`. `broken` reaches from an unclosed quote or comment to the end. */
  readonly kind: 'word' | 'identifier' | 'string' | 'number' | 'punctuation' | 'broken';
  /** As written, quotes included. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const rules: readonly (readonly [Token['kind'] | 'skip', RegExp])[] = [
  // Byte-order marks and no-break spaces are white space to ClickHouse too.
  ['skip', /[\s\uFEFF]+/y],
  ['skip', /--[^\n]*/y],
  ['skip', /#[ !][^\n]*/y],
  ['skip', /\/\*[\s\S]*?\*\//y],
  ['broken', /\/\*[\s\S]*/y],
  // Runs of plain characters are one step each, so that a long literal does not exhaust the matcher's stack.
  ['string', /'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'/y],
  ['identifier', /`[^`\\]*(?:(?:\\[\s\S]|``)[^`\\]*)*`|"[^"\\]*(?:(?:\\[\s\S]|"")[^"\\]*)*"/y],
  ['broken', /['`"][\s\S]*/y],
  ['string', /\$(\w*)\$[\s\S]*?\$\1\$/y],
  ['number', /\d[\w.]*/y],
  ['word', /[A-Za-z_\u0080-\uFFFF][\w$\u0080-\uFFFF]*/y],
  ['punctuation', /[\s\S]/y],
];

/**
 * The tokens of ClickHouse SQL, one by one: the rest of a text that carries data is never looked at. Comments are left out.
 * The engine's own parser remains the judge of what is valid and of what is one statement; this finds clauses and names.
 */
export function* lex(sql: string): Generator<Token, void, void> {
  let at = 0;
  while (at < sql.length) {
    for (const [kind, pattern] of rules) {
      pattern.lastIndex = at;
      const match = pattern.exec(sql);
      if (match === null) continue;
      const start = at;
      at = pattern.lastIndex;
      if (kind !== 'skip') yield { kind, text: match[0], start, end: at };
      break;
    }
  }
}

/** True for a bare word that is this keyword; `keyword` in upper case. */
export function isWord(token: Token | undefined, keyword: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === keyword;
}

export function isPunctuation(token: Token | undefined, text: string): boolean {
  return token?.kind === 'punctuation' && token.text === text;
}

/** The name an identifier token stands for. */
export function identifierName(token: Token): string {
  if (token.kind !== 'identifier') return token.text;
  const quote = token.text.charAt(0);
  return token.text.slice(1, -1).replaceAll(`${quote}${quote}`, quote).replace(/\\([\s\S])/g, '$1');
}
