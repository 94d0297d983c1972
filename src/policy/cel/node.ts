/** Our own syntax tree: smaller than the library's, so that checker and emitter have nothing else to know. `offset` is UTF-16 units from 0. */
export type CelLiteral =
  | { readonly type: 'null'; readonly value: null }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'int' | 'uint'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: Uint8Array };

export type LiteralNode = { readonly kind: 'literal'; readonly offset: number; readonly literal: CelLiteral };

/** `rooted`: written with a leading dot, so never a loop variable. */
export type IdentifierNode = { readonly kind: 'identifier'; readonly offset: number; readonly name: string; readonly rooted: boolean };

export type SelectNode = { readonly kind: 'select'; readonly offset: number; readonly operand: CelNode; readonly field: string };

export type HasNode = { readonly kind: 'has'; readonly offset: number; readonly operand: CelNode; readonly field: string };

/** `macro` names the macro that a call was made by and not written: its problems are told in the macro's words. */
export type CallNode = {
  readonly kind: 'call';
  readonly offset: number;
  readonly name: string;
  readonly target: CelNode | undefined;
  readonly args: readonly CelNode[];
  readonly macro: string | undefined;
};

export type ListNode = { readonly kind: 'list'; readonly offset: number; readonly elements: readonly CelNode[] };

export type MapNode = { readonly kind: 'map'; readonly offset: number; readonly entries: readonly { readonly key: CelNode; readonly value: CelNode }[] };

/** `name{...}`: no message type is declared, so it is always a problem. */
export type MessageNode = { readonly kind: 'message'; readonly offset: number; readonly name: string };

/** A macro over a list or a map. The accumulator is an identifier named `@result`, which nobody can write. */
export type FoldNode = {
  readonly kind: 'fold';
  readonly offset: number;
  readonly macro: string;
  readonly variable: string;
  readonly range: CelNode;
  readonly initial: CelNode;
  readonly condition: CelNode;
  readonly step: CelNode;
  readonly result: CelNode;
};

/** `@result + [item]` of `map` and `filter`, kept apart so that it appends in place. */
export type AppendNode = { readonly kind: 'append'; readonly offset: number; readonly list: CelNode; readonly item: CelNode };

export type CelNode = LiteralNode | IdentifierNode | SelectNode | HasNode | CallNode | ListNode | MapNode | MessageNode | FoldNode | AppendNode;

export const accumulatorName = '@result';

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
