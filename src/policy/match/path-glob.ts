/**
 * A path glob (contract 2.7): `*` is any run without `/`, `**` any run at all, both also empty; nothing else is special and nothing is
 * decoded. Compiled to the states of a small automaton that are all followed at once: time is length of path times length of glob at
 * worst, whatever the glob.
 */
export type PathGlob = { readonly source: string; matches(path: string): boolean };

type Part = { readonly text: string } | { readonly star: 'segment' | 'path' };

export function compileGlob(source: string): PathGlob {
  const parts = partsOf(source);
  const [only, next] = parts;
  if (parts.length === 1 && only !== undefined && 'text' in only) return { source, matches: (path) => path === only.text };
  if (parts.length === 2 && only !== undefined && 'text' in only && next !== undefined && 'star' in next) {
    const { text } = only;
    return next.star === 'path'
      ? { source, matches: (path) => path.startsWith(text) }
      : { source, matches: (path) => path.startsWith(text) && !path.includes('/', text.length) };
  }
  return { source, matches: (path) => run(parts, path) };
}

/** Adjacent stars are one: any two of them are `**`. */
export function partsOf(source: string): readonly Part[] {
  return (source.match(/\*+|[^*]+/g) ?? []).map((text): Part => (text.startsWith('*') ? { star: text.length === 1 ? 'segment' : 'path' } : { text }));
}

/** Ends of what the parts so far can have consumed, part by part. */
function run(parts: readonly Part[], path: string): boolean {
  let ends: ReadonlySet<number> = new Set([0]);
  for (const part of parts) {
    if (ends.size === 0) return false;
    ends = 'text' in part ? afterText(part.text, path, ends) : afterStar(part.star, path, ends);
  }
  return ends.has(path.length);
}

function afterText(text: string, path: string, ends: ReadonlySet<number>): ReadonlySet<number> {
  const next = new Set<number>();
  for (const end of ends) if (path.startsWith(text, end)) next.add(end + text.length);
  return next;
}

function afterStar(star: 'segment' | 'path', path: string, ends: ReadonlySet<number>): ReadonlySet<number> {
  const next = new Set<number>();
  let open = false;
  for (let at = 0; at <= path.length; at += 1) {
    if (ends.has(at)) open = true;
    if (open) next.add(at);
    if (star === 'segment' && path[at] === '/') open = false;
  }
  return next;
}
