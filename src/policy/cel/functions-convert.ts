import type { CelFunc } from '@bufbuild/cel';
import { CelScalar, celFunc, celUint, objectType } from '@bufbuild/cel';
import { create, fromJson } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { chargeText } from './frame.ts';

const { DOUBLE, DYN, INT, STRING, UINT } = CelScalar;
const timestampType = objectType(TimestampSchema);
const durationType = objectType(DurationSchema);

/** Longer numbers and times are none; and BigInt takes more than linear time. */
const charactersMax = 128;

/** Conversions from text that the library does by JavaScript's rules: `int("0x10")`, `int("")`, `double("abc")` are errors in CEL. */
function integerOf(text: string, pattern: RegExp): bigint {
  if (text.length > charactersMax || !pattern.test(text)) throw new Error('not a number');
  return BigInt(text.replace(/^\+/, ''));
}

function intOf(text: string): bigint {
  const value = integerOf(text, /^[+-]?\d+$/);
  if (BigInt.asIntN(64, value) !== value) throw new Error('out of range');
  return value;
}

function uintOf(text: string): bigint {
  const value = integerOf(text, /^\d+$/);
  if (BigInt.asUintN(64, value) !== value) throw new Error('out of range');
  return value;
}

function doubleOf(text: string): number {
  if (text.length > charactersMax) throw new Error('not a number');
  const special = /^(?<sign>[+-]?)(?:(?<infinite>inf(?:inity)?)|nan)$/i.exec(text)?.groups;
  if (special !== undefined) return special['infinite'] === undefined ? NaN : special['sign'] === '-' ? -Infinity : Infinity;
  const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value)) throw new Error('not a number');
  return value;
}

/** Years 1 to 9999, as in protobuf. */
const secondsMin = -62_135_596_800n;
const secondsMax = 253_402_300_799n;

/** The library takes the number for milliseconds. */
function timestampOfSeconds(seconds: bigint): Timestamp {
  if (seconds < secondsMin || seconds > secondsMax) throw new Error('out of range');
  return create(TimestampSchema, { seconds, nanos: 0 });
}

function timestampOfText(text: string): Timestamp {
  if (text.length > charactersMax) throw new Error('not a timestamp');
  return fromJson(TimestampSchema, text);
}

function notOffered(): never {
  throw new Error('no such conversion');
}

export const conversionFunctions: readonly CelFunc[] = [
  celFunc('int', [STRING], INT, intOf),
  celFunc('uint', [STRING], UINT, (text) => celUint(uintOf(text))),
  celFunc('double', [STRING], DOUBLE, doubleOf),
  celFunc('timestamp', [INT], timestampType, timestampOfSeconds),
  celFunc('timestamp', [STRING], timestampType, timestampOfText),
  celFunc('bytes', [STRING], CelScalar.BYTES, (text) => {
    chargeText(text.length);
    return new TextEncoder().encode(text);
  }),
  // The standard library has neither; a value of type dyn would get here.
  celFunc('duration', [INT], durationType, notOffered),
  celFunc('int', [durationType], INT, notOffered),
  celFunc('dyn', [DYN], DYN, (value) => value),
];
