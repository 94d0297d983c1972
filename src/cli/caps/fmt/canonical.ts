import { isDeepStrictEqual } from 'node:util';
import type { Document, ScalarTag, Tags } from 'yaml';
import { Composer, Lexer, Parser } from 'yaml';
import { parseDocumentText } from '../../../policy/document/parse-text.ts';
import type { DocumentNode } from '../../../policy/document/node.ts';
import type { Problem } from '../../../policy/problem.ts';
import { createReporter } from '../../../policy/reporter.ts';
import { arrange } from './arrange.ts';
import { rehomeComments } from './comment-homes.ts';
import type { ScalarStyles } from './scalar-style.ts';
import { stringTag } from './scalar-style.ts';

/** `problems`: the text is no YAML that a policy could be. `refused`: it is, but its canonical form would not say the same. */
export type Canonical = { readonly text: string } | { readonly problems: readonly Problem[] } | { readonly refused: string };

/** A comment behind a `-` finds its place one level a pass. */
const passesMax = 10;

/** The canonical form of a policy: applied to its own result it changes nothing. Never throws for what a text says. */
export function canonical(text: string): Canonical {
  const before = read(text);
  if ('problems' in before) return before;
  let written = text;
  for (let pass = 0; pass < passesMax; pass += 1) {
    const next = rewrite(written);
    if (next === written) return { text: written };
    const lost = difference(before, next);
    if (lost !== undefined) return { refused: lost };
    written = next;
  }
  return { refused: 'its canonical form does not settle' };
}

type Meaning = { readonly value: unknown; readonly comments: readonly string[] };

function read(text: string): Meaning | { readonly problems: readonly Problem[] } {
  const reporter = createReporter();
  const root = parseDocumentText(text, reporter);
  return root === undefined || reporter.problems.length > 0 ? { problems: reporter.problems } : { value: meaningOf(root), comments: commentsOf(text) };
}

/** What stands between a text and its canonical form, if anything. A formatter that changed a policy would change what is let through. */
function difference(before: Meaning, written: string): string | undefined {
  const after = read(written);
  if ('problems' in after || !isDeepStrictEqual(before.value, after.value)) return 'its canonical form would not mean the same';
  return isDeepStrictEqual(before.comments, after.comments) ? undefined : 'its canonical form would lose a comment';
}

/** Maps without regard to the order of their keys, integers exactly. */
function meaningOf(node: DocumentNode): unknown {
  switch (node.kind) {
    case 'map': return new Map(node.entries.map(({ key, value }) => [key, meaningOf(value)]));
    case 'list': return node.items.map(meaningOf);
    case 'scalar': return node.integer ?? node.value;
  }
}

/** The start of a scalar in the lexer's stream: what follows it is text, also where it begins with `#`. */
const scalarMark = '\u001f';

function commentsOf(text: string): readonly string[] {
  const comments: string[] = [];
  let scalar = false;
  for (const token of new Lexer().lex(text)) {
    if (!scalar && token.startsWith('#')) comments.push(token.trimEnd());
    scalar = token === scalarMark;
  }
  return comments.sort();
}

const lineWidth = 140;

function rewrite(text: string): string {
  const styles: ScalarStyles = { verbatim: new Map(), folded: new Map() };
  const bare = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  const document = compose(bare, styles);
  if (document === undefined) return text;
  arrange(document, bare, styles);
  return document.toString({ indent: 2, indentSeq: true, lineWidth, minContentWidth: 0, flowCollectionPadding: false, singleQuote: null });
}

/** As the policy engine reads it, so that what it means here is what it means there. What YAML 1.1 takes for something else (no, 1_000) gets quotes. */
function compose(text: string, styles: ScalarStyles): Document.Parsed | undefined {
  const tokens = [...new Parser().parse(text)];
  for (const token of tokens) if (token.type === 'document') rehomeComments(token);
  const customTags = (tags: Tags): Tags => tags.map((tag) => (isStringTag(tag) ? stringTag(tag, styles) : tag));
  const composer = new Composer({ version: '1.2', schema: 'core', resolveKnownTags: false, uniqueKeys: false, merge: false, prettyErrors: false, logLevel: 'silent', compat: 'yaml-1.1', customTags });
  return [...composer.compose(tokens, true, text.length)][0];
}

function isStringTag(tag: Tags[number]): tag is ScalarTag {
  return typeof tag === 'object' && tag.tag === 'tag:yaml.org,2002:str';
}
