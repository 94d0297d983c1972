import { compileRe2 } from '../re2.ts';
import type { SchemaProblem } from './contract.ts';
import { stepKeyword } from './drafts.ts';
import { isObject } from './object.ts';
import { placeOf, refersToSchema } from './references.ts';

export const schemaLimits = { depthMax: 48, schemasMax: 5_000, entriesMax: 20_000 } as const;

type At = readonly (string | number)[];

const one: ReadonlySet<string> = new Set(['additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else', 'unevaluatedProperties', 'items', 'additionalItems', 'contentSchema', 'dependencies']);
const list: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
const named: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);
const dependent: ReadonlySet<string> = new Set(['dependentRequired', 'dependentSchemas', 'dependencies']);
const unsupported: Readonly<Record<string, string>> = {
  $dynamicRef: 'use $ref', $dynamicAnchor: 'use $defs and $ref', $recursiveRef: 'use $ref', $recursiveAnchor: 'use $defs and $ref',
  unevaluatedItems: 'use items or prefixItems', $vocabulary: 'leave it out',
};

/**
 * What must not reach the validator (contract 2.7, design 9): references that leave the schema, keywords the validator gets wrong, patterns
 * RE2 does not take, and sizes without a bound. Walks only where subschemas stand: a property named `$ref`, or one inside `const`, is data.
 */
export function gate(schema: unknown): readonly SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  let schemas = 0;
  let stopped = false;
  let unevaluated = false;
  const bareElses: At[] = [];
  const anchors = new Set<string>();
  const places = new Set<string>();
  const references: { readonly value: string; readonly at: At }[] = [];
  const report = (slug: SchemaProblem['slug'], at: At, message: string, hint?: string): void => {
    if (problems.length < 50) problems.push({ slug, message, at, ...(hint === undefined ? {} : { hint }) });
  };

  function visit(node: unknown, at: At, depth: number): void {
    if (stopped) return;
    places.add(placeOf(at));
    if (typeof node === 'boolean') return;
    schemas += 1;
    if (depth > schemaLimits.depthMax || schemas > schemaLimits.schemasMax) {
      stopped = true;
      report('schema_too_complex', at, depth > schemaLimits.depthMax ? `schemas are nested deeper than ${schemaLimits.depthMax} levels` : `the schema has more than ${schemaLimits.schemasMax} subschemas`);
      return;
    }
    if (!isObject(node)) {
      report('schema_invalid', at, 'a schema is a map, true or false');
      return;
    }
    if (typeof node['$anchor'] === 'string') anchors.add(node['$anchor']);
    if ('unevaluatedProperties' in node) unevaluated = true;
    if ('if' in node && 'else' in node && !saysSomething(node['then'])) bareElses.push([...at, 'else']);
    for (const [key, value] of Object.entries(node)) keyword(key, value, [...at, key], depth, at.length === 0);
  }

  function keyword(key: string, value: unknown, at: At, depth: number, isRoot: boolean): void {
    if (key === '$ref') reference(value, at);
    else if (key === stepKeyword) report('schema_unsupported', at, `${key} is not supported`);
    else if (Object.hasOwn(unsupported, key)) report('schema_unsupported', at, `${key} is not supported`, unsupported[key]);
    else if ((key === '$id' || key === '$schema') && !isRoot) report('schema_unsupported', at, `${key} is supported at the top of the schema only`);
    else if (key === 'pattern') pattern(value, at);
    else if (key === 'patternProperties' && isObject(value)) for (const name of Object.keys(value)) pattern(name, [...at, name]);
    else if ((key === 'enum' || key === 'required') && Array.isArray(value) && value.length > schemaLimits.entriesMax) report('schema_too_complex', at, `${key} has more than ${schemaLimits.entriesMax} entries`);
    if (dependent.has(key) && isObject(value) && Object.hasOwn(value, '__proto__')) report('schema_unsupported', [...at, '__proto__'], `__proto__ is not supported in ${key}`, 'the validator passes it by');
    if (list.has(key) && Array.isArray(value)) value.forEach((item, index) => { visit(item, [...at, index], depth + 1); });
    else if (named.has(key) && isObject(value)) {
      for (const [name, item] of Object.entries(value)) if (!(key === 'dependencies' && Array.isArray(item))) visit(item, [...at, name], depth + 1);
    } else if (one.has(key) && !Array.isArray(value)) visit(value, at, depth + 1);
  }

  function reference(value: unknown, at: At): void {
    if (typeof value !== 'string') report('schema_invalid', at, '$ref must be a string');
    else if (!value.startsWith('#')) report('schema_external_ref', at, `$ref ${JSON.stringify(value.slice(0, 80))} leaves the schema`, 'copy the schema into $defs and refer to #/$defs/<name>');
    else references.push({ value, at });
  }

  function pattern(value: unknown, at: At): void {
    if (typeof value !== 'string') return;
    const compiled = compileRe2(value);
    if ('error' in compiled) report('schema_invalid_regex', at, `not an RE2 pattern: ${compiled.error}`, 'RE2 has no look-around and no back-references');
  }

  visit(schema, [], 0);
  for (const at of unevaluated ? bareElses : []) report('schema_unsupported', at, 'else without then is not supported together with unevaluatedProperties', 'the validator would forget what if has evaluated: turn the condition round');
  for (const { value, at } of stopped ? [] : references) {
    if (!refersToSchema(value, anchors, places)) report('schema_invalid', at, `$ref ${JSON.stringify(value.slice(0, 80))} leads to no schema`);
  }
  return problems;
}

function saysSomething(schema: unknown): boolean {
  return isObject(schema) && Object.keys(schema).length > 0;
}
