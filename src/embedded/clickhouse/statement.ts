import { syntaxError } from './exception.ts';
import { identifierName, isPunctuation, isWord, lex } from './lexer.ts';
import type { Token } from './lexer.ts';

export type InsertColumns =
  | { readonly kind: 'all' }
  | { readonly kind: 'named'; readonly names: readonly string[] }
  | { readonly kind: 'except'; readonly names: readonly string[] };

/** `INSERT INTO table [(columns)] [SETTINGS …] FORMAT X` or `… VALUES`, with the data behind it. */
export interface InsertHead {
  /** The table as written, perhaps `{name:Identifier}`. */
  readonly target: string;
  /** As written, with its parentheses; empty when there is none. */
  readonly columnsText: string;
  readonly columns: InsertColumns;
  /** `SETTINGS a = 1`, or empty. */
  readonly settingsText: string;
  readonly format: string;
  /** Where the data begins in the text that was given. */
  readonly dataStart: number;
}

/**
 * Reads the head of an INSERT that carries data; undefined for every other statement, `INSERT … SELECT` among them. The text may
 * be cut anywhere behind the head. Offsets are those of the string that is passed in.
 */
export function parseInsertHead(sql: string): InsertHead | undefined {
  const tokens = lex(sql);
  const take = (): Token | undefined => tokens.next().value ?? undefined;
  if (!isWord(take(), 'INSERT')) return undefined;
  let token = take();
  if (isWord(token, 'INTO')) token = take();
  if (isWord(token, 'TABLE')) token = take();
  if (isWord(token, 'FUNCTION')) return undefined;

  const targetStart = token?.start ?? 0;
  let targetEnd = targetStart;
  while (token !== undefined && !isPunctuation(token, '(') && !['SETTINGS', 'FORMAT', 'VALUES', 'SELECT', 'WITH', 'FROM', 'PARTITION'].some((word) => isWord(token, word))) {
    targetEnd = token.end;
    token = take();
  }
  let columns: InsertColumns = { kind: 'all' };
  let columnsText = '';
  if (isPunctuation(token, '(')) {
    const inside: Token[] = [];
    const columnsStart = token?.start ?? 0;
    let depth = 1;
    while (depth > 0) {
      token = take();
      if (token === undefined) return undefined;
      if (isPunctuation(token, '(')) depth += 1;
      if (isPunctuation(token, ')')) depth -= 1;
      if (depth > 0) inside.push(token);
    }
    if (isWord(inside[0], 'SELECT') || isWord(inside[0], 'WITH')) return undefined;
    columns = parseColumns(inside);
    columnsText = sql.slice(columnsStart, token?.end);
    token = take();
  }
  let settingsText = '';
  if (isWord(token, 'SETTINGS')) {
    const settingsStart = token?.start ?? 0;
    let settingsEnd = settingsStart;
    while (token !== undefined && !['FORMAT', 'VALUES', 'SELECT', 'WITH', 'FROM'].some((word) => isWord(token, word))) {
      settingsEnd = token.end;
      token = take();
    }
    settingsText = sql.slice(settingsStart, settingsEnd);
  }
  const head = { target: sql.slice(targetStart, targetEnd), columnsText, columns, settingsText };
  if (isWord(token, 'VALUES')) return { ...head, format: 'Values', dataStart: token?.end ?? sql.length };
  if (!isWord(token, 'FORMAT')) return undefined;
  const format = take();
  if (format?.kind !== 'word') return undefined;
  if (format.text.toUpperCase() === 'VALUES') return { ...head, format: 'Values', dataStart: format.end };
  // As ClickHouse does: blanks behind the format's name and one line end belong to the statement, everything after it is data.
  const gap = /^[ \t\f]*(?:\r?\n)?/.exec(sql.slice(format.end, format.end + 4096))?.[0] ?? '';
  if (sql.charAt(format.end + gap.length) === ';') throw syntaxError("You have excessive ';' symbol before data for INSERT.");
  return { ...head, format: format.text, dataStart: format.end + gap.length };
}

function parseColumns(inside: readonly Token[]): InsertColumns {
  const [first, second] = inside;
  const names = (tokens: readonly Token[]): string[] => {
    const parts: string[] = [''];
    for (const token of tokens) {
      if (isPunctuation(token, ',')) parts.push('');
      else parts[parts.length - 1] += identifierName(token);
    }
    return parts.filter((name) => name !== '');
  };
  if (isPunctuation(first, '*')) {
    if (inside.length === 1) return { kind: 'all' };
    if (!isWord(second, 'EXCEPT')) throw syntaxError('Syntax error: only `*` and `* EXCEPT (…)` are understood in the column list of an INSERT with data.');
    return { kind: 'except', names: names(inside.slice(2).filter((token) => !isPunctuation(token, '(') && !isPunctuation(token, ')'))) };
  }
  return { kind: 'named', names: names(inside) };
}

export interface OutputClauses {
  /** SELECT or something that reads like it, not sure before the engine has parsed it. */
  readonly looksLikeSelect: boolean;
  /** `INSERT … SELECT`, also behind WITH. */
  readonly inserts: boolean;
  /** The format named in the statement. */
  readonly format: string | undefined;
  /** Where `INTO OUTFILE` belongs: before FORMAT, or at the end of the last token. */
  readonly outfileAt: number;
}

/** Finds the output clauses `FORMAT X [SETTINGS …]` at the end of a statement. */
export function readOutputClauses(tokens: readonly Token[]): OutputClauses {
  let last = tokens.length;
  while (isPunctuation(tokens[last - 1], ';')) last -= 1;
  let depth = 0;
  let inserts = false;
  let formatAt: number | undefined;
  for (let i = 0; i < last; i += 1) {
    const token = tokens[i];
    if (isPunctuation(token, '(')) depth += 1;
    if (isPunctuation(token, ')')) depth -= 1;
    if (depth === 0 && isWord(token, 'INSERT')) inserts = true;
    const next = tokens[i + 1];
    const closed = i + 2 >= last || isWord(tokens[i + 2], 'SETTINGS');
    if (depth === 0 && i > 0 && isWord(token, 'FORMAT') && i + 1 < last && next?.kind === 'word' && closed) formatAt = i;
  }
  const first = tokens[0];
  return {
    inserts,
    looksLikeSelect: !inserts && (['SELECT', 'WITH', 'FROM'].some((word) => isWord(first, word)) || isPunctuation(first, '(')),
    format: formatAt === undefined ? undefined : tokens[formatAt + 1]?.text,
    outfileAt: (formatAt === undefined ? tokens[last - 1]?.end : tokens[formatAt]?.start) ?? 0,
  };
}
