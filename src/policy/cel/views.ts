import type { CelList, CelMap, CelUint, CelValue } from '@bufbuild/cel';
import { celList, isCelUint } from '@bufbuild/cel';
import type { CelType } from './types.ts';
import { types } from './types.ts';

/**
 * Values as the evaluator sees them, without copies. The library's own maps copy plain objects at each access, stumble over a key named
 * `constructor`, and say that a key whose value is null is not there. It knows its maps and lists by these symbols.
 */
const mapBrand = Symbol.for('@bufbuild/cel/map');
const listBrand = Symbol.for('@bufbuild/cel/list');

export type MapKey = bigint | string | boolean | CelUint;

/** What all our maps have: the library calls `get`, `has`, `keys`, `size` and iterates. */
abstract class MapView implements ReadonlyMap<MapKey, CelValue> {
  get [mapBrand](): true {
    return true;
  }
  get [Symbol.toStringTag](): string {
    return 'CelMap';
  }
  abstract get size(): number;
  abstract get(key: MapKey | number): CelValue | undefined;
  abstract keys(): MapIterator<MapKey>;
  has(key: MapKey | number): boolean {
    return this.get(key) !== undefined;
  }
  *entries(): MapIterator<[MapKey, CelValue]> {
    for (const key of this.keys()) yield [key, this.get(key) as CelValue];
  }
  *values(): MapIterator<CelValue> {
    for (const key of this.keys()) yield this.get(key) as CelValue;
  }
  forEach(each: (value: CelValue, key: MapKey, map: ReadonlyMap<MapKey, CelValue>) => void): void {
    for (const [key, value] of this.entries()) each(value, key, this);
  }
  [Symbol.iterator](): MapIterator<[MapKey, CelValue]> {
    return this.entries();
  }
}

/** Headers, secrets and query parameters. */
class TextMapView extends MapView {
  readonly #map: ReadonlyMap<string, string | readonly string[]>;
  constructor(map: ReadonlyMap<string, string | readonly string[]>) {
    super();
    this.#map = map;
  }
  get size(): number {
    return this.#map.size;
  }
  get(key: MapKey | number): CelValue | undefined {
    const value = typeof key === 'string' ? this.#map.get(key) : undefined;
    return typeof value === 'object' ? celList(value) : value;
  }
  keys(): MapIterator<string> {
    return this.#map.keys();
  }
}

class JsonMapView extends MapView {
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #type: CelType;
  constructor(raw: Readonly<Record<string, unknown>>, type: CelType) {
    super();
    this.#raw = raw;
    this.#type = type;
  }
  get size(): number {
    return Object.keys(this.#raw).length;
  }
  get(key: MapKey | number): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#raw, key)) return undefined;
    return jsonView(this.#raw[key], fieldOf(this.#type, key));
  }
  keys(): MapIterator<string> {
    return Object.keys(this.#raw).values();
  }
}

class JsonListView {
  readonly #raw: readonly unknown[];
  readonly #element: CelType;
  constructor(raw: readonly unknown[], element: CelType) {
    this.#raw = raw;
    this.#element = element;
  }
  get [listBrand](): true {
    return true;
  }
  get size(): number {
    return this.#raw.length;
  }
  get(index: number): CelValue | undefined {
    return Number.isInteger(index) && index >= 0 && index < this.#raw.length ? jsonView(this.#raw[index], this.#element) : undefined;
  }
  *values(): IterableIterator<CelValue> {
    for (const value of this.#raw) yield jsonView(value, this.#element);
  }
  [Symbol.iterator](): IterableIterator<CelValue> {
    return this.values();
  }
}

/** A map literal: keys compare by number across int and uint, and null is a value like any other. */
class LiteralMapView extends MapView {
  readonly #entries: ReadonlyMap<bigint | string | boolean, readonly [MapKey, CelValue]>;
  constructor(entries: ReadonlyMap<bigint | string | boolean, readonly [MapKey, CelValue]>) {
    super();
    this.#entries = entries;
  }
  get size(): number {
    return this.#entries.size;
  }
  get(key: MapKey | number): CelValue | undefined {
    const plain = plainKey(key);
    return plain === undefined ? undefined : this.#entries.get(plain)?.[1];
  }
  *keys(): MapIterator<MapKey> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

/** The key by which a map holds it; undefined for doubles that are no integers, which no map holds. */
export function plainKey(key: MapKey | number): bigint | string | boolean | undefined {
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : undefined;
  return isCelUint(key) ? key.value : key;
}

// The library's interfaces carry a brand whose symbol it does not export as a type.
export function textMapView(map: ReadonlyMap<string, string | readonly string[]>): CelMap {
  return new TextMapView(map) as unknown as CelMap;
}

export function literalMapView(entries: ReadonlyMap<bigint | string | boolean, readonly [MapKey, CelValue]>): CelMap {
  return new LiteralMapView(entries) as unknown as CelMap;
}

/**
 * A JSON value. Integral numbers within int64 are int, others double; where the schema says `number` all are double. Only own properties
 * are seen.
 */
export function jsonView(value: unknown, type: CelType = types.dyn): CelValue {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') {
    return type.kind !== 'double' && Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63 ? BigInt(value) : value;
  }
  if (typeof value !== 'object') throw new TypeError('a binding holds what JSON cannot');
  if (Array.isArray(value)) return new JsonListView(value, type.kind === 'list' ? type.element : types.dyn) as unknown as CelList;
  return new JsonMapView(value as Readonly<Record<string, unknown>>, type) as unknown as CelMap;
}

function fieldOf(type: CelType, key: string): CelType {
  if (type.kind === 'object') return type.shape.fields.get(key) ?? type.shape.rest ?? types.dyn;
  return type.kind === 'map' ? type.value : types.dyn;
}

/** An array of evaluated values as a list. */
export function valueList(values: readonly CelValue[]): CelList {
  return celList(values);
}
