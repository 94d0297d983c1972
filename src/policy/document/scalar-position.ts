/**
 * Offsets in the text of a scalar for offsets in its value: a CEL error at character 17 of a folded block is shown where it stands in the
 * file. Both texts are walked together; runs of white space stand for each other (folding, indentation), `''`, `\"` and `\\` for one
 * character. Gives undefined where the two do not match (other escapes), so that the caller falls back to the scalar's start.
 */
export function sourceOffset(source: string, value: string, offset: number): number | undefined {
  let at = 0;
  let index = 0;
  // Leading white space of the source belongs to quotes, block headers and indentation.
  while (at < source.length && isSpace(source[at]) && !isSpace(value[0])) at += 1;
  while (index < offset) {
    if (index >= value.length) return undefined;
    if (isSpace(value[index])) {
      if (!isSpace(source[at])) return undefined;
      while (index < offset && isSpace(value[index])) index += 1;
      if (index >= offset && isSpace(value[index])) return at;
      while (isSpace(source[at])) at += 1;
      continue;
    }
    const width = matchedWidth(source, at, value[index]);
    if (width === undefined) return undefined;
    at += width;
    index += 1;
    // White space at the end of a line is dropped by folding only together with the line break.
  }
  return at;
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\t' || character === '\r';
}

function matchedWidth(source: string, at: number, wanted: string | undefined): number | undefined {
  const character = source[at];
  const next = source[at + 1];
  if (character === "'" && wanted === "'" && next === "'") return 2;
  if (character === '\\' && next === wanted && (wanted === '"' || wanted === '\\')) return 2;
  return character === wanted ? 1 : undefined;
}
