import type { Type } from './types.ts';
import { T } from './types.ts';

/** One way to call a function or operator. `method` is `target.name(args)`: the target is the first argument. */
export type Overload = { readonly args: readonly Type[]; readonly result: Type; readonly method: boolean };

const A = T.param('A');
const B = T.param('B');
const listA = T.list(A);
const mapAB = T.map(A, B);

const table = new Map<string, Overload[]>();

function add(name: string, result: Type, args: readonly Type[], method = false): void {
  const overloads = table.get(name) ?? [];
  overloads.push(Object.freeze({ args, result, method }));
  table.set(name, overloads);
}
function addMethod(name: string, result: Type, ...args: readonly Type[]): void {
  add(name, result, args, true);
}

const { bool, int, uint, double, string, bytes, timestamp, duration, dyn } = T;

// Logic and choice.
add('_&&_', bool, [bool, bool]);
add('_||_', bool, [bool, bool]);
add('!_', bool, [bool]);
add('@not_strictly_false', bool, [bool]);
add('_?_:_', A, [bool, A, A]);
add('_==_', bool, [A, A]);
add('_!=_', bool, [A, A]);

// Order; numbers of different kinds compare by value.
for (const operator of ['_<_', '_<=_', '_>_', '_>=_']) {
  for (const type of [bool, string, bytes, timestamp, duration]) add(operator, bool, [type, type]);
  for (const left of [int, uint, double]) for (const right of [int, uint, double]) add(operator, bool, [left, right]);
}

// Arithmetic.
for (const operator of ['_+_', '_-_', '_*_', '_/_']) for (const type of [int, uint, double]) add(operator, type, [type, type]);
for (const type of [int, uint]) add('_%_', type, [type, type]);
for (const type of [int, double]) add('-_', type, [type]);
for (const type of [string, bytes]) add('_+_', type, [type, type]);
add('_+_', listA, [listA, listA]);
add('_+_', timestamp, [timestamp, duration]);
add('_+_', timestamp, [duration, timestamp]);
add('_+_', duration, [duration, duration]);
add('_-_', duration, [timestamp, timestamp]);
add('_-_', timestamp, [timestamp, duration]);
add('_-_', duration, [duration, duration]);

// Collections.
add('@in', bool, [A, listA]);
add('@in', bool, [A, mapAB]);
add('_[_]', A, [listA, int]);
add('_[_]', B, [mapAB, A]);
for (const type of [string, bytes, listA, mapAB]) {
  add('size', int, [type]);
  addMethod('size', int, type);
}

// Conversions.
for (const type of [int, uint, double, string, timestamp, duration]) add('int', int, [type]);
for (const type of [int, uint, double, string]) add('uint', uint, [type]);
for (const type of [int, uint, double, string]) add('double', double, [type]);
for (const type of [bool, int, uint, double, string, bytes, timestamp, duration]) add('string', string, [type]);
for (const type of [string, bytes]) add('bytes', bytes, [type]);
for (const type of [bool, string]) add('bool', bool, [type]);
for (const type of [timestamp, string, int]) add('timestamp', timestamp, [type]);
for (const type of [duration, string, int]) add('duration', duration, [type]);
add('type', T.type(A), [A]);
add('dyn', dyn, [A]);

// Strings: the standard ones and the strings extension.
add('matches', bool, [string, string]);
addMethod('matches', bool, string, string);
for (const name of ['contains', 'startsWith', 'endsWith']) addMethod(name, bool, string, string);
addMethod('charAt', string, string, int);
for (const name of ['indexOf', 'lastIndexOf']) {
  addMethod(name, int, string, string);
  addMethod(name, int, string, string, int);
}
for (const name of ['lowerAscii', 'upperAscii', 'trim', 'reverse']) addMethod(name, string, string);
addMethod('replace', string, string, string, string);
addMethod('replace', string, string, string, string, int);
addMethod('split', T.list(string), string, string);
addMethod('split', T.list(string), string, string, int);
addMethod('substring', string, string, int);
addMethod('substring', string, string, int, int);
addMethod('join', string, T.list(string));
addMethod('join', string, T.list(string), string);
addMethod('format', string, string, T.list(dyn));
add('strings.quote', string, [string]);

// Times.
for (const name of ['getFullYear', 'getMonth', 'getDayOfYear', 'getDayOfMonth', 'getDate', 'getDayOfWeek', 'getHours', 'getMinutes', 'getSeconds', 'getMilliseconds']) {
  addMethod(name, int, timestamp);
  addMethod(name, int, timestamp, string);
}
for (const name of ['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds']) addMethod(name, int, duration);

/** Undefined for a function that does not exist. */
export function overloadsOf(name: string): readonly Overload[] | undefined {
  return table.get(name);
}

/** Names that stand for types themselves, as in `type(x) == string`. */
export const typeNames: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['bool', T.type(bool)], ['int', T.type(int)], ['uint', T.type(uint)], ['double', T.type(double)], ['string', T.type(string)], ['bytes', T.type(bytes)],
  ['list', T.type(T.list(dyn))], ['map', T.type(T.map(dyn, dyn))], ['null_type', T.type(T.null)], ['type', T.type(T.type())],
  ['google.protobuf.Timestamp', T.type(timestamp)], ['google.protobuf.Duration', T.type(duration)],
]);
