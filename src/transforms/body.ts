import { isRawNumber, readStrictJson, strictJsonLimits } from '../kernel/strict-json.ts';
import type { TransformFailure } from './contract.ts';

export type BodyChange = { readonly text: string } | { readonly failed: TransformFailure };

/** A copy that cannot reach a prototype: `__proto__` in a body is a field like any other. */
type Fields = Map<string, unknown>;

/** Merges a map into a JSON object, map by map; lists and everything else are replaced (contract 2.7, body variant). */
export function mergeBody(text: string, value: Readonly<Record<string, unknown>>): BodyChange {
  const fields = objectOf(text);
  return fields === undefined ? { failed: 'apply_error' } : { text: write(merged(fields, value)) };
}

/** Puts a text before a string field. */
export function prefixBody(text: string, key: string, value: string): BodyChange {
  const fields = objectOf(text);
  if (fields === undefined) return { failed: 'apply_error' };
  const target = fields.get(key);
  return typeof target === 'string' ? { text: write(fields.set(key, value + target)) } : { failed: 'type_mismatch' };
}

function objectOf(text: string): Fields | undefined {
  const read = readStrictJson(text, { ...strictJsonLimits, rawNumbers: true });
  return read.ok && isObject(read.value) ? new Map(Object.entries(read.value)) : undefined;
}

function merged(into: Fields, value: Readonly<Record<string, unknown>>): Fields {
  for (const [key, added] of Object.entries(value)) {
    const known = into.get(key);
    into.set(key, isObject(added) && isObject(known) ? merged(new Map(Object.entries(known)), added) : added);
  }
  return into;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value) && !(value instanceof Map);
}

function write(value: unknown): string {
  if (value instanceof Map) return `{${[...value].map(([key, inner]) => `${JSON.stringify(key)}:${write(inner)}`).join(',')}}`;
  return JSON.stringify(value);
}
