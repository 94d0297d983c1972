import type { Fields, Shape } from '../../../policy/check/fields.ts';
import { described, openFields } from '../../../policy/check/fields.ts';
import type { DocumentNode, MapNode, ScalarNode } from '../../../policy/document/node.ts';
import type { Reporter } from '../../../policy/problem.ts';

/** The fields of a map that may be left out; an empty list of fields where it is. */
export function optionalFields(node: MapNode | undefined, what: string, shape: Shape, reporter: Reporter): Fields | undefined {
  return node === undefined ? undefined : openFields(node, what, shape, reporter);
}

export function isText(node: DocumentNode): node is ScalarNode & { readonly value: string } {
  return node.kind === 'scalar' && typeof node.value === 'string';
}

export type HeaderEntry = { readonly name: string; readonly key: { readonly path: string; readonly position: ScalarNode['position'] }; readonly values: readonly string[] };

/** Headers as `name: value` or `name: [value, value]`; with `absent` also `name: null`, which gives no values. */
export function headerEntries(node: MapNode | undefined, absent: 'absent' | 'present', reporter: Reporter): readonly HeaderEntry[] {
  return (node?.entries ?? []).map(({ key, keyPosition, value }) => ({ name: key, key: { path: value.path, position: keyPosition }, values: headerValues(value, absent === 'absent', reporter) }));
}

function headerValues(node: DocumentNode, mayBeNull: boolean, reporter: Reporter): readonly string[] {
  if (isText(node)) return [node.value];
  if (mayBeNull && node.kind === 'scalar' && node.value === null) return [];
  if (node.kind === 'list' && node.items.every(isText)) return node.items.map(({ value }) => value);
  const hint = node.kind === 'scalar' && node.value !== null ? { hint: 'put it into quotes' } : {};
  reporter.problem('wrong_type', node, `a header is a string or a list of strings${mayBeNull ? ', or null for one that must not be there' : ''}, not ${described(node)}`, hint);
  return [];
}

/** A node as JSON text: integers with all their digits, whatever their size. */
export function jsonTextOf(node: DocumentNode): string {
  switch (node.kind) {
    case 'scalar': return node.integer?.toString() ?? JSON.stringify(node.value);
    case 'list': return `[${node.items.map(jsonTextOf).join(',')}]`;
    case 'map': return `{${node.entries.map(({ key, value }) => `${JSON.stringify(key)}:${jsonTextOf(value)}`).join(',')}}`;
  }
}
