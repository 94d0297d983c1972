import type { ParsedNode, YAMLWarning } from 'yaml';

/** Where tags stand that the parser could not resolve. The parser notes them in the order of the text, each before its node. */
export function createTagPlaces(warnings: readonly YAMLWarning[]) {
  const places = warnings.filter((warning) => warning.code === 'TAG_RESOLVE_FAILED' || warning.code === 'BAD_COLLECTION_TYPE').map((warning) => warning.pos[0]).sort((a, b) => a - b);
  let next = 0;
  return {
    /** The place of a bad tag in front of this node. Nodes are asked for in the order of the text, each once. */
    before(node: ParsedNode): number | undefined {
      const place = places[next];
      if (place === undefined || place > node.range[0]) return undefined;
      next += 1;
      return place;
    },
  };
}
