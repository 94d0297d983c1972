import type { CelFunc, CelValue } from '@bufbuild/cel';
import { CelScalar, celFunc, isCelList, isCelMap, isCelType, isCelUint, listType, mapType } from '@bufbuild/cel';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import { charge, chargeText } from './frame.ts';
import { celLimits } from './limits.ts';

/**
 * CEL's equality: numbers across types, the rest only within a type. The library's own compares shared structures again and again (a list
 * that holds one list twice, 100 levels deep, takes 2^100 comparisons) and takes a null in a map for a missing key, so each pair pays here.
 */
export function celEquals(left: CelValue, right: CelValue, depth = 0): boolean {
  if (left === right) return true;
  const one = isCelUint(left) ? left.value : left;
  const other = isCelUint(right) ? right.value : right;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    if (typeof one === 'string' && typeof other === 'string') {
      if (one.length === other.length) chargeText(one.length);
      return one === other;
    }
    // The one place that wants JavaScript's own mixed comparison: it is exact between bigint and number.
    // eslint-disable-next-line eqeqeq
    if (isNumeric(one) && isNumeric(other)) return one == other;
    return false;
  }
  if (depth > celLimits.valueDepth) throw new Error('a value is too deep to compare');
  charge(1);
  if (one instanceof Uint8Array) return other instanceof Uint8Array && equalBytes(one, other);
  if (isCelList(one)) {
    if (!isCelList(other) || one.size !== other.size) return false;
    for (let at = 0; at < one.size; at += 1) {
      charge(0.125);
      if (!celEquals(one.get(at) as CelValue, other.get(at) as CelValue, depth + 1)) return false;
    }
    return true;
  }
  if (isCelMap(one)) {
    if (!isCelMap(other) || one.size !== other.size) return false;
    for (const key of one.keys()) {
      charge(0.125);
      const value = other.get(key);
      if (value === undefined || !celEquals(one.get(key) as CelValue, value, depth + 1)) return false;
    }
    return true;
  }
  if (isCelType(one)) return isCelType(other) && one.kind === other.kind && one.name === other.name;
  if (isReflectMessage(one) && isReflectMessage(other)) return equalTimes(one, other);
  return false;
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  chargeText(one.length);
  return one.every((byte, at) => byte === other[at]);
}

type Message = { readonly desc: { readonly typeName: string }; readonly message: unknown };

/** The only messages of our environment are timestamps and durations. */
function equalTimes(one: Message, other: Message): boolean {
  const left = one.message as Timestamp | Duration;
  const right = other.message as Timestamp | Duration;
  return one.desc.typeName === other.desc.typeName && left.seconds === right.seconds && left.nanos === right.nanos;
}

const { BOOL, DYN } = CelScalar;
const list = listType(DYN);
const map = mapType(DYN, DYN);

function inList(value: CelValue, container: Iterable<CelValue>): boolean {
  for (const element of container) {
    charge(0.125);
    if (celEquals(element, value)) return true;
  }
  return false;
}

// Presence is what counts; the library's `has` says no to a null value.
const keyTypes = [CelScalar.STRING, CelScalar.INT, CelScalar.UINT, CelScalar.BOOL, CelScalar.DOUBLE];

export const equalityFunctions: readonly CelFunc[] = [
  celFunc('_==_', [DYN, DYN], BOOL, (left, right) => celEquals(left, right)),
  celFunc('_!=_', [DYN, DYN], BOOL, (left, right) => !celEquals(left, right)),
  celFunc('@in', [DYN, list], BOOL, inList),
  ...keyTypes.map((type) => celFunc('@in', [type, map], BOOL, (key, container) => container.get(key) !== undefined)),
];
