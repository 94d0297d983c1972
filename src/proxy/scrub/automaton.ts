/** States whose every step is in a table: the shallow ones, where nearly all of a text that holds no secret is spent. */
const tabledStatesMax = 128;

/**
 * An Aho-Corasick automaton over bytes. States are numbered breadth first, so that the children of a state are a range: deep states,
 * which have one child as a rule, cost 20 bytes each. A state stands for the longest end of the text that begins some pattern.
 */
export type Automaton = {
  readonly states: number;
  /** The state after one more byte. Amortised constant time. */
  readonly step: (state: number, byte: number) => number;
  /** Length of the longest pattern that ends here; 0 for none. */
  readonly matched: Uint32Array;
  /** Length of the longest end of the text that begins a pattern and is not all of it: what more bytes could make a match of. */
  readonly open: Uint32Array;
  readonly bytes: number;
};

type Trie = { readonly children: Map<number, Trie>; length: number };

export function buildAutomaton(patterns: readonly Buffer[]): Automaton {
  const nodes = breadthFirst(trieOf(patterns));
  const states = nodes.length;
  const label = new Uint8Array(states);
  const firstChild = new Uint32Array(states + 1);
  const fail = new Uint32Array(states);
  const matched = new Uint32Array(states);
  const open = new Uint32Array(states);
  const depth = new Uint32Array(states);
  const tabled = Math.min(states, tabledStatesMax);
  const table = new Uint32Array(tabled * 256);

  let next = 1;
  nodes.forEach((node, state) => {
    firstChild[state] = next;
    for (const byte of node.children.keys()) {
      label[next] = byte;
      depth[next] = depth[state]! + 1;
      next += 1;
    }
  });
  firstChild[states] = next;

  function step(from: number, byte: number): number {
    let state = from;
    while (state >= tabled) {
      const end = firstChild[state + 1]!;
      for (let child = firstChild[state]!; child < end; child += 1) if (label[child] === byte) return child;
      state = fail[state]!;
    }
    return table[(state << 8) | byte]!;
  }

  // Breadth first: what a state falls back to is shallower, and so is complete before it is needed.
  for (let state = 0; state < states; state += 1) {
    const node = nodes[state]!;
    matched[state] = Math.max(node.length, matched[fail[state]!]!);
    open[state] = node.children.size > 0 ? depth[state]! : open[fail[state]!]!;
    if (state < tabled && state > 0) table.copyWithin(state << 8, fail[state]! << 8, (fail[state]! << 8) + 256);
    for (let child = firstChild[state]!; child < firstChild[state + 1]!; child += 1) {
      fail[child] = state === 0 ? 0 : step(fail[state]!, label[child]!);
    }
    if (state < tabled) for (let child = firstChild[state]!; child < firstChild[state + 1]!; child += 1) table[(state << 8) | label[child]!] = child;
  }
  return { states, step, matched, open, bytes: table.byteLength + states * 17 };
}

function trieOf(patterns: readonly Buffer[]): Trie {
  const root: Trie = { children: new Map(), length: 0 };
  for (const pattern of patterns) {
    let node = root;
    for (const byte of pattern) {
      let child = node.children.get(byte);
      if (child === undefined) node.children.set(byte, (child = { children: new Map(), length: 0 }));
      node = child;
    }
    node.length = pattern.length;
  }
  return root;
}

function breadthFirst(root: Trie): readonly Trie[] {
  const nodes = [root];
  for (const node of nodes) nodes.push(...node.children.values());
  return nodes;
}
