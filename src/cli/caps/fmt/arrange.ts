import type { Document, Node, Pair, YAMLMap, YAMLSeq } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, Scalar, visit } from 'yaml';
import { alwaysBlock, alwaysQuoted, keyOrder, mayBeBlock } from './key-order.ts';
import type { ScalarStyles } from './scalar-style.ts';
import { foldedLines, refolded, styleOf } from './scalar-style.ts';

/** Brings a parsed document into canonical form, in place: order of keys, blank lines, styles of scalars. Values stay as they are. */
export function arrange(document: Document.Parsed, text: string, styles: ScalarStyles): void {
  let aliases = false;
  visit(document, { Alias: () => { aliases = true; return visit.BREAK; } });
  const root = document.contents as Node | null;
  // An alias must stand behind its anchor: with aliases, keys stay where they are.
  oneEmptyLine(document);
  if (root !== null) walk(root, undefined, false);

  function walk(node: Node, place: string | undefined, inFlow: boolean, listed = false): void {
    oneEmptyLine(node);
    if (isAlias(node)) return;
    if (isScalar(node)) return style(node, place, inFlow);
    if (!inFlow && (isSeq(node) || isMap(node)) && asBlock(node, place)) node.flow = false;
    if (isSeq(node)) return list(node, place, inFlow || node.flow === true);
    if (isMap(node)) map(node, place, inFlow || node.flow === true, listed);
  }

  /** What was `{…}` or `[…]` over several lines reads better without them. What has nothing in it can only be written as [] or {}. */
  function asBlock(node: YAMLMap | YAMLSeq, place: string | undefined): boolean {
    if (node.items.length === 0) return false;
    if (node === root) return true;
    return place !== undefined && (alwaysBlock(place, isSeq(node)) || (mayBeBlock(place) && text.slice(...(node.range ?? [0, 0])).includes('\n')));
  }

  function list(node: YAMLSeq, place: string | undefined, inFlow: boolean): void {
    const capabilities = node === root;
    for (const [index, item] of (node.items as Node[]).entries()) {
      // One empty line between capabilities, none in front of the first entry of any list.
      if (index === 0) item.spaceBefore = false;
      else if (capabilities && !inFlow) item.spaceBefore = true;
      walk(item, capabilities ? '' : place, inFlow, true);
    }
  }

  function map(node: YAMLMap, place: string | undefined, inFlow: boolean, listed: boolean): void {
    const pairs = node.items as Pair<Scalar, Node | null>[];
    const order = place === undefined || aliases ? undefined : keyOrder(place);
    if (order !== undefined) reorder(node, pairs, order, listed);
    for (const [index, { key, value }] of pairs.entries()) {
      oneEmptyLine(key);
      style(key, undefined, inFlow);
      if (index === 0) key.spaceBefore = false;
      const name = String(key.value);
      const below = place === undefined ? undefined : place === '' ? name : `${place}.${name}`;
      if (value !== null) walk(value, below, inFlow);
    }
  }

  function style(node: Scalar, place: string | undefined, inFlow: boolean): void {
    const [from, to] = node.range ?? [0, 0];
    const source = text.slice(from, to);
    const { value } = node;
    // A block without text cannot show where it ends.
    if (typeof value === 'string' && value.trim() === '') {
      node.type = Scalar.QUOTE_DOUBLE;
      return;
    }
    if (typeof value !== 'string') {
      // 0x1F, 1e3 and integers beyond 2^53 keep their spelling.
      if (source !== '') styles.verbatim.set(node, source);
      if (source !== '') node.value = source;
      return;
    }
    const lines = node.type === 'BLOCK_FOLDED' ? foldedLines(source) : node.type === 'BLOCK_LITERAL' ? undefined : refolded(source, value);
    if (lines !== undefined) styles.folded.set(node, lines);
    else if (node.type !== 'BLOCK_LITERAL' && node.type !== 'BLOCK_FOLDED') node.type = styleOf(value, inFlow, place !== undefined && alwaysQuoted(place));
  }
}

/** Between comments at most one line is empty. A line with nothing but `#` is not. */
function oneEmptyLine(node: Node | Document): void {
  if (node.commentBefore) node.commentBefore = node.commentBefore.replace(/\n{3,}/g, '\n\n');
  if (node.comment) node.comment = node.comment.replace(/\n{3,}/g, '\n\n');
}

/** Known keys in their order, then the others as they were. A comment above the first key of a nested map belongs to that key, one above an entry of a list to the entry. */
function reorder(node: YAMLMap, pairs: Pair<Scalar, Node | null>[], order: readonly string[], listed: boolean): void {
  const rank = ({ key }: Pair<Scalar>): number => {
    const at = order.indexOf(String(key.value));
    return at === -1 ? order.length : at;
  };
  const sorted = pairs.toSorted((a, b) => rank(a) - rank(b));
  const [first] = pairs;
  if (!listed && first !== undefined && first !== sorted[0] && node.commentBefore) {
    first.key.commentBefore = [node.commentBefore, first.key.commentBefore].filter(Boolean).join('\n');
    node.commentBefore = null;
  }
  node.items.splice(0, node.items.length, ...sorted);
}
