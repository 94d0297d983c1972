import type { DocumentNode, ListNode, MapNode, ScalarNode } from '../document/node.ts';
import { nearest } from '../document/nearest.ts';
import type { PlacedKey, Reporter } from '../problem.ts';

export type FieldType = 'string' | 'boolean' | 'integer' | 'list' | 'map' | 'any';

/** Field name to type, in the order of the contract's table. */
export type Shape = Readonly<Record<string, FieldType>>;

export type StringField = ScalarNode & { readonly value: string };

/**
 * The fields of one map. Opening it reports unknown fields and wrong types, all at once; a field of a wrong type then reads as absent
 * here and as present in `has`, so that it is not reported a second time as missing.
 */
export type Fields = {
  readonly node: MapNode;
  has(key: string): boolean;
  /** Where the key stands, or the map itself when it is absent. */
  placeOf(key: string): PlacedKey;
  /** Undefined when absent or not a string. An empty string is given as it is. */
  string(key: string): StringField | undefined;
  boolean(key: string): boolean | undefined;
  /** The scalar of an integer field, its exact value in `integer`. */
  integer(key: string): (ScalarNode & { readonly integer: bigint }) | undefined;
  list(key: string): ListNode | undefined;
  map(key: string): MapNode | undefined;
  any(key: string): DocumentNode | undefined;
  /** Reports `missing_field` for each that is absent. True when all are there (with whatever type). */
  needs(...keys: readonly string[]): boolean;
};

export function openFields(node: DocumentNode, what: string, shape: Shape, reporter: Reporter): Fields | undefined {
  if (node.kind !== 'map') {
    reporter.problem('wrong_type', node, `${what} must be a map, not ${described(node)}`);
    return undefined;
  }
  const wrong = new Set<string>();
  for (const entry of node.entries) {
    const type = Object.hasOwn(shape, entry.key) ? shape[entry.key] : undefined;
    if (type === undefined) {
      const near = nearest(entry.key, Object.keys(shape));
      const hint = near === undefined ? `known fields: ${Object.keys(shape).join(', ')}` : `did you mean ${near}?`;
      reporter.problem('unknown_field', { path: entry.value.path, position: entry.keyPosition }, `${what} has no field ${shown(entry.key)}`, { hint });
    } else if (!isOf(type, entry.value)) {
      wrong.add(entry.key);
      const hint = hintFor(type, entry.value);
      reporter.problem('wrong_type', entry.value, `${entry.key} must be ${wanted[type]}, not ${described(entry.value)}`, hint === undefined ? {} : { hint });
    }
  }
  const typed = (key: string): DocumentNode | undefined => (wrong.has(key) ? undefined : node.get(key));
  return {
    node,
    has: (key) => node.get(key) !== undefined,
    placeOf(key) {
      const entry = node.entries.find((candidate) => candidate.key === key);
      return entry === undefined ? node : { path: entry.value.path, position: entry.keyPosition };
    },
    string: (key) => typed(key) as StringField | undefined,
    boolean: (key) => (typed(key) as (ScalarNode & { value: boolean }) | undefined)?.value,
    integer: (key) => typed(key) as (ScalarNode & { integer: bigint }) | undefined,
    list: (key) => typed(key) as ListNode | undefined,
    map: (key) => typed(key) as MapNode | undefined,
    any: (key) => typed(key),
    needs(...keys) {
      const missing = keys.filter((key) => node.get(key) === undefined);
      for (const key of missing) reporter.problem('missing_field', node, `${what} needs ${key}`);
      return missing.length === 0;
    },
  };
}

const wanted: Record<FieldType, string> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'an integer',
  list: 'a list',
  map: 'a map',
  any: 'a value',
};

function isOf(type: FieldType, node: DocumentNode): boolean {
  if (type === 'any') return true;
  if (type === 'list' || type === 'map') return node.kind === type;
  if (node.kind !== 'scalar') return false;
  return type === 'integer' ? node.integer !== undefined : typeof node.value === type;
}

/** What a value is, for "must be a list, not …". The value itself is shown only where it is short. */
export function described(node: DocumentNode): string {
  if (node.kind !== 'scalar') return `a ${node.kind}`;
  if (node.value === null) return 'null';
  if (typeof node.value === 'string') return `the string ${shown(node.value)}`;
  return typeof node.value === 'boolean' ? `the boolean ${String(node.value)}` : `the number ${(node.integer?.toString() ?? String(node.value)).slice(0, 40)}`;
}

/** A text of the document inside a message: quoted, with escapes, bounded. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}

function hintFor(type: FieldType, node: DocumentNode): string | undefined {
  if (node.kind === 'scalar' && node.value === null) return 'leave the field out, or give it a value';
  if (node.kind === 'scalar' && type === 'boolean' && typeof node.value === 'string' && /^(yes|no|on|off|y|n)$/i.test(node.value)) return 'YAML 1.2 knows true and false only';
  if (node.kind === 'scalar' && type === 'list') return `write it as a list: [${node.integer?.toString() ?? JSON.stringify(node.value)}]`.slice(0, 120);
  if (type === 'string' && node.kind !== 'map') return 'put it into quotes';
  if (node.kind === 'scalar' && type === 'integer' && typeof node.value === 'string') return 'write the number without quotes';
  if (node.kind === 'scalar' && type === 'integer' && Number.isInteger(node.value)) return 'write all digits, without a point or an exponent; as parsed JSON, numbers beyond 2^53 are not exact: send the text';
  return undefined;
}
