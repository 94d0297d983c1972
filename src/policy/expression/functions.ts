import { CelScalar, celFunc, isCelList, listType } from '@bufbuild/cel';
import type { CelFunc, CelList, CelValue } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { compileRe2 } from '../re2.ts';
import { tick } from './budget.ts';
import { GrowingList, asList } from './views.ts';

const { INT, DOUBLE, STRING, BOOL, DYN } = CelScalar;

/** Text an expression can build up. */
const textCharactersMax = 32 * 1024 * 1024;

const decimal = /^[-+]?[0-9]+$/;
const float = /^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$/;
const namedFloats: ReadonlyMap<string, number> = new Map([['NaN', Number.NaN], ['Infinity', Infinity], ['+Infinity', Infinity], ['-Infinity', -Infinity], ['Inf', Infinity], ['+Inf', Infinity], ['-Inf', -Infinity], ['inf', Infinity], ['-inf', -Infinity], ['+inf', Infinity]]);

/** An error of the evaluation. Its text is never shown: it could hold values. */
class EvaluationError extends Error {}

function int64(text: string): bigint {
  if (!decimal.test(text)) throw new EvaluationError('not an integer');
  const value = BigInt(text);
  if (value !== BigInt.asIntN(64, value)) throw new EvaluationError('beyond int64');
  return value;
}

function double(text: string): number {
  const named = namedFloats.get(text);
  if (named !== undefined) return named;
  if (!float.test(text)) throw new EvaluationError('not a number');
  return Number(text);
}

/**
 * What is added to, and mended in, the evaluator's library: conversions that took anything for a number, concatenation without a bound, and
 * what instrumented comprehensions call. Names with an @ cannot be written in an expression.
 */
export const functions: readonly CelFunc[] = [
  ...strings,
  celFunc('int', [STRING], INT, int64),
  celFunc('double', [STRING], DOUBLE, double),
  celFunc('_+_', [STRING, STRING], STRING, (left, right) => {
    if (left.length + right.length > textCharactersMax) throw new EvaluationError('the text grows too long');
    return left + right;
  }),
  celFunc('@tick', [], BOOL, () => {
    if (!tick()) throw new EvaluationError('out of budget');
    return true;
  }),
  celFunc('@append', [listType(DYN), DYN], listType(DYN), (list: CelList, item: CelValue) => asList(growing(list).append(item))),
];

function growing(list: CelList): GrowingList {
  if (!isCelList(list)) throw new EvaluationError('not a list');
  if ((list as unknown) instanceof GrowingList) return list as unknown as GrowingList;
  const items = [...list];
  return new GrowingList(items, items.length);
}

/** `matches`, always in linear time; patterns made at run time are bounded and kept like others. */
export const re2Engine = {
  compile(pattern: string): { test(text: string): boolean } {
    const compiled = compileRe2(pattern);
    if ('error' in compiled) throw new EvaluationError('not a pattern');
    return compiled.re2;
  },
};
