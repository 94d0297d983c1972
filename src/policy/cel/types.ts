/** Static types. `variable` is an unknown that unification may bind; `object` is a JSON object described by a schema. */
export type CelType =
  | { readonly kind: PlainKind }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'type'; readonly of: CelType }
  | { readonly kind: 'variable'; readonly id: number }
  | { readonly kind: 'object'; readonly shape: ObjectShape };

export type PlainKind = 'dyn' | 'null' | 'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'timestamp' | 'duration';

/** Fields by name, and the type of all others; `rest` undefined: no others can be there. Shapes may refer to themselves. */
export type ObjectShape = { readonly fields: ReadonlyMap<string, CelType>; readonly rest: CelType | undefined };

const plain = <K extends PlainKind>(kind: K): { readonly kind: K } => Object.freeze({ kind });
export const types = {
  dyn: plain('dyn'),
  null: plain('null'),
  bool: plain('bool'),
  int: plain('int'),
  uint: plain('uint'),
  double: plain('double'),
  string: plain('string'),
  bytes: plain('bytes'),
  timestamp: plain('timestamp'),
  duration: plain('duration'),
} as const;

export function listOf(element: CelType): CelType {
  return { kind: 'list', element };
}

export function mapOf(key: CelType, value: CelType): CelType {
  return { kind: 'map', key, value };
}

/** Everywhere but in field selection an object of a schema is a map. */
export const openMap: Extract<CelType, { readonly kind: 'map' }> = { kind: 'map', key: types.string, value: types.dyn };

/** Names that are values of type `type` (CEL, "Abstract types"). */
export const typeNames: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ['bool', types.bool],
  ['int', types.int],
  ['uint', types.uint],
  ['double', types.double],
  ['string', types.string],
  ['bytes', types.bytes],
  ['null_type', types.null],
  ['list', listOf(types.dyn)],
  ['map', mapOf(types.dyn, types.dyn)],
  ['type', { kind: 'type', of: types.dyn }],
  ['google.protobuf.Timestamp', types.timestamp],
  ['google.protobuf.Duration', types.duration],
]);

/** As cel-go writes it in its messages: `map(string, list(dyn))`. */
export function typeText(type: CelType, depth = 0): string {
  if (depth > 8) return '…';
  if (type.kind === 'list') return `list(${typeText(type.element, depth + 1)})`;
  if (type.kind === 'map') return `map(${typeText(type.key, depth + 1)}, ${typeText(type.value, depth + 1)})`;
  if (type.kind === 'type') return `type(${typeText(type.of, depth + 1)})`;
  return type.kind === 'variable' ? 'dyn' : type.kind;
}

/** The type with the types inside it replaced; itself when it has none. Objects of schemas are left alone. */
export function withInner(type: CelType, replace: (inner: CelType) => CelType): CelType {
  if (type.kind === 'list') return { kind: 'list', element: replace(type.element) };
  if (type.kind === 'map') return { kind: 'map', key: replace(type.key), value: replace(type.value) };
  return type.kind === 'type' ? { kind: 'type', of: replace(type.of) } : type;
}

export function someInner(type: CelType, test: (inner: CelType) => boolean): boolean {
  if (type.kind === 'list') return test(type.element);
  if (type.kind === 'map') return test(type.key) || test(type.value);
  return type.kind === 'type' && test(type.of);
}
