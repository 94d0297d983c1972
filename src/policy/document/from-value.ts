import type { Reporter } from '../problem.ts';
import { childPath, listNode, mapNode, scalarNode } from './build.ts';
import { documentLimits } from './limits.ts';
import type { DocumentNode, MapEntry } from './node.ts';

const root = 'capabilities';

/** A parsed JSON value (or one made by a program) to nodes without positions. What JSON cannot hold is a problem, never an exception. */
export function documentFromValue(document: unknown, reporter: Reporter): DocumentNode | undefined {
  const open = new Set<object>();
  let nodes = 0;
  let stopped = false;

  function stop(slug: 'document_too_many_nodes' | 'document_too_deep', path: string, message: string): undefined {
    stopped = true;
    reporter.problem(slug, { path, position: undefined }, message);
    return undefined;
  }

  function wrong(path: string, what: string): undefined {
    reporter.problem('wrong_type', { path, position: undefined }, `${what} is not a JSON value`);
    return undefined;
  }

  function convert(value: unknown, path: string, depth: number): DocumentNode | undefined {
    if (stopped) return undefined;
    nodes += 1;
    if (nodes > documentLimits.nodesMax) return stop('document_too_many_nodes', path, `the document has more than ${documentLimits.nodesMax} values`);
    if (depth > documentLimits.depthMax) return stop('document_too_deep', path, `lists and maps are nested deeper than ${documentLimits.depthMax} levels`);
    if (value === null || typeof value === 'boolean') return scalarNode({ path, position: undefined, value });
    if (typeof value === 'string') return value.isWellFormed() ? scalarNode({ path, position: undefined, value }) : wrong(path, 'a text with half a surrogate pair');
    if (typeof value === 'bigint') return scalarNode({ path, position: undefined, value: Number(value), integer: value });
    // Beyond 2^53 the digits that were written are lost already.
    if (typeof value === 'number') return Number.isFinite(value) ? scalarNode({ path, position: undefined, value, integer: Number.isSafeInteger(value) ? BigInt(value) : undefined }) : wrong(path, String(value));
    if (typeof value !== 'object') return wrong(path, `a ${typeof value}`);
    if (open.has(value)) return wrong(path, 'a value that contains itself');
    open.add(value);
    const converted = Array.isArray(value) ? listOf(value, path, depth) : mapOf(value, path, depth);
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
      const node = convert(value, childPath(path, key), depth + 1);
      if (stopped) break;
      if (node !== undefined) entries.push({ key, keyPosition: undefined, value: node });
    }
    return mapNode(path, undefined, entries);
  }

  return convert(document, root, 0);
}
