import { readStrictJson } from '../../kernel/strict-json.ts';
import type { StrictJson } from '../../kernel/strict-json.ts';
import { plainValue } from '../document/build.ts';
import { documentLimits } from '../document/limits.ts';
import type { DocumentNode, ScalarNode } from '../document/node.ts';
import type { PlacedKey, Reporter } from '../problem.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { CompiledSchema, SchemaProblem } from '../schema/contract.ts';

/** `request_schema` (contract 2.7): YAML or JSON in place, or a string that holds the JSON text of a schema. Undefined when wrong. */
export function checkRequestSchema(node: DocumentNode, reporter: Reporter): CompiledSchema | undefined {
  const value = isText(node) ? readText(node, reporter) : frozen(plainValue(node));
  if (value === undefined) return undefined;
  const compiled = compileSchema(value);
  if ('schema' in compiled) return compiled.schema;
  for (const problem of compiled.problems) {
    const { slug, message, hint } = problem;
    reporter.problem(slug, placeOf(node, problem), isText(node) ? `${message}${within(problem.at)}` : message, hint === undefined ? {} : { hint });
  }
  return undefined;
}

function isText(node: DocumentNode): node is ScalarNode & { readonly value: string } {
  return node.kind === 'scalar' && typeof node.value === 'string';
}

const reasons: Readonly<Record<Extract<StrictJson, { readonly ok: false }>['reason'], string>> = {
  syntax: 'the text of request_schema is not JSON',
  duplicate_key: 'a key of the schema occurs twice',
  lone_surrogate: 'half a surrogate pair is not a character',
  too_deep: `schemas are nested deeper than ${documentLimits.depthMax} levels`,
  too_many_keys: `the schema has more than ${documentLimits.nodesMax} keys`,
};

function readText(node: ScalarNode & { readonly value: string }, reporter: Reporter): unknown {
  const read = readStrictJson(node.value, { depthMax: documentLimits.depthMax, keysMax: documentLimits.nodesMax });
  if (read.ok) return frozen(read.value);
  const slug = read.reason === 'too_deep' || read.reason === 'too_many_keys' ? 'schema_too_complex' : read.reason === 'duplicate_key' ? 'duplicate_key' : 'schema_invalid';
  const inside = read.offset > 0 && slug !== 'schema_too_complex';
  reporter.problem(slug, node, reasons[read.reason], { ...(inside ? { position: node.locate(read.offset) } : {}), ...(read.reason === 'syntax' ? { hint: 'write the schema as YAML, or as a string with the JSON text of an object' } : {}) });
  return undefined;
}

/** The node at a place inside the schema, or the nearest one above it; for a pattern that is a key, where the key stands. */
function placeOf(node: DocumentNode, { slug, at }: SchemaProblem): DocumentNode | PlacedKey {
  let current = node;
  for (const [index, key] of at.entries()) {
    const name = String(key);
    const next = current.kind === 'map' ? current.get(name) : current.kind === 'list' ? current.items[Number(key)] : undefined;
    if (next === undefined) return current;
    const isPattern = slug === 'schema_invalid_regex' && index === at.length - 1 && at[index - 1] === 'patternProperties';
    if (isPattern && current.kind === 'map') return { path: next.path, position: current.entries.find((entry) => entry.key === name)?.keyPosition };
    current = next;
  }
  return current;
}

const shownPartsMax = 12;

/** Where in a text the problem is, as a JSON pointer: a string has no nodes to point at. */
function within(at: SchemaProblem['at']): string {
  const parts = at.slice(0, shownPartsMax).map((part) => String(part).slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1'));
  return parts.length === 0 ? '' : ` (at /${parts.join('/')}${at.length > shownPartsMax ? '/...' : ''})`;
}

/** Policies are shared: nobody changes the schema of another request. Nesting is bounded where the value comes from. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
