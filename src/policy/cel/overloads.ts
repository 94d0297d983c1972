import type { Overload } from './signature.ts';
import { overloadOf } from './signature.ts';

const numbers = ['int', 'uint', 'double'];
const same = (names: readonly string[], result?: string): readonly string[] => names.map((name) => `(${name}, ${name}) -> ${result ?? name}`);

/**
 * Order comparisons: within a type, and between numbers of different types (a JSON `1` and a schema's double should compare). Equality
 * asks for one type on both sides, as cel-go does.
 */
const comparisons = [
  ...same(['bool', 'string', 'bytes', 'timestamp', 'duration', ...numbers], 'bool'),
  ...numbers.flatMap((left) => numbers.filter((right) => right !== left).map((right) => `(${left}, ${right}) -> bool`)),
];

const timeParts = ['getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getFullYear', 'getHours', 'getMilliseconds', 'getMinutes', 'getMonth', 'getSeconds'];
const durationParts = new Set(['getHours', 'getMilliseconds', 'getMinutes', 'getSeconds']);

/** The CEL standard library and the string extension, as far as the evaluator has them (contract 2.7 names no functions of its own). */
const signatures: Readonly<Record<string, readonly string[]>> = {
  '_?_:_': ['(bool, A, A) -> A'],
  '_&&_': ['(bool, bool) -> bool'],
  '_||_': ['(bool, bool) -> bool'],
  '!_': ['(bool) -> bool'],
  '@not_strictly_false': ['(bool) -> bool'],
  '_==_': ['(A, A) -> bool'],
  '_!=_': ['(A, A) -> bool'],
  '_<_': comparisons,
  '_<=_': comparisons,
  '_>_': comparisons,
  '_>=_': comparisons,
  '_+_': [
    ...same([...numbers, 'string', 'bytes', 'list(A)', 'duration']),
    '(timestamp, duration) -> timestamp',
    '(duration, timestamp) -> timestamp',
  ],
  '_-_': [...same([...numbers, 'duration']), '(timestamp, timestamp) -> duration', '(timestamp, duration) -> timestamp'],
  '_*_': same(numbers),
  '_/_': same(numbers),
  '_%_': same(['int', 'uint']),
  '-_': ['(int) -> int', '(double) -> double'],
  '@in': ['(A, list(A)) -> bool', '(A, map(A, B)) -> bool'],
  '_[_]': ['(list(A), int) -> A', '(map(A, B), A) -> B'],
  size: ['string', 'bytes', 'list(A)', 'map(A, B)'].flatMap((type) => [`(${type}) -> int`, `${type}.() -> int`]),
  type: ['(A) -> type(A)'],
  dyn: ['(A) -> dyn'],
  bool: ['(bool) -> bool', '(string) -> bool'],
  bytes: ['(bytes) -> bytes', '(string) -> bytes'],
  double: ['(double) -> double', '(int) -> double', '(uint) -> double', '(string) -> double'],
  duration: ['(duration) -> duration', '(string) -> duration'],
  int: ['(int) -> int', '(uint) -> int', '(double) -> int', '(string) -> int', '(timestamp) -> int'],
  string: ['string', 'bool', 'int', 'uint', 'double', 'bytes', 'timestamp', 'duration'].map((type) => `(${type}) -> string`),
  timestamp: ['(timestamp) -> timestamp', '(string) -> timestamp', '(int) -> timestamp'],
  uint: ['(uint) -> uint', '(int) -> uint', '(double) -> uint', '(string) -> uint'],
  contains: ['string.(string) -> bool'],
  endsWith: ['string.(string) -> bool'],
  startsWith: ['string.(string) -> bool'],
  matches: ['string.(string) -> bool', '(string, string) -> bool'],
  ...Object.fromEntries(
    timeParts.map((name) => [
      name,
      ['timestamp.() -> int', 'timestamp.(string) -> int', ...(durationParts.has(name) ? ['duration.() -> int'] : [])],
    ]),
  ),
  charAt: ['string.(int) -> string'],
  indexOf: ['string.(string) -> int', 'string.(string, int) -> int'],
  lastIndexOf: ['string.(string) -> int', 'string.(string, int) -> int'],
  lowerAscii: ['string.() -> string'],
  upperAscii: ['string.() -> string'],
  replace: ['string.(string, string) -> string', 'string.(string, string, int) -> string'],
  split: ['string.(string) -> list(string)', 'string.(string, int) -> list(string)'],
  substring: ['string.(int) -> string', 'string.(int, int) -> string'],
  trim: ['string.() -> string'],
  join: ['list(string).() -> string', 'list(string).(string) -> string'],
  format: ['string.(list(dyn)) -> string'],
  'strings.quote': ['(string) -> string'],
};

export const overloads: ReadonlyMap<string, readonly Overload[]> = new Map(
  Object.entries(signatures).map(([name, list]): [string, readonly Overload[]] => [name, list.map(overloadOf)]),
);
