import type { CelInput, CelList, CelMap, CelValue } from '@bufbuild/cel';
import type { Type } from './types.ts';
import { T } from './types.ts';

/**
 * Inputs as the evaluator reads them, without copies: it would otherwise turn a whole header list or body into a Map at each access. Only
 * own properties exist, null is a value, and `constructor` is a key like any other. The symbols are how @bufbuild/cel knows its own maps
 * and lists; its version is pinned, and a test fails when they change.
 */
const mapBrand = Symbol.for('@bufbuild/cel/map');
const listBrand = Symbol.for('@bufbuild/cel/list');

/** A map from strings. */
abstract class MapView {
  readonly [mapBrand] = {};
  abstract readonly size: number;
  abstract keys(): IterableIterator<string>;
  abstract read(key: string): CelValue | undefined;

  get(key: unknown): CelValue | undefined {
    return typeof key === 'string' ? this.read(key) : undefined;
  }
  has(key: unknown): boolean {
    return this.get(key) !== undefined;
  }
  *values(): IterableIterator<CelValue> {
    for (const key of this.keys()) yield this.read(key) ?? null;
  }
  *entries(): IterableIterator<[string, CelValue]> {
    for (const key of this.keys()) yield [key, this.read(key) ?? null];
  }
  [Symbol.iterator](): IterableIterator<[string, CelValue]> {
    return this.entries();
  }
  forEach(callback: (value: CelValue, key: string, map: MapView) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this);
  }
}

class StringsView extends MapView {
  readonly #map: ReadonlyMap<string, string>;
  constructor(map: ReadonlyMap<string, string>) {
    super();
    this.#map = map;
  }
  get size(): number {
    return this.#map.size;
  }
  keys(): IterableIterator<string> {
    return this.#map.keys();
  }
  read(key: string): CelValue | undefined {
    return this.#map.get(key);
  }
}

class QueryView extends MapView {
  readonly #map: ReadonlyMap<string, readonly string[]>;
  constructor(map: ReadonlyMap<string, readonly string[]>) {
    super();
    this.#map = map;
  }
  get size(): number {
    return this.#map.size;
  }
  keys(): IterableIterator<string> {
    return this.#map.keys();
  }
  read(key: string): CelValue | undefined {
    const values = this.#map.get(key);
    return values === undefined ? undefined : asList(new JsonListView(values, T.string));
  }
}

class JsonObjectView extends MapView {
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #type: Type;
  constructor(object: Readonly<Record<string, unknown>>, type: Type) {
    super();
    this.#object = object;
    this.#type = type;
  }
  get size(): number {
    return Object.keys(this.#object).length;
  }
  *keys(): IterableIterator<string> {
    yield* Object.keys(this.#object);
  }
  read(key: string): CelValue | undefined {
    return Object.hasOwn(this.#object, key) ? jsonValue(this.#object[key], this.#fieldType(key)) : undefined;
  }
  #fieldType(key: string): Type {
    if (this.#type.kind === 'object') return this.#type.object.field(key) ?? T.dyn;
    return this.#type.kind === 'map' ? this.#type.value : T.dyn;
  }
}

class JsonListView {
  readonly [listBrand] = {};
  readonly #items: readonly unknown[];
  readonly #element: Type;
  constructor(items: readonly unknown[], element: Type) {
    this.#items = items;
    this.#element = element;
  }
  get size(): number {
    return this.#items.length;
  }
  get(index: number | bigint): CelValue | undefined {
    const at = Number(index);
    return at >= 0 && at < this.#items.length ? jsonValue(this.#items[at], this.#element) : undefined;
  }
  *values(): IterableIterator<CelValue> {
    for (const item of this.#items) yield jsonValue(item, this.#element);
  }
  [Symbol.iterator](): IterableIterator<CelValue> {
    return this.values();
  }
}

/** What `map` and `filter` build: appending shares the items, where the library would chain lists ever deeper. */
export class GrowingList {
  readonly [listBrand] = {};
  readonly #items: CelValue[];
  readonly size: number;
  constructor(items: CelValue[], size: number) {
    this.#items = items;
    this.size = size;
  }
  append(item: CelValue): GrowingList {
    const items = this.#items.length === this.size ? this.#items : this.#items.slice(0, this.size);
    items.push(item);
    return new GrowingList(items, items.length);
  }
  get(index: number | bigint): CelValue | undefined {
    const at = Number(index);
    return at >= 0 && at < this.size ? this.#items[at] : undefined;
  }
  *values(): IterableIterator<CelValue> {
    for (let at = 0; at < this.size; at += 1) yield this.#items[at] ?? null;
  }
  [Symbol.iterator](): IterableIterator<CelValue> {
    return this.values();
  }
}

// The library's types carry private symbols that only its own classes can have.
export function asMap(view: MapView): CelMap {
  return view as unknown as CelMap;
}
export function asList(view: JsonListView | GrowingList): CelList {
  return view as unknown as CelList;
}

const int64Max = 2 ** 63;

/** A JSON value; whole numbers are int, unless the schema says number. */
export function jsonValue(value: unknown, type: Type = T.dyn): CelValue {
  switch (typeof value) {
    case 'string':
    case 'boolean': return value;
    case 'number': return type.kind !== 'double' && Number.isInteger(value) && value < int64Max && value >= -int64Max ? BigInt(value) : value;
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return asList(new JsonListView(value, type.kind === 'list' ? type.element : T.dyn));
      return asMap(new JsonObjectView(value as Readonly<Record<string, unknown>>, type));
    default: return null;
  }
}

export function stringsView(map: ReadonlyMap<string, string>): CelInput {
  return asMap(new StringsView(map));
}

export function queryView(map: ReadonlyMap<string, readonly string[]>): CelInput {
  return asMap(new QueryView(map));
}
