import { stepKeyword } from './drafts.ts';
import { isObject } from './object.ts';

const named = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'] as const;
const direct = [
  'additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else', 'unevaluatedProperties', 'items', 'additionalItems', 'contentSchema', 'allOf', 'anyOf', 'oneOf', 'prefixItems',
] as const;
/** With those above, all that the validator sees. What it knows beyond the drafts would change the meaning: `$async` makes every body valid, `nullable` lets null pass. */
const assertions = [
  '$schema', '$ref', '$anchor', 'type', 'enum', 'const', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum', 'maxLength', 'minLength', 'pattern', 'maxItems', 'minItems',
  'uniqueItems', 'maxContains', 'minContains', 'maxProperties', 'minProperties', 'required', 'dependentRequired',
] as const;
const kept: ReadonlySet<string> = new Set([...named, ...direct, ...assertions]);

/**
 * Changes a schema, in place, for the validator: unknown keywords and annotations go (an `$id` under one would enter the names that all
 * policies share); where it can branch or refer, visits are counted; a reference to the root's own anchor,
 * which Ajv does not find by its name, becomes `#`; an `if` gets its `then`. Walks only where subschemas stand: what `const` and `enum` hold is data.
 */
export function prepare(node: unknown, rootAnchor: unknown): void {
  if (Array.isArray(node)) for (const item of node) prepare(item, rootAnchor);
  if (!isObject(node)) return;
  for (const key of Object.keys(node)) if (!kept.has(key)) delete node[key];
  for (const key of named) {
    const value = node[key];
    if (isObject(value)) for (const item of Object.values(value)) prepare(item, rootAnchor);
  }
  for (const key of direct) prepare(node[key], rootAnchor);
  // Without it the validator forgets what `if` has evaluated, and `unevaluatedProperties` then comes out wrong.
  if ('if' in node && !('then' in node)) node['then'] = { [stepKeyword]: true };
  moveProto(node);
  if (typeof rootAnchor === 'string' && node['$ref'] === `#${rootAnchor}`) node['$ref'] = '#';
  if ('$ref' in node || 'anyOf' in node || 'allOf' in node || 'oneOf' in node) node[stepKeyword] = true;
}

/** The validator passes a property named `__proto__` by, but not a pattern that only that name matches. */
function moveProto(node: Record<string, unknown>): void {
  const { properties, patternProperties } = node;
  if (!isObject(properties) || !Object.hasOwn(properties, '__proto__')) return;
  const value = Object.getOwnPropertyDescriptor(properties, '__proto__')?.value as unknown;
  delete properties['__proto__'];
  const patterns = isObject(patternProperties) ? patternProperties : {};
  // Several spellings of the pattern, should the author have used one.
  const pattern = ['^__proto__$', '^(__proto__)$', '^((__proto__))$'].find((one) => !Object.hasOwn(patterns, one));
  if (pattern !== undefined) node['patternProperties'] = { ...patterns, [pattern]: value };
}
