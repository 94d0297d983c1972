import type { DocumentNode, ListNode, MapEntry, MapNode, Position, ScalarNode } from './node.ts';

/** A key as a path part: `.name`, or quoted where it is no plain word. */
export function childPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  return /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key.slice(0, 100))}]`;
}

export function mapNode(path: string, position: Position | undefined, entries: readonly MapEntry[]): MapNode {
  // A Map, as `entries['__proto__']` would not be an entry.
  const byKey = new Map(entries.map((entry) => [entry.key, entry.value]));
  return { kind: 'map', path, position, entries, get: (key) => byKey.get(key) };
}

export function listNode(path: string, position: Position | undefined, items: readonly DocumentNode[]): ListNode {
  return { kind: 'list', path, position, items };
}

export type ScalarParts = {
  readonly path: string;
  readonly position: Position | undefined;
  readonly value: ScalarNode['value'];
  readonly integer?: bigint | undefined;
  readonly locate?: (offset: number) => Position | undefined;
};

export function scalarNode({ path, position, value, integer, locate }: ScalarParts): ScalarNode {
  return { kind: 'scalar', path, position, value, integer, locate: locate ?? (() => position) };
}

/** The plain JSON value of a node. `__proto__` becomes an own property like any other. */
export function plainValue(node: DocumentNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plainValue);
  const object: Record<string, unknown> = {};
  for (const { key, value } of node.entries) {
    Object.defineProperty(object, key, { value: plainValue(value), enumerable: true, configurable: true, writable: true });
  }
  return object;
}
