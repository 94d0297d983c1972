import type { CST } from 'yaml';

/**
 * Gives comments behind the last entry of a list or map back to the level that their indentation says, in place. The parser does so only
 * where all of them stand further left: a field commented out, then a comment on what follows, would both go to the inner level.
 */
export function rehomeComments(document: CST.Document): void {
  const left = document.value === undefined ? [] : leaving(document.value);
  if (left.length > 0) document.end = [...left, ...(document.end ?? [])];
}

/** The tokens at the end of a block that belong further out. Depth is bounded by the reader of documents. */
function leaving(token: CST.Token): CST.SourceToken[] {
  if (token.type !== 'block-map' && token.type !== 'block-seq') return [];
  const items = token.items as CST.CollectionItem[];
  for (let at = 0; at < items.length; at += 1) {
    const value = items[at]?.value;
    const left = value === undefined || value === null ? [] : leaving(value);
    if (left.length === 0) continue;
    const next = items[at + 1];
    if (next === undefined) items.push({ start: left });
    else next.start.unshift(...left);
  }
  const last = items.at(-1);
  if (last === undefined || last.key !== undefined || last.sep !== undefined || last.value !== undefined) return [];
  const outside = last.start.findIndex((part) => part.type === 'comment' && part.indent < token.indent);
  if (outside === -1 || last.start.some(({ type }) => type === 'seq-item-ind' || type === 'explicit-key-ind')) return [];
  const from = endOfLineBefore(last.start, outside);
  const left = last.start.splice(from);
  if (!last.start.some(({ type }) => type === 'comment')) {
    left.unshift(...last.start);
    items.pop();
  }
  return left;
}

/** Behind the line break that ends the comment before; the empty lines between the two go with the second. */
function endOfLineBefore(parts: readonly CST.SourceToken[], at: number): number {
  const before = parts.slice(0, at).findLastIndex(({ type }) => type === 'comment');
  return before === -1 ? 0 : Math.min(at, before + 2);
}
