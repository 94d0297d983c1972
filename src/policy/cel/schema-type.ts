import { celLimits } from './limits.ts';
import type { CelType } from './types.ts';
import { listOf, types } from './types.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * The static type of values that a JSON Schema admits, as far as it is certain: what is a union, or described by anything but `type`,
 * `properties`, `items`, `additionalProperties`, `required`-like assertions and internal `$ref`, is dyn. Never fails.
 */
export function schemaType(schema: unknown): CelType {
  if (!isObject(schema)) return types.dyn;
  const known = cache.get(schema);
  if (known !== undefined) return known;
  const type = readSchema(schema);
  cache.set(schema, type);
  return type;
}

/** Many expressions are compiled against one schema. */
const cache = new WeakMap<object, CelType>();

function readSchema(schema: Schema): CelType {
  const byPlace = new Map<unknown, CelType>();
  let budget: number = celLimits.schemaTypes;

  function typeOf(value: unknown, chain: readonly unknown[]): CelType {
    if (!isObject(value)) return types.dyn;
    const known = byPlace.get(value);
    if (known !== undefined) return known;
    if (budget <= 0 || chain.length > 64 || chain.includes(value)) return types.dyn;
    budget -= 1;
    if (typeof value['$ref'] === 'string') {
      // Keywords beside a $ref narrow further; a type that is only less exact is safe.
      const type = typeOf(resolvePointer(schema, value['$ref']), [...chain, value]);
      byPlace.set(value, type);
      return type;
    }
    const type = ownType(value, chain);
    byPlace.set(value, type);
    return type;
  }

  function ownType(value: Schema, chain: readonly unknown[]): CelType {
    const declared: unknown = value['type'];
    // A list of one type is that type; of several, a union.
    switch (Array.isArray(declared) && declared.length === 1 ? (declared[0] as unknown) : declared) {
      case 'string':
        return types.string;
      case 'boolean':
        return types.bool;
      case 'integer':
        return types.int;
      case 'number':
        return types.double;
      case 'null':
        return types.null;
      case 'array':
        return listOf(hasTuple(value) ? types.dyn : typeOf(value['items'], [...chain, value]));
      case 'object':
        return objectType(value);
      default:
        return types.dyn;
    }
  }

  function objectType(value: Schema): CelType {
    const fields = new Map<string, CelType>();
    const closed = value['additionalProperties'] === false && value['patternProperties'] === undefined;
    const extra = value['patternProperties'] === undefined ? value['additionalProperties'] : undefined;
    const type: CelType = {
      kind: 'object',
      shape: {
        fields,
        get rest() {
          return closed ? undefined : restType;
        },
      },
    };
    let restType: CelType = types.dyn;
    // Known before its fields are read: a field may lead back here.
    byPlace.set(value, type);
    const properties = isObject(value['properties']) ? value['properties'] : {};
    for (const [name, property] of Object.entries(properties)) fields.set(name, typeOf(property, []));
    if (isObject(extra)) restType = typeOf(extra, []);
    return type;
  }

  return typeOf(schema, []);
}

function hasTuple(schema: Schema): boolean {
  return schema['prefixItems'] !== undefined || Array.isArray(schema['items']);
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `#`, `#/$defs/name` and `#anchor`; undefined when it leads nowhere. */
function resolvePointer(root: unknown, reference: string): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    let key: string;
    try {
      key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    } catch {
      return undefined;
    }
    if (Array.isArray(at)) at = (at as readonly unknown[])[Number(key)];
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}
