import { isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import type { CelValue } from '@bufbuild/cel';
import type { CelResult, CelValueOf } from '../cel/contract.ts';
import type { Type } from './types.ts';

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const depthMax = 128;

/** Whether an expression of this type may stand where that result is wanted; dyn may, and is looked at again when it runs. */
export function fits(type: Type, result: CelResult): boolean {
  if (type.kind === 'dyn' || type.kind === 'error') return true;
  switch (result) {
    case 'bool': return type.kind === 'bool';
    case 'string': return type.kind === 'string';
    case 'integer': return type.kind === 'int' || type.kind === 'uint' || type.kind === 'double';
    case 'string_map': return type.kind === 'object' || (type.kind === 'map' && (type.key.kind === 'string' || type.key.kind === 'dyn'));
  }
}

export const wantedNames: Readonly<Record<CelResult, string>> = { bool: 'bool', string: 'string', integer: 'int', string_map: 'map(string, dyn)' };

/** The value as the program's user gets it, or undefined where it is of another type. */
export function resultOf(value: CelValue, result: CelResult): CelValueOf<CelResult> | undefined {
  switch (result) {
    case 'bool': return typeof value === 'boolean' ? value : undefined;
    case 'string': return typeof value === 'string' ? value : undefined;
    case 'integer': return integerOf(value);
    case 'string_map': return isCelMap(value) ? (jsonOf(value, 0) as Readonly<Record<string, unknown>> | undefined) : undefined;
  }
}

function integerOf(value: CelValue): bigint | undefined {
  const integer = typeof value === 'bigint' ? value : isCelUint(value) ? value.value : typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
  return integer !== undefined && integer >= int64Min && integer <= int64Max ? integer : undefined;
}

/** A CEL value as JSON; undefined where JSON has none (bytes, times, types, keys that are no strings, integers a double cannot hold). */
function jsonOf(value: CelValue, depth: number): unknown {
  if (depth > depthMax) return undefined;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'bigint' || isCelUint(value)) {
    const number = Number(typeof value === 'bigint' ? value : value.value);
    return Number.isSafeInteger(number) ? number : undefined;
  }
  if (isCelList(value)) return listOf(value, depth);
  return isCelMap(value) ? objectOf(value, depth) : undefined;
}

function listOf(list: Iterable<CelValue>, depth: number): unknown[] | undefined {
  const items: unknown[] = [];
  for (const item of list) {
    const json = jsonOf(item, depth + 1);
    if (json === undefined) return undefined;
    items.push(json);
  }
  return items;
}

function objectOf(map: Iterable<readonly [unknown, CelValue]>, depth: number): Readonly<Record<string, unknown>> | undefined {
  const object: Record<string, unknown> = {};
  for (const [key, item] of map) {
    const json = typeof key === 'string' ? jsonOf(item, depth + 1) : undefined;
    if (json === undefined) return undefined;
    Object.defineProperty(object, key as string, { value: json, enumerable: true, configurable: true, writable: true });
  }
  return object;
}
