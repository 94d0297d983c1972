import type { CelFunc, CelValue } from '@bufbuild/cel';
import { CelScalar, celFunc, celMethod, isCelError, isCelList, isCelMap, listType } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { charge, chargeString, chargeText } from './frame.ts';
import { celLimits } from './limits.ts';
import { valueList } from './views.ts';

const { DYN, INT, STRING } = CelScalar;
const list = listType(DYN);

/**
 * The string extension. The library's own counts UTF-16 units (CEL counts code points), cuts what `split` should leave whole, and takes
 * quadratic time in `replace`; what it does well is called through, with its text paid for.
 */
function units(text: string): readonly string[] | string {
  chargeText(text.length);
  return /[\ud800-\udbff][\udc00-\udfff]/.test(text) ? Array.from(text) : text;
}

/** Code points `from` to `to` of the text. */
function slice(text: string, from: number, to: number): string {
  const points = units(text);
  if (from < 0 || to > points.length || from > to) throw new Error('index out of range');
  return typeof points === 'string' ? points.slice(from, to) : points.slice(from, to).join('');
}

function substring(text: string, from: bigint, to?: bigint): string {
  return slice(text, Number(from), to === undefined ? units(text).length : Number(to));
}

function charAt(text: string, at: bigint): string {
  const index = Number(at);
  return index === units(text).length ? '' : slice(text, index, index + 1);
}

/** Position in code points of a position in units. */
function pointsBefore(text: string, position: number): bigint {
  if (position < 0) return -1n;
  return BigInt(typeof units(text) === 'string' ? position : Array.from(text.slice(0, position)).length);
}

/** Position in units of a position in code points, which has to be inside the text. */
function unitsBefore(text: string, position: bigint): number {
  const points = units(text);
  const index = Number(position);
  if (index < 0 || index > points.length) throw new Error('index out of range');
  return typeof points === 'string' ? index : points.slice(0, index).join('').length;
}

function indexOf(text: string, part: string, from: bigint): bigint {
  return pointsBefore(text, text.indexOf(part, unitsBefore(text, from)));
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  return pointsBefore(text, text.lastIndexOf(part, from === undefined ? undefined : unitsBefore(text, from)));
}

/** At most `count` pieces, the last one whole; all when negative, none when 0. */
function split(text: string, separator: string, count: bigint): readonly string[] {
  chargeText(text.length);
  if (count === 0n) return [];
  const pieces = separator === '' ? Array.from(text) : text.split(separator);
  charge(pieces.length / 8);
  const wanted = Number(count);
  return wanted < 0 || pieces.length <= wanted ? pieces : [...pieces.slice(0, wanted - 1), pieces.slice(wanted - 1).join(separator)];
}

/** The first `count` occurrences; all when negative. An empty part stands before every code point and at the end. */
function replace(text: string, part: string, replacement: string, count: bigint): string {
  chargeText(text.length);
  const pieces = part === '' ? ['', ...Array.from(text), ''] : text.split(part);
  const replaced = count < 0n ? pieces.length - 1 : Math.min(Number(count), pieces.length - 1);
  charge(pieces.length / 8);
  chargeString(text.length + replaced * replacement.length);
  return pieces.slice(0, replaced).map((piece) => piece + replacement).join('') + pieces.slice(replaced).join(part);
}

function join(values: CelValue, separator: string): string {
  if (!isCelList(values)) throw new Error('not a list');
  charge(values.size / 8);
  let characters = 0;
  const texts = Array.from(values, (value) => {
    if (typeof value !== 'string') throw new Error('not a string');
    characters += value.length + separator.length;
    if (characters > celLimits.stringCharacters) chargeString(characters);
    return value;
  });
  chargeString(characters);
  return texts.join(separator);
}

/** Pays for all that a value holds, each time that it is held: lists may hold one list many times. */
function weigh(value: CelValue, depth: number): void {
  if (depth > celLimits.valueDepth) throw new Error('a value is too deep');
  charge(0.125);
  if (typeof value === 'string') chargeText(value.length);
  else if (value instanceof Uint8Array) chargeText(value.length);
  else if (isCelList(value)) for (const element of value) weigh(element, depth + 1);
  else if (isCelMap(value)) {
    for (const key of value.keys()) {
      weigh(key, depth + 1);
      weigh(value.get(key) as CelValue, depth + 1);
    }
  }
}

const libraryFunctions = new Map([...strings].map((func) => [func.id, func]));

function throughLibrary(id: string, target: CelValue | undefined, args: CelValue[]): CelValue {
  const result = libraryFunctions.get(id)?.call(0, target, args);
  if (result === undefined || isCelError(result)) throw new Error('the function failed');
  if (typeof result === 'string') chargeString(result.length);
  return result;
}

const simple = ['lowerAscii', 'upperAscii', 'trim'].map((name) =>
  celMethod(name, STRING, [], STRING, function () {
    chargeText(this.length);
    return throughLibrary(`string.${name}()`, this, []) as string;
  }),
);

export const stringFunctions: readonly CelFunc[] = [
  ...simple,
  celFunc('strings.quote', [STRING], STRING, (text) => {
    chargeString(text.length * 2);
    return throughLibrary('strings.quote(string)', undefined, [text]) as string;
  }),
  celMethod('format', STRING, [list], STRING, function (args) {
    chargeText(this.length);
    weigh(args, 0);
    return throughLibrary('string.format(list)', this, [args]) as string;
  }),
  celMethod('charAt', STRING, [INT], STRING, function (at) {
    return charAt(this, at);
  }),
  celMethod('substring', STRING, [INT], STRING, function (from) {
    return substring(this, from);
  }),
  celMethod('substring', STRING, [INT, INT], STRING, function (from, to) {
    return substring(this, from, to);
  }),
  celMethod('indexOf', STRING, [STRING], INT, function (part) {
    return indexOf(this, part, 0n);
  }),
  celMethod('indexOf', STRING, [STRING, INT], INT, function (part, from) {
    return indexOf(this, part, from);
  }),
  celMethod('lastIndexOf', STRING, [STRING], INT, function (part) {
    return lastIndexOf(this, part);
  }),
  celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (part, from) {
    return lastIndexOf(this, part, from);
  }),
  celMethod('split', STRING, [STRING], list, function (separator) {
    return valueList(split(this, separator, -1n));
  }),
  celMethod('split', STRING, [STRING, INT], list, function (separator, count) {
    return valueList(split(this, separator, count));
  }),
  celMethod('replace', STRING, [STRING, STRING], STRING, function (part, replacement) {
    return replace(this, part, replacement, -1n);
  }),
  celMethod('replace', STRING, [STRING, STRING, INT], STRING, function (part, replacement, count) {
    return replace(this, part, replacement, count);
  }),
  celMethod('join', list, [], STRING, function () {
    return join(this, '');
  }),
  celMethod('join', list, [STRING], STRING, function (separator) {
    return join(this, separator);
  }),
];
