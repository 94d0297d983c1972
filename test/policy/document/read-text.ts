import type { DocumentNode, ScalarNode } from '../../../src/policy/document/node.ts';
import { parseDocumentText } from '../../../src/policy/document/parse-text.ts';
import { createReporter } from '../../../src/policy/reporter.ts';

/** A text as nodes, and its problems as `slug@line:column`. */
export function readText(text: string) {
  const reporter = createReporter();
  const node = parseDocumentText(text, reporter);
  return { node, reported: reporter.problems, problems: reporter.problems.map(({ slug, line, column }) => `${slug}@${line}:${column}`) };
}

/** The node at a place; throws when there is none. */
export function nodeAt(node: DocumentNode | undefined, ...keys: readonly (string | number)[]): DocumentNode {
  let current = node;
  for (const key of keys) current = current?.kind === 'map' ? current.get(String(key)) : current?.kind === 'list' ? current.items[Number(key)] : undefined;
  if (current === undefined) throw new Error(`nothing at ${keys.join('.')}`);
  return current;
}

export function scalarAt(node: DocumentNode | undefined, ...keys: readonly (string | number)[]): ScalarNode {
  const found = nodeAt(node, ...keys);
  if (found.kind !== 'scalar') throw new Error(`a ${found.kind} at ${keys.join('.')}`);
  return found;
}
