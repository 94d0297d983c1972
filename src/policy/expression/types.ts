/** Static types of CEL (cel-spec, "Type checking"). `object` is a JSON object with known fields: a map(string, dyn) that knows more. */
export type Type =
  | { readonly kind: 'dyn' | 'int' | 'uint' | 'double' | 'bool' | 'string' | 'bytes' | 'null' | 'timestamp' | 'duration' | 'error' }
  | { readonly kind: 'type'; readonly of?: Type }
  | { readonly kind: 'list'; readonly element: Type }
  | { readonly kind: 'map'; readonly key: Type; readonly value: Type }
  | { readonly kind: 'object'; readonly object: ObjectType }
  | { readonly kind: 'var'; readonly id: number }
  /** A type parameter of an overload, before it is called. */
  | { readonly kind: 'param'; readonly name: string };

/** The fields of an object: the type of one, or undefined when the object cannot have it. */
export type ObjectType = { field(name: string): Type | undefined };

type SimpleKind = 'dyn' | 'int' | 'uint' | 'double' | 'bool' | 'string' | 'bytes' | 'null' | 'timestamp' | 'duration' | 'error';

function simple(kind: SimpleKind): Type {
  return Object.freeze({ kind });
}

export const T = {
  dyn: simple('dyn'), int: simple('int'), uint: simple('uint'), double: simple('double'), bool: simple('bool'), string: simple('string'), bytes: simple('bytes'),
  null: simple('null'), timestamp: simple('timestamp'), duration: simple('duration'),
  /** Already reported: fits everywhere, so that one mistake is one problem. */
  error: simple('error'),
  type: (of?: Type): Type => (of === undefined ? { kind: 'type' } : { kind: 'type', of }),
  list: (element: Type): Type => ({ kind: 'list', element }),
  map: (key: Type, value: Type): Type => ({ kind: 'map', key, value }),
  object: (object: ObjectType): Type => ({ kind: 'object', object }),
  param: (name: string): Type => ({ kind: 'param', name }),
} as const;

export const stringMap: Type = T.map(T.string, T.string);

/** As messages show it: `map(string, int)`. */
export function showType(type: Type): string {
  if (type.kind === 'list') return `list(${showType(type.element)})`;
  if (type.kind === 'map') return `map(${showType(type.key)}, ${showType(type.value)})`;
  if (type.kind === 'object') return 'map(string, dyn)';
  if (type.kind === 'type') return type.of === undefined ? 'type' : `type(${showType(type.of)})`;
  if (type.kind === 'var' || type.kind === 'param') return 'dyn';
  return type.kind === 'null' ? 'null_type' : type.kind;
}
