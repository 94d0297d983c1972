import type { CelFunc, CelList, CelValue } from '@bufbuild/cel';
import { CelScalar, celFunc, celMethod, isCelList, listType } from '@bufbuild/cel';
import { compileRe2 } from '../re2.ts';
import { charge, chargeString, chargeText } from './frame.ts';
import { valueList } from './views.ts';

const { BOOL, BYTES, DYN, INT, STRING } = CelScalar;
const list = listType(DYN);

/** RE2 with a shared cache of programs; the library compiles the pattern at each call. */
function matches(text: string, pattern: string): boolean {
  const compiled = compileRe2(pattern);
  if ('error' in compiled) throw new Error('the pattern is not RE2');
  // An automaton step costs more than a comparison.
  chargeText(text.length * 8);
  return compiled.re2.test(text);
}

/** CEL counts code points. */
export function sizeOfText(text: string): number {
  chargeText(text.length);
  let size = text.length;
  for (let at = 0; at < text.length - 1; at += 1) {
    const high = text.charCodeAt(at);
    if (high < 0xd800 || high > 0xdbff) continue;
    const low = text.charCodeAt(at + 1);
    if (low >= 0xdc00 && low <= 0xdfff) {
      size -= 1;
      at += 1;
    }
  }
  return size;
}

/** By code points, as CEL orders strings; JavaScript orders UTF-16 units, which differs where surrogates are. */
function compareText(left: string, right: string): number {
  chargeText(Math.min(left.length, right.length));
  if (left === right) return 0;
  const surrogates = /[\ud800-\udfff]/;
  if (surrogates.test(left) || surrogates.test(right)) return Buffer.compare(Buffer.from(left), Buffer.from(right));
  return left < right ? -1 : 1;
}

function concatText(left: string, right: string): string {
  chargeString(left.length + right.length);
  return left + right;
}

function concatBytes(left: Uint8Array, right: Uint8Array): Uint8Array {
  chargeString(left.length + right.length);
  return Buffer.concat([left, right]);
}

/** Copied, so that a list of lists of lists cannot claim more elements than were paid for. */
function concatLists(left: CelValue, right: CelValue): CelList {
  if (!isCelList(left) || !isCelList(right)) throw new Error('not lists');
  charge(1 + Math.floor((left.size + right.size) / 8));
  return valueList([...left, ...right]);
}

function searching<R>(search: (text: string, part: string) => R): (this: string, part: string) => R {
  return function (part) {
    chargeText(this.length);
    return search(this, part);
  };
}

export const textFunctions: readonly CelFunc[] = [
  celFunc('_+_', [STRING, STRING], STRING, concatText),
  celFunc('_+_', [BYTES, BYTES], BYTES, concatBytes),
  celFunc('_+_', [list, list], list, concatLists),
  celFunc('_<_', [STRING, STRING], BOOL, (left, right) => compareText(left, right) < 0),
  celFunc('_<=_', [STRING, STRING], BOOL, (left, right) => compareText(left, right) <= 0),
  celFunc('_>_', [STRING, STRING], BOOL, (left, right) => compareText(left, right) > 0),
  celFunc('_>=_', [STRING, STRING], BOOL, (left, right) => compareText(left, right) >= 0),
  celFunc('size', [STRING], INT, (text) => BigInt(sizeOfText(text))),
  celMethod('size', STRING, [], INT, function () {
    return BigInt(sizeOfText(this));
  }),
  celMethod('contains', STRING, [STRING], BOOL, searching((text, part) => text.includes(part))),
  celMethod('startsWith', STRING, [STRING], BOOL, searching((text, part) => text.startsWith(part))),
  celMethod('endsWith', STRING, [STRING], BOOL, searching((text, part) => text.endsWith(part))),
  celFunc('matches', [STRING, STRING], BOOL, matches),
  celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
    return matches(this, pattern);
  }),
];
