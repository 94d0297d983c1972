import type { Ajv } from 'ajv';

/** Nodes that one validation reads for comparisons: about as many as the largest body has. Nested `uniqueItems` would read them once per level. */
export const comparedNodesMax = 5_000_000;

/**
 * One text for equal JSON values: `1` and `1.0` are the same, the order of an object's keys does not matter. Recurses as deep as the value
 * (a RangeError past the stack). `count` is called for each node and may throw.
 */
export function canonical(value: unknown, count: () => void): string {
  count();
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, count)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const object = value as Record<string, unknown>;
  return `{${Object.keys(object).sort().map((key) => `${JSON.stringify(key)}:${canonical(object[key], count)}`).join(',')}}`;
}

const ofTheAuthor = (): void => undefined;

/** `uniqueItems` and `enum` in linear time. The validator's own compare every pair: an agent's body of 20,000 small objects took it 12 seconds. */
export function addCanonicalKeywords(ajv: Ajv, count: () => void): void {
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (wanted: boolean, items: readonly unknown[]) => {
      const seen = new Set<string>();
      return !wanted || items.every((item) => seen.size < seen.add(canonical(item, count)).size);
    },
  });
  ajv.removeKeyword('enum');
  ajv.addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    error: { message: 'must be equal to one of the allowed values' },
    compile: (entries: readonly unknown[]) => {
      if (entries.length === 0) throw new Error('enum must have non-empty array');
      const allowed = new Set(entries.map((entry) => canonical(entry, ofTheAuthor)));
      const nested = entries.some((entry) => typeof entry === 'object' && entry !== null);
      // What no entry can equal is not read.
      return (value: unknown) => (nested || typeof value !== 'object' || value === null) && allowed.has(canonical(value, count));
    },
  });
}
