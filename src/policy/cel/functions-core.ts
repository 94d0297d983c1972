import type { CelFunc, CelInput, CelList, CelMap, CelValue } from '@bufbuild/cel';
import { CelScalar, celFunc, isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import type { CelBindings } from './contract.ts';
import { charge, currentFrame, spend, TypeMismatch } from './frame.ts';
import type { MapKey } from './views.ts';
import { jsonView, literalMapView, plainKey, textMapView, valueList } from './views.ts';

const { BOOL, DYN, STRING } = CelScalar;

/** A variable that the phase declares and the caller did not give. */
class MissingBinding extends Error {}

/** Every variable of the contract's table, read from what the caller gave. */
const readers: Readonly<Record<string, (bindings: CelBindings) => CelInput | undefined>> = {
  'request.method': ({ request }) => request?.method,
  'request.path': ({ request }) => request?.path,
  'request.host': ({ request }) => request?.host,
  'request.scheme': ({ request }) => request?.scheme,
  'request.headers': ({ request }) => request && textMapView(request.headers),
  'request.raw_query': ({ request }) => request?.rawQuery,
  'request.query': ({ request }) => request && textMapView(request.query),
  'request.body': ({ request }) => (request?.body === undefined ? undefined : jsonView(request.body, currentFrame().requestBodyType)),
  'response.status': ({ response }) => response && BigInt(response.status),
  'response.headers': ({ response }) => response && textMapView(response.headers),
  'response.size': ({ response }) => response && BigInt(response.size),
  'response.body': ({ response }) => (response?.body === undefined ? undefined : jsonView(response.body)),
  'workspace.id': ({ workspace }) => workspace?.id,
  'workspace.org_id': ({ workspace }) => workspace?.orgId,
  'workspace.role': ({ workspace }) => workspace?.role,
  'workspace.environment': ({ workspace }) => workspace?.environment,
  'task.id': ({ task }) => task?.id,
  secrets: ({ secrets }) => secrets && textMapView(secrets),
  event: ({ event }) => (event === undefined ? undefined : jsonView(event)),
};

/** What `map` and `filter` collect into; it grows in place and is nobody else's until the loop is over. */
class Collected {
  readonly values: CelValue[] = [];
}

const collections = new WeakMap<object, Collected>();

function collect(): CelList {
  const collected = new Collected();
  const list = valueList(collected.values);
  collections.set(list, collected);
  return list;
}

function append(list: CelValue, item: CelValue): CelValue {
  const collected = collections.get(list as object);
  if (collected === undefined) throw new Error('append outside of a loop');
  collected.values.push(item);
  return list;
}

/** Loops copy what they go through, so the length is paid for before. */
function range(value: CelValue): CelValue {
  if (!isCelList(value) && !isCelMap(value)) throw new TypeMismatch();
  charge(1 + Math.floor(value.size / 8));
  return value;
}

function index(container: CelValue, key: CelValue): CelValue {
  if (isCelMap(container)) return found(isMapKey(key) ? container.get(key) : mismatch());
  if (isCelList(container)) {
    const at = typeof key === 'bigint' || typeof key === 'number' ? Number(key) : isCelUint(key) ? Number(key.value) : mismatch();
    return found(Number.isInteger(at) && at >= 0 && at < container.size ? container.get(at) : undefined);
  }
  return mismatch();
}

function has(container: CelValue, field: string): boolean {
  return isCelMap(container) ? container.get(field) !== undefined : mismatch();
}

function mapLiteral(keys: CelValue, values: CelValue): CelMap {
  if (!isCelList(keys) || !isCelList(values)) throw new TypeMismatch();
  const entries = new Map<bigint | string | boolean, readonly [MapKey, CelValue]>();
  for (let at = 0; at < keys.size; at += 1) {
    const key = keys.get(at);
    if (!isMapKey(key)) throw new TypeMismatch();
    const plain = plainKey(key);
    if (plain === undefined) throw new TypeMismatch();
    if (entries.has(plain)) throw new Error('a key appears twice');
    entries.set(plain, [typeof key === 'number' ? BigInt(key) : key, found(values.get(at))]);
  }
  return literalMapView(entries);
}

function isMapKey(value: CelValue | undefined): value is MapKey | number {
  return typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean' || typeof value === 'number' || isCelUint(value);
}

function found(value: CelValue | undefined): CelValue {
  if (value === undefined) throw new Error('no such key');
  return value;
}

function mismatch(): never {
  throw new TypeMismatch();
}

/** Functions that only the emitter calls; nobody can write their names. */
export const coreFunctions: readonly CelFunc[] = [
  ...Object.entries(readers).map(([name, read]) =>
    celFunc(`@get.${name}`, [], DYN, () => {
      const value = read(currentFrame().bindings);
      if (value === undefined) throw new MissingBinding();
      return value;
    }),
  ),
  celFunc('@present', [STRING], BOOL, (name) => readers[name]?.(currentFrame().bindings) !== undefined),
  celFunc('@tick', [], BOOL, () => spend(1)),
  celFunc('@range', [DYN], DYN, range),
  celFunc('@collect', [], DYN, collect),
  celFunc('@append', [DYN, DYN], DYN, append),
  celFunc('@index', [DYN, DYN], DYN, index),
  celFunc('@has', [DYN, STRING], BOOL, has),
  celFunc('@map', [DYN, DYN], DYN, mapLiteral),
];
