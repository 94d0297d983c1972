import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Alias, Document, Pair, ParsedNode, Scalar } from 'yaml';
import type { ProblemSlug } from '../problem-slugs.ts';
import type { Reporter } from '../problem.ts';
import { childPath, listNode, mapNode, scalarNode } from './build.ts';
import { documentLimits } from './limits.ts';
import type { DocumentNode, MapEntry, Position } from './node.ts';
import { sourceOffset } from './scalar-position.ts';
import { createTagPlaces } from './tag-places.ts';

type Source = { readonly text: string; readonly document: Document.Parsed; readonly positionAt: (offset: number) => Position };

/** Set once a bound is passed: the rest of the document is not looked at. */
type Stop = 'document_too_many_nodes' | 'document_too_deep' | 'alias_not_allowed';

/**
 * The values of a YAML document as nodes, aliases followed. Problems are reported; undefined when a bound is passed, as half a document
 * would be checked for what is missing in it.
 */
export function convertYaml({ text, document, positionAt }: Source, root: string, reporter: Reporter): DocumentNode | undefined {
  const anchors = new Map<string, ParsedNode>();
  /** An alias means the anchor that stood before it, also when it is met again through another alias and the name was given anew. */
  const targets = new Map<Alias, ParsedNode | undefined>();
  const open = new Set<ParsedNode>();
  const tagPlaces = createTagPlaces(document.warnings);
  let nodes = 0;
  let aliases = 0;
  let following = 0;
  let stopped = false;

  const startOf = (node: ParsedNode | null): Position | undefined => (node === null ? undefined : positionAt(node.range[0]));

  function stop(slug: Stop, message: string, path: string, position: Position | undefined): undefined {
    stopped = true;
    reporter.problem(slug, { path, position }, message);
    return undefined;
  }

  function convert(node: ParsedNode | null, path: string, depth: number): DocumentNode | undefined {
    if (stopped) return undefined;
    const position = startOf(node);
    if (isAlias(node)) return followed(node, path, depth, position);
    nodes += 1;
    if (nodes > documentLimits.nodesMax) return stop('document_too_many_nodes', `the document has more than ${documentLimits.nodesMax} values`, path, position);
    if (depth > documentLimits.depthMax) return stop('document_too_deep', `lists and maps are nested deeper than ${documentLimits.depthMax} levels`, path, position);
    if (node === null) return scalarNode({ path, position, value: null });
    remember(node, path);
    if (isScalar(node)) return scalarOf(node, path, position);
    open.add(node);
    const converted = isMap(node) ? mapOf(node.items, path, depth, position) : isSeq(node) ? listOf(node.items, path, depth, position) : undefined;
    open.delete(node);
    return converted;
  }

  /** The anchor and the tag of a value or a key. */
  function remember(node: Exclude<ParsedNode, Alias>, path: string): void {
    if (following > 0) return;
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    const place = tagPlaces.before(node);
    if (place !== undefined) report('unknown_tag', path, positionAt(place), `tag ${shownTag(node.tag)} does not belong to YAML's core schema, or does not fit the value`, 'leave tags out');
  }

  function report(slug: ProblemSlug, path: string, position: Position | undefined, message: string, hint?: string): void {
    reporter.problem(slug, { path, position }, message, hint === undefined ? {} : { hint });
  }

  function followed(alias: Alias.Parsed, path: string, depth: number, position: Position | undefined): DocumentNode | undefined {
    aliases += 1;
    if (aliases > documentLimits.aliasesMax) return stop('alias_not_allowed', `more than ${documentLimits.aliasesMax} aliases, counted after they are followed`, path, position);
    if (!targets.has(alias)) targets.set(alias, anchors.get(alias.source));
    const target = targets.get(alias);
    if (target !== undefined && open.has(target)) return stop('alias_not_allowed', `*${alias.source.slice(0, 80)} contains itself`, path, position);
    if (target === undefined) return unknownAlias(alias.source, path, position);
    following += 1;
    const converted = convert(target, path, depth);
    following -= 1;
    return converted;
  }

  /** Read on as the text that was most likely meant: `domains: [*.example.com]` lacks quotes. An alias without a name is a syntax error. */
  function unknownAlias(name: string, path: string, position: Position | undefined): DocumentNode {
    if (name !== '') report('alias_not_allowed', path, position, `*${name.slice(0, 80)} is an alias for nothing`, `for a text that begins with *, write ${JSON.stringify(`*${name.slice(0, 80)}`)}`);
    return scalarNode({ path, position, value: `*${name}` });
  }

  function listOf(items: Items, path: string, depth: number, position: Position | undefined): DocumentNode {
    const read: DocumentNode[] = [];
    for (const [index, item] of items.entries()) {
      const node = convert(item, childPath(path, index), depth + 1);
      if (node === undefined) break;
      read.push(node);
    }
    return listNode(path, position, read);
  }

  function mapOf(pairs: Pairs, path: string, depth: number, position: Position | undefined): DocumentNode {
    const entries = new Map<string, MapEntry>();
    for (const pair of pairs) {
      const keyPosition = startOf(pair.key);
      const key = keyOf(pair.key, path, keyPosition ?? position);
      const valuePath = key === undefined ? path : childPath(path, key);
      const value = convert(pair.value, valuePath, depth + 1);
      if (value === undefined) break;
      if (key === undefined) continue;
      if (entries.has(key)) report('duplicate_key', valuePath, keyPosition, `key ${JSON.stringify(key.slice(0, 80))} occurs twice in one map`);
      // A value left out (`key:`) stands nowhere, or at the end of its line: it is reported at its key.
      else entries.set(key, { key, keyPosition, value: isEmpty(pair.value) ? { ...value, position: keyPosition } : value });
    }
    return mapNode(path, position, [...entries.values()]);
  }

  function keyOf(node: ParsedNode | null, path: string, position: Position | undefined): string | undefined {
    if (isScalar(node) && typeof node.value === 'string' && node.value.isWellFormed()) {
      remember(node, childPath(path, node.value));
      return node.value;
    }
    report('key_not_string', path, position, 'a key must be a text', isScalar(node) && node.source !== '' ? `put it into quotes: ${JSON.stringify(node.source.slice(0, 80))}` : undefined);
    return undefined;
  }

  function scalarOf(node: Scalar.Parsed, path: string, position: Position | undefined): DocumentNode {
    const value: unknown = node.value;
    if (typeof value === 'boolean') return scalarNode({ path, position, value });
    if (typeof value === 'number') return scalarNode({ path, position, value, integer: integerOf(node.source) });
    if (typeof value !== 'string') return scalarNode({ path, position, value: null });
    if (!value.isWellFormed()) report('yaml_syntax', path, position, 'half a surrogate pair is not a character');
    return scalarNode({ path, position, value, locate: (offset) => locate(node, value, offset) ?? position });
  }

  function locate(node: Scalar.Parsed, value: string, offset: number): Position | undefined {
    const style = node.type ?? 'PLAIN';
    const [start, end] = node.range;
    let from = start;
    if (style === 'QUOTE_DOUBLE' || style === 'QUOTE_SINGLE') from += 1;
    // The content of a block begins behind its header line.
    else if (style === 'BLOCK_LITERAL' || style === 'BLOCK_FOLDED') from = text.indexOf('\n', start) + 1;
    const found = sourceOffset(text.slice(from, end), style, value, Math.min(offset, value.length));
    return found === undefined ? undefined : positionAt(from + found);
  }

  const converted = convert(document.contents, root, 0);
  return stopped ? undefined : converted;
}

type Items = readonly (ParsedNode | null)[];
type Pairs = readonly Pair<ParsedNode | null, ParsedNode | null>[];

function isEmpty(node: ParsedNode | null): boolean {
  return node === null || (isScalar(node) && node.type === 'PLAIN' && node.source === '');
}

function shownTag(tag: string | undefined): string {
  return (tag ?? '').replace(/^tag:yaml\.org,2002:/, '!!').slice(0, 60);
}

const integerCharactersMax = 400;

/** The exact value of an integer of the core schema. One of more characters than any number needs is read as what it nearly is. */
function integerOf(source: string): bigint | undefined {
  if (!/^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$/.test(source)) return undefined;
  const digits = source.replace(/^\+/, '').slice(0, integerCharactersMax);
  return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits);
}
