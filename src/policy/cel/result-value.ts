import type { CelValue } from '@bufbuild/cel';
import { isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import type { CelResult } from './contract.ts';
import { charge, TypeMismatch } from './frame.ts';
import { celLimits } from './limits.ts';
import type { CelType } from './types.ts';
import { typeText } from './types.ts';

/** What each place takes, for people. */
const wantedText: Readonly<Record<CelResult, string>> = {
  bool: 'bool',
  string: 'string',
  integer: 'int',
  string_map: 'map(string, dyn)',
};

const jsonKinds = new Set(['dyn', 'null', 'bool', 'int', 'uint', 'double', 'string', 'object']);

/** Why an expression of this static type cannot be used; undefined when it can. dyn is settled at run time. */
export function resultProblem(type: CelType, result: CelResult): { readonly message: string; readonly hint?: string } | undefined {
  if (type.kind === 'dyn' || fits(type, result)) return undefined;
  const message = `the expression yields ${typeText(type)}, but ${wantedText[result]} is needed`;
  const hint = result === 'integer' && type.kind === 'double' ? 'int(…) cuts the fraction off' : result === 'string' && jsonKinds.has(type.kind) && type.kind !== 'null' && type.kind !== 'object' ? 'string(…) converts it' : undefined;
  return hint === undefined ? { message } : { message, hint };
}

function fits(type: CelType, result: CelResult): boolean {
  switch (result) {
    case 'bool':
    case 'string':
      return type.kind === result;
    case 'integer':
      return type.kind === 'int' || type.kind === 'uint';
    case 'string_map':
      if (type.kind === 'object') return true;
      return type.kind === 'map' && (type.key.kind === 'string' || type.key.kind === 'dyn') && isJson(type.value);
  }
}

function isJson(type: CelType): boolean {
  if (type.kind === 'list') return isJson(type.element);
  if (type.kind === 'map') return (type.key.kind === 'string' || type.key.kind === 'dyn') && isJson(type.value);
  return jsonKinds.has(type.kind);
}

/** The value as the caller takes it. Throws TypeMismatch when it is something else. */
export function resultValue(value: CelValue, result: CelResult): boolean | string | bigint | Readonly<Record<string, unknown>> {
  switch (result) {
    case 'bool':
      if (typeof value === 'boolean') return value;
      break;
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'integer': {
      const whole = isCelUint(value) ? value.value : typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;
      if (typeof whole === 'bigint' && BigInt.asIntN(64, whole) === whole) return whole;
      break;
    }
    case 'string_map':
      if (isCelMap(value)) return jsonOf(value, 0) as Readonly<Record<string, unknown>>;
      break;
  }
  throw new TypeMismatch();
}

/** A copy as plain JSON. Integers that a JSON number would change are a mismatch, not a rounding. */
function jsonOf(value: CelValue, depth: number): unknown {
  if (depth > celLimits.valueDepth) throw new TypeMismatch();
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : mismatch();
  if (typeof value === 'bigint') return exactNumber(value);
  if (isCelUint(value)) return exactNumber(value.value);
  charge(1);
  if (isCelList(value)) {
    return Array.from(value, (element) => {
      charge(0.125);
      return jsonOf(element, depth + 1);
    });
  }
  if (!isCelMap(value)) return mismatch();
  // fromEntries makes own properties, also of `__proto__`.
  return Object.fromEntries(
    Array.from(value.keys(), (key): [string, unknown] => {
      charge(0.125);
      return typeof key === 'string' ? [key, jsonOf(value.get(key) as CelValue, depth + 1)] : mismatch();
    }),
  );
}

function exactNumber(value: bigint): number {
  const number = Number(value);
  return BigInt(number) === value ? number : mismatch();
}

function mismatch(): never {
  throw new TypeMismatch();
}
