import type { Reporter } from '../problem.ts';
import { childPath, listNode, mapNode, scalarNode } from './build.ts';
import { documentLimits } from './limits.ts';
import type { DocumentNode, MapEntry } from './node.ts';

const root = 'capabilities';

/**
 * A parsed JSON value (or one made by a program) to nodes without positions. What JSON cannot hold is a problem, never an exception; no
 * tree is given beside one, as values would be missing in it.
 */
export function documentFromValue(document: unknown, reporter: Reporter): DocumentNode | undefined {
  const open = new Set<object>();
  let nodes = 0;
  let bytes = 0;
  let stopped = false;
  let sound = true;

  function stop(slug: 'document_too_large' | 'document_too_many_nodes' | 'document_too_deep', path: string, message: string): undefined {
    stopped = true;
    reporter.problem(slug, { path, position: undefined }, message);
    return undefined;
  }

  function wrong(path: string, what: string): undefined {
    sound = false;
    reporter.problem('wrong_type', { path, position: undefined }, `${what} is not a JSON value`);
    return undefined;
  }

  function half(path: string): undefined {
    sound = false;
    reporter.problem('yaml_syntax', { path, position: undefined }, 'half a surrogate pair is not a character');
    return undefined;
  }

  /** Texts count as in a document: a map of ten names can be as large as any file. */
  function isText(text: string): boolean {
    bytes += text.length > documentLimits.textBytesMax ? text.length : Buffer.byteLength(text);
    return text.isWellFormed();
  }

  function convert(value: unknown, path: string, depth: number): DocumentNode | undefined {
    if (stopped) return undefined;
    nodes += 1;
    if (nodes > documentLimits.nodesMax) return stop('document_too_many_nodes', path, `the document has more than ${documentLimits.nodesMax} values`);
    if (depth > documentLimits.depthMax) return stop('document_too_deep', path, `lists and maps are nested deeper than ${documentLimits.depthMax} levels`);
    const converted = typeof value === 'object' && value !== null ? collection(value, path, depth) : scalar(value, path);
    return bytes > documentLimits.textBytesMax && !stopped ? stop('document_too_large', path, `the texts of the document have more than ${documentLimits.textBytesMax} bytes`) : converted;
  }

  function scalar(value: unknown, path: string): DocumentNode | undefined {
    const position = undefined;
    if (value === null || typeof value === 'boolean') return scalarNode({ path, position, value });
    if (typeof value === 'string') return isText(value) ? scalarNode({ path, position, value }) : half(path);
    if (typeof value === 'bigint') return scalarNode({ path, position, value: Number(value), integer: value });
    if (typeof value !== 'number') return wrong(path, value === undefined ? 'undefined' : `a ${typeof value}`);
    if (!Number.isFinite(value)) return wrong(path, String(value));
    // Beyond 2^53 the digits that were written are lost already.
    return scalarNode({ path, position, value, integer: Number.isSafeInteger(value) ? BigInt(value) : undefined });
  }

  function collection(value: object, path: string, depth: number): DocumentNode | undefined {
    if (open.has(value)) return wrong(path, 'a value that contains itself');
    const list = Array.isArray(value);
    if (!list && !isPlain(value)) return wrong(path, 'an object of a class');
    open.add(value);
    const converted = list ? listOf(value, path, depth) : mapOf(value, path, depth);
    open.delete(value);
    return converted;
  }

  function listOf(items: readonly unknown[], path: string, depth: number): DocumentNode {
    const read: DocumentNode[] = [];
    for (const [index, item] of items.entries()) {
      const node = convert(item, childPath(path, index), depth + 1);
      if (stopped) break;
      if (node !== undefined) read.push(node);
    }
    return listNode(path, undefined, read);
  }

  function mapOf(object: object, path: string, depth: number): DocumentNode {
    const entries: MapEntry[] = [];
    for (const [key, value] of Object.entries(object)) {
      const valuePath = childPath(path, key);
      if (!isText(key)) half(valuePath);
      const node = convert(value, valuePath, depth + 1);
      if (stopped) break;
      if (node !== undefined) entries.push({ key, keyPosition: undefined, value: node });
    }
    return mapNode(path, undefined, entries);
  }

  const converted = convert(document, root, 0);
  return stopped || !sound ? undefined : converted;
}

/** What JSON.parse makes, and objects without a prototype: a Map or a Date would be read as an empty map. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
