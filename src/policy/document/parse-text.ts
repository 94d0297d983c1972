import { LineCounter, isAlias, isMap, isScalar, isSeq, parseAllDocuments } from 'yaml';
import type { Document, Node, Pair, ParsedNode, Scalar } from 'yaml';
import type { Reporter } from '../problem.ts';
import { childPath, listNode, mapNode, scalarNode } from './build.ts';
import { documentLimits } from './limits.ts';
import type { DocumentNode, MapEntry, Position } from './node.ts';
import { sourceOffset } from './scalar-position.ts';

const root = 'capabilities';

/**
 * YAML 1.2 core (JSON is a part of it) to nodes with positions. Problems are reported, nothing is thrown; a tree is given even beside
 * problems where one could be read, so that everything wrong with a document is said at once.
 */
export function parseDocumentText(written: string, reporter: Reporter): DocumentNode | undefined {
  // A byte order mark is no character of the document, and editors do not count it.
  const text = written.startsWith('\ufeff') ? written.slice(1) : written;
  const start = { path: root, position: { line: 1, column: 1 } };
  const bytes = Buffer.byteLength(text);
  if (bytes > documentLimits.textBytesMax) {
    reporter.problem('document_too_large', start, `the document has ${bytes} bytes, more than ${documentLimits.textBytesMax}`);
    return undefined;
  }
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const bad = badCharacter(text);
  // YAML 1.2 whatever a %YAML directive says: 1.1 would read `no` as false and 010 as 8.
  const parsed = parseAllDocuments(text, { version: '1.2', schema: 'core', uniqueKeys: false, merge: false, prettyErrors: false, logLevel: 'silent', lineCounter: lines });
  if (bad !== undefined) {
    reporter.problem('yaml_syntax', { path: root, position: positionAt(bad) }, `character U+${text.charCodeAt(bad).toString(16).toUpperCase().padStart(4, '0')} is not allowed in YAML`);
    return undefined;
  }
  const [document, second] = Array.isArray(parsed) ? parsed : [];
  if (second !== undefined) reporter.problem('multiple_documents', { path: root, position: positionAt(second.range[0]) }, 'a capability document is one YAML document, not several');
  if (document?.contents === null || document === undefined) {
    if ((document?.errors.length ?? 0) === 0) reporter.problem('document_not_list', start, 'the document is empty', { hint: 'write [] to allow nothing' });
    else if (document !== undefined) reportSyntax(document, positionAt, reporter);
    return undefined;
  }
  if (!reportSyntax(document, positionAt, reporter)) return undefined;
  return createConverter(text, positionAt, reporter).convert(document.contents, root, 0);
}

/** Control characters but tab and line breaks, and halves of surrogate pairs. */
function badCharacter(text: string): number | undefined {
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.exec(text);
  if (control !== null) return control.index;
  if (text.isWellFormed()) return undefined;
  return /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text)?.index;
}

/** True when the tree may be read on: a text nested beyond the parser's means has none. */
function reportSyntax(document: Document.Parsed, positionAt: (offset: number) => Position, reporter: Reporter): boolean {
  const exhausted = document.errors.find((error) => error.code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) {
    reporter.problem('document_too_deep', { path: root, position: positionAt(exhausted.pos[0]) }, `lists and maps are nested deeper than ${documentLimits.depthMax} levels`);
    return false;
  }
  for (const error of document.errors.slice(0, documentLimits.syntaxProblemsMax)) {
    reporter.problem('yaml_syntax', { path: root, position: positionAt(error.pos[0]) }, error.message.replace(/\s+/g, ' ').slice(0, 200));
  }
  return document.errors.length === 0;
}

const coreTags: ReadonlySet<string> = new Set(['tag:yaml.org,2002:str', 'tag:yaml.org,2002:int', 'tag:yaml.org,2002:float', 'tag:yaml.org,2002:bool', 'tag:yaml.org,2002:null', 'tag:yaml.org,2002:seq', 'tag:yaml.org,2002:map']);

function createConverter(text: string, positionAt: (offset: number) => Position, reporter: Reporter) {
  const anchors = new Map<string, ParsedNode>();
  const open = new Set<Node>();
  let nodes = 0;
  let aliases = 0;
  let stopped = false;

  const startOf = (node: Node | null | undefined): Position | undefined => (node?.range ? positionAt(node.range[0]) : undefined);

  /** Undefined when a bound is passed or a value cannot be read; it is reported then. */
  function convert(node: ParsedNode | null, path: string, depth: number): DocumentNode | undefined {
    if (stopped) return undefined;
    const position = startOf(node);
    nodes += 1;
    if (nodes > documentLimits.nodesMax) return stop('document_too_many_nodes', `the document has more than ${documentLimits.nodesMax} values`, path, position);
    if (depth > documentLimits.depthMax) return stop('document_too_deep', `lists and maps are nested deeper than ${documentLimits.depthMax} levels`, path, position);
    if (node === null) return scalarNode({ path, position: undefined, value: null });
    if (isAlias(node)) return followed(node.source, path, depth, position);
    if (node.tag !== undefined && !coreTags.has(node.tag)) {
      reporter.problem('unknown_tag', { path, position }, `tag ${node.tag.slice(0, 60)} is not supported`);
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    open.add(node);
    const converted = isMap(node) ? mapOf(node.items, path, depth, position) : isSeq(node) ? listOf(node.items, path, depth, position) : isScalar(node) ? scalarOf(node, path, position) : undefined;
    open.delete(node);
    return converted;
  }

  function stop(slug: 'document_too_many_nodes' | 'document_too_deep' | 'alias_not_allowed', message: string, path: string, position: Position | undefined): undefined {
    stopped = true;
    reporter.problem(slug, { path, position }, message);
    return undefined;
  }

  function followed(name: string, path: string, depth: number, position: Position | undefined): DocumentNode | undefined {
    aliases += 1;
    if (aliases > documentLimits.aliasesMax) return stop('alias_not_allowed', `more than ${documentLimits.aliasesMax} aliases, counted after they are followed`, path, position);
    const target = anchors.get(name);
    if (target === undefined || open.has(target)) {
      reporter.problem('alias_not_allowed', { path, position }, target === undefined ? `*${name} is an alias for nothing` : `*${name} contains itself`);
      return undefined;
    }
    return convert(target, path, depth);
  }

  function listOf(items: readonly (ParsedNode | null)[], path: string, depth: number, position: Position | undefined): DocumentNode {
    const read: DocumentNode[] = [];
    for (const [index, item] of items.entries()) {
      const node = convert(item, childPath(path, index), depth + 1);
      if (stopped) break;
      if (node !== undefined) read.push(node);
    }
    return listNode(path, position, read);
  }

  function mapOf(pairs: readonly Pair<ParsedNode, ParsedNode | null>[], path: string, depth: number, position: Position | undefined): DocumentNode {
    const entries = new Map<string, MapEntry>();
    for (const pair of pairs) {
      const keyPosition = startOf(pair.key);
      if (!isScalar(pair.key) || typeof pair.key.value !== 'string') {
        reporter.problem('key_not_string', { path, position: keyPosition ?? position }, 'a key must be a plain string');
        continue;
      }
      const key = pair.key.value;
      const value = convert(pair.value, childPath(path, key), depth + 1);
      if (stopped) break;
      if (entries.has(key)) reporter.problem('duplicate_key', { path: childPath(path, key), position: keyPosition }, `key ${JSON.stringify(key.slice(0, 80))} occurs twice`);
      else if (value !== undefined) entries.set(key, { key, keyPosition, value: value.position === undefined ? placed(value, keyPosition) : value });
    }
    return mapNode(path, position, [...entries.values()]);
  }

  /** A value left out (`key:`) stands nowhere: it is reported at its key. */
  function placed(node: DocumentNode, position: Position | undefined): DocumentNode {
    return { ...node, position };
  }

  function scalarOf(node: Scalar.Parsed, path: string, position: Position | undefined): DocumentNode {
    const value: unknown = node.value;
    if (typeof value === 'string') return scalarNode({ path, position, value, locate: (offset) => locate(node, value, offset) ?? position });
    if (typeof value === 'boolean' || value === null) return scalarNode({ path, position, value });
    if (typeof value === 'number') return scalarNode({ path, position, value, integer: integerOf(node.source) });
    // Other types come from other tags only, which are reported.
    return scalarNode({ path, position, value: null });
  }

  function locate(node: Scalar.Parsed, value: string, offset: number): Position | undefined {
    const [from, to] = node.range;
    let contentFrom = from;
    if (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE') contentFrom += 1;
    // The content of a block begins behind its header line.
    else if (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED') contentFrom = text.indexOf('\n', from) + 1;
    const found = sourceOffset(text.slice(contentFrom, to), value, Math.min(offset, value.length));
    return found === undefined ? undefined : positionAt(contentFrom + found);
  }

  return { convert };
}

/** The exact value of an integer of the core schema. */
function integerOf(source: string | undefined): bigint | undefined {
  if (source === undefined || !/^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$/.test(source)) return undefined;
  const digits = source.replace(/^\+/, '');
  return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits);
}
