import { Composer, LineCounter, Parser } from 'yaml';
import type { CST, Document } from 'yaml';
import type { Position } from './node.ts';
import { documentLimits } from './limits.ts';

/** Something that ends the reading, at an offset (UTF-16 units). */
export type Bound = { readonly slug: 'document_too_deep' | 'document_too_many_nodes'; readonly offset: number };

export type YamlStream = {
  /** The first document; undefined when there is none, or one beyond a bound. */
  readonly document: Document.Parsed | undefined;
  readonly bound: Bound | undefined;
  /** Where a second document begins. */
  readonly second: number | undefined;
  readonly positionAt: (offset: number) => Position;
};

/**
 * The first YAML document of a text. Its tokens are counted before values are made of them: that step is recursive and slow, and takes
 * only what is within the bounds of `documentLimits`.
 */
export function readYaml(text: string): YamlStream {
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return Object.freeze({ line: Math.max(1, line), column: Math.max(1, col) });
  };
  const { tokens, bound, second } = firstDocument(text, lines);
  if (bound !== undefined) return { document: undefined, bound, second, positionAt };
  return { document: compose(tokens, text.length), bound, second, positionAt };
}

type Tokens = { readonly tokens: readonly CST.Token[]; readonly bound: Bound | undefined; readonly second: number | undefined };

function firstDocument(text: string, lines: LineCounter): Tokens {
  const tokens: CST.Token[] = [];
  let documents = 0;
  let errors = 0;
  for (const token of new Parser(lines.addNewLine).parse(text)) {
    if (token.type === 'error') {
      errors += 1;
      if (errors > documentLimits.syntaxProblemsMax) break;
    }
    if (token.type === 'document') {
      documents += 1;
      if (documents === 2) return { tokens, bound: undefined, second: token.offset };
      const bound = beyondBounds(token);
      if (bound !== undefined) return { tokens, bound, second: undefined };
    }
    tokens.push(token);
  }
  return { tokens, bound: undefined, second: undefined };
}

function compose(tokens: readonly CST.Token[], end: number): Document.Parsed | undefined {
  // YAML 1.2 whatever a %YAML directive says: 1.1 would read `no` as false and 010 as 8.
  const composer = new Composer({ version: '1.2', schema: 'core', resolveKnownTags: false, uniqueKeys: false, merge: false, prettyErrors: false, logLevel: 'silent' });
  // A text can hold 100,000 errors, and each would spend its time on a stack trace that nobody reads.
  const traceLines = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return [...composer.compose(tokens, true, end)][0];
  } finally {
    Error.stackTraceLimit = traceLines;
  }
}

type Counted = { readonly token: CST.Token | null | undefined; readonly depth: number };

/** In the order of the text, without recursion. Every item counts as a value, whether there is one or not. */
function beyondBounds(document: CST.Document): Bound | undefined {
  const open: Counted[] = [{ token: document.value, depth: 0 }];
  let values = 1;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (token === null || token === undefined) continue;
    if (depth > documentLimits.depthMax) return { slug: 'document_too_deep', offset: token.offset };
    if (!('items' in token)) continue;
    const before = values;
    values += valuesOf(token);
    if (values > documentLimits.nodesMax) return { slug: 'document_too_many_nodes', offset: offsetOf(token.items[documentLimits.nodesMax - before]) ?? token.offset };
    for (const { key, value } of token.items.toReversed()) open.push({ token: value, depth: depth + 1 }, { token: key, depth: depth + 1 });
  }
  return undefined;
}

/** What stands behind the last comma of `[a,]` is no value. */
function valuesOf({ items }: { readonly items: readonly CST.CollectionItem[] }): number {
  const last = items.at(-1);
  return last !== undefined && !('key' in last) && last.value === undefined ? items.length - 1 : items.length;
}

function offsetOf(item: CST.CollectionItem | undefined): number | undefined {
  return item?.key?.offset ?? item?.value?.offset ?? item?.start[0]?.offset;
}
