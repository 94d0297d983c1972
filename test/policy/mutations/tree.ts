/**
 * A document as a tree in which every value has a path, and its text as JSON with one value per line, so that the line of every path is
 * known. Maps are lists of entries: a mutation may repeat a key.
 */
export type Tree =
  | { readonly kind: 'map'; readonly entries: readonly (readonly [key: string, value: Tree])[] }
  | { readonly kind: 'list'; readonly items: readonly Tree[] }
  | { readonly kind: 'scalar'; readonly json: string };

export type Step = string | number;

export function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(treeOf) };
  if (typeof value === 'object' && value !== null) return { kind: 'map', entries: Object.entries(value).map(([key, child]) => [key, treeOf(child)] as const) };
  return { kind: 'scalar', json: JSON.stringify(value) };
}

export function stringOf(tree: Tree): string | undefined {
  return tree.kind === 'scalar' && tree.json.startsWith('"') ? (JSON.parse(tree.json) as string) : undefined;
}

/** Every place below the root, with the steps that lead to it. */
export function* placesIn(tree: Tree, steps: readonly Step[] = []): Generator<{ readonly steps: readonly Step[]; readonly tree: Tree }> {
  const children: (readonly [Step, Tree])[] = tree.kind === 'map' ? [...tree.entries] : tree.kind === 'list' ? [...tree.items.entries()] : [];
  for (const [step, child] of children) {
    const at = [...steps, step];
    yield { steps: at, tree: child };
    yield* placesIn(child, at);
  }
}

/** The tree with the entries at one place replaced: by none, one or several. Each replacement is `[key, value]`; the key counts in maps only. */
export function replaceAt(tree: Tree, steps: readonly Step[], replace: (key: string, value: Tree) => readonly (readonly [string, Tree])[]): Tree {
  const [step, ...rest] = steps;
  if (tree.kind === 'scalar' || step === undefined) return tree;
  if (tree.kind === 'list') {
    return { kind: 'list', items: tree.items.flatMap((item, index) => (index !== step ? [item] : rest.length > 0 ? [replaceAt(item, rest, replace)] : replace('', item).map(([, value]) => value))) };
  }
  return { kind: 'map', entries: tree.entries.flatMap(([key, value]) => (key !== step ? [[key, value] as const] : rest.length > 0 ? [[key, replaceAt(value, rest, replace)] as const] : replace(key, value))) };
}

/** The path of a problem as the engine writes it. */
export function pathOf(steps: readonly Step[]): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    return /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/.test(step) ? `${path}.${step}` : `${path}[${JSON.stringify(step)}]`;
  }, 'capabilities');
}

/** The text, and for each path its first and last line. A repeated key has the lines of all its entries. */
export function textOf(tree: Tree): { readonly text: string; readonly lines: ReadonlyMap<string, readonly [first: number, last: number]> } {
  const out: string[] = [''];
  const lines = new Map<string, readonly [number, number]>();
  const write = (text: string) => { out[out.length - 1] += text; };
  const visit = (node: Tree, steps: readonly Step[]) => {
    const path = pathOf(steps);
    const first = lines.get(path)?.[0] ?? out.length;
    if (node.kind === 'scalar') write(node.json);
    else {
      const [open, close] = node.kind === 'map' ? ['{', '}'] : ['[', ']'];
      const children = node.kind === 'map' ? node.entries : node.items.map((item, index) => [index, item] as const);
      write(open);
      for (const [index, [step, child]] of children.entries()) {
        out.push('  '.repeat(steps.length + 1));
        if (typeof step === 'string') write(`${JSON.stringify(step)}: `);
        visit(child, [...steps, step]);
        if (index < children.length - 1) write(',');
      }
      if (children.length > 0) out.push('  '.repeat(steps.length));
      write(close);
    }
    lines.set(path, [first, out.length]);
  };
  visit(tree, []);
  return { text: `${out.join('\n')}\n`, lines };
}

/** The plain value of a tree, where no key is repeated. */
export function valueOf(tree: Tree): unknown {
  return JSON.parse(textOf(tree).text);
}
