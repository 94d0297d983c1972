import type { CelNode } from './node.ts';

/**
 * Where a node's text starts. The library points at the dot of a selection or method, at the bracket of an index and at the operator of
 * an operation; a caret reads better under the start of what is meant.
 */
export function startOf(node: CelNode): number {
  if (node.kind === 'select') return startOf(node.operand);
  if (node.kind === 'fold') return startOf(node.range);
  if (node.kind !== 'call') return node.offset;
  if (node.target !== undefined) return startOf(node.target);
  const [first] = node.args;
  const infix = /^_.+[_\]]$/.test(node.name) || node.name === '@in';
  return infix && first !== undefined ? Math.min(node.offset, startOf(first)) : node.offset;
}
