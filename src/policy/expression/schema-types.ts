import type { ObjectType, Type } from './types.ts';
import { T } from './types.ts';

const depthMax = 32;
/** Keywords that may say more about a value than `type` and `properties` do: fields they could add are not refused. */
const combining = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'not', 'dependentSchemas', 'patternProperties'];

/** The CEL type of bodies that a JSON Schema admits (design 9). Where the schema leaves several, it is dyn; recursive schemas are followed as far as they are used. */
export function schemaType(root: unknown): Type {
  const cache = new Map<unknown, Type>();

  function typeOf(schema: unknown, depth: number): Type {
    if (!isObject(schema) || depth > depthMax) return T.dyn;
    const known = cache.get(schema);
    if (known !== undefined) return known;
    const type = read(schema, depth);
    cache.set(schema, type);
    return type;
  }

  function read(schema: Readonly<Record<string, unknown>>, depth: number): Type {
    if (typeof schema['$ref'] === 'string') return typeOf(resolvePointer(root, schema['$ref']), depth + 1);
    switch (schema['type']) {
      case 'string': return T.string;
      case 'integer': return T.int;
      case 'number': return T.double;
      case 'boolean': return T.bool;
      case 'null': return T.null;
      case 'array': return T.list(isObject(schema['items']) && schema['prefixItems'] === undefined ? typeOf(schema['items'], depth + 1) : T.dyn);
      case 'object': return objectOf(schema, depth);
      default: return T.dyn;
    }
  }

  function objectOf(schema: Readonly<Record<string, unknown>>, depth: number): Type {
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const rest = schema['additionalProperties'];
    const open = rest !== false || combining.some((key) => Object.hasOwn(schema, key));
    if (Object.keys(properties).length === 0 && isObject(rest) && !combining.some((key) => Object.hasOwn(schema, key))) return T.map(T.string, typeOf(rest, depth + 1));
    const object: ObjectType = {
      field(name) {
        if (Object.hasOwn(properties, name)) return typeOf(properties[name], depth + 1);
        return open ? T.dyn : undefined;
      },
    };
    return T.object(object);
  }

  return typeOf(root, 0);
}

/** `#`, `#/$defs/x`; undefined for anchors and for what leads nowhere, which then is dyn. */
function resolvePointer(root: unknown, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined;
  let node = root;
  for (const part of ref.slice(1).split('/').slice(1)) {
    const key = decodePointer(part);
    if (key === undefined || typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Readonly<Record<string, unknown>>)[key];
  }
  return ref === '#' || ref.startsWith('#/') ? node : undefined;
}

function decodePointer(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
