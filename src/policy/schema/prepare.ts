import { stepKeyword } from './drafts.ts';
import { isObject } from './object.ts';

const named = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'] as const;
const direct = [
  'additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else', 'unevaluatedProperties', 'items', 'additionalItems', 'allOf', 'anyOf', 'oneOf', 'prefixItems',
] as const;

/**
 * Changes a schema, in place, for the validator: where it can branch or refer, visits are counted; a reference to the root's own anchor,
 * which Ajv does not find by its name, becomes `#`. Walks only where subschemas stand: what `const` and `enum` hold is data.
 */
export function prepare(node: unknown, rootAnchor: unknown): void {
  if (Array.isArray(node)) for (const item of node) prepare(item, rootAnchor);
  if (!isObject(node)) return;
  for (const key of named) {
    const value = node[key];
    if (isObject(value)) for (const item of Object.values(value)) prepare(item, rootAnchor);
  }
  for (const key of direct) prepare(node[key], rootAnchor);
  if (typeof rootAnchor === 'string' && node['$ref'] === `#${rootAnchor}`) node['$ref'] = '#';
  if ('$ref' in node || 'anyOf' in node || 'allOf' in node || 'oneOf' in node) node[stepKeyword] = true;
}
