import { celEnv, celFunc, CelScalar } from '@bufbuild/cel';
import type { CelValue } from '@bufbuild/cel';
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import type { SerializedIncrementalTest, SerializedIncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { checkExpression } from '../../../src/policy/cel/check-expression.ts';
import { emitExpression } from '../../../src/policy/cel/emit.ts';
import { createEvaluator, evaluatorFunctions } from '../../../src/policy/cel/evaluator.ts';
import { parseExpression } from '../../../src/policy/cel/parse-expression.ts';
import type { CelType } from '../../../src/policy/cel/types.ts';
import { typeText, types } from '../../../src/policy/cel/types.ts';
import type { SuiteValue } from './conformance-values.ts';
import { canonical, canonicalSuite, typeOfSuite, valueOf } from './conformance-values.ts';
import { evaluationExceptions, extensionsNotOffered, typeExceptions } from './conformance-exceptions.ts';

/** What became of one case. `refused`: a file of an extension that we do not offer, refused when it was saved, as it has to be. */
type Outcome = 'passed' | 'refused' | 'exception' | 'failed';

export type CaseResult = { readonly id: string; readonly file: string; readonly expr: string; readonly outcome: Outcome; readonly detail: string };

export type FileFigures = { readonly file: string; readonly run: number; readonly passed: number; readonly refused: number; readonly exceptions: number; readonly failed: number };

export type ConformanceFigures = {
  /** Version of the suite's cases. */
  readonly suite: string;
  /** Cases of all files, and those left out because they need protobuf messages or functions of their own. */
  readonly cases: number;
  readonly leftOut: number;
  readonly evaluation: readonly FileFigures[];
  readonly types: readonly FileFigures[];
};

type Original = SerializedIncrementalTest['original'] & {
  readonly value?: SuiteValue;
  readonly typedResult?: { readonly result?: SuiteValue };
  readonly evalError?: unknown;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
  readonly container?: string;
  readonly typeEnv?: readonly { readonly name: string; readonly ident?: { readonly type: Readonly<Record<string, unknown>> } }[];
  readonly bindings?: Readonly<Record<string, { readonly value?: SuiteValue }>>;
};

export type SuiteCase = { readonly id: string; readonly file: string; readonly original: Original; readonly type: string | undefined; readonly error: string | undefined };

/** All cases that need no protobuf message: a policy has none. Timestamps and durations are CEL's own. */
export function suiteCases(): { readonly cases: readonly SuiteCase[]; readonly all: number } {
  const all: SuiteCase[] = [];
  const walk = (suite: SerializedIncrementalTestSuite, path: readonly string[]): void => {
    for (const inner of suite.suites ?? []) walk(inner, [...path, inner.name]);
    for (const { original, type, error } of suite.tests ?? []) {
      all.push({ id: [...path, original.name ?? original.expr].join('/'), file: path[0] ?? '', original, type, error });
    }
  };
  walk(tests, []);
  return { cases: all.filter(({ original, type }) => !needsMessages(original, type)), all: all.length };
}

const messages = /TestAllTypes|messageType|wrapper|enumValue|cel\.expr\.conformance|"function"|google\.protobuf\.(?!Timestamp|Duration)|\bproto\.|GlobalEnum|NestedEnum|NestedTestAllTypes|\bany\b|typeParam/;

function needsMessages(original: Original, type: string | undefined): boolean {
  const { container = '', expr, typeEnv, bindings, value, typedResult } = original;
  return messages.test(`${JSON.stringify([expr, typeEnv, bindings, value, typedResult])} ${type ?? ''}`) || container.includes('proto');
}

function variablesOf(original: Original): ReadonlyMap<string, CelType> {
  return new Map((original.typeEnv ?? []).map(({ name, ident }) => [name, typeOfSuite(ident?.type ?? {}) ?? types.dyn]));
}

/** Through the whole of our path: scan, parse, check, emit, plan, evaluate within the budget. */
export function evaluateCase({ original }: SuiteCase): { readonly kind: 'value'; readonly text: string } | { readonly kind: 'refused' | 'error'; readonly text: string } {
  const parsed = parseExpression(original.expr);
  if ('problems' in parsed) return { kind: 'refused', text: parsed.problems.map(({ message }) => message).join('; ') };
  const bindings = Object.entries(original.bindings ?? {}).map(([name, { value = {} }]) => ({ name, value: valueOf(value) }));
  const declared = variablesOf(original);
  const variables = new Map([...bindings.map(({ name }): [string, CelType] => [name, types.dyn]), ...declared]);
  const checked = checkExpression(parsed.node, variables);
  // Some cases say that they are about evaluation without a check.
  const problems = original.disableCheck === true ? [] : checked.problems;
  if (problems.length > 0) return { kind: 'refused', text: problems.map(({ message }) => message).join('; ') };
  const getters = bindings.map(({ name, value }) => celFunc(`@get.${name}`, [], CelScalar.DYN, () => value as never));
  const evaluate = createEvaluator(emitExpression(parsed.node, checked), types.dyn, celEnv({ funcs: [...evaluatorFunctions, ...getters] }));
  const result = evaluate({}, (value: CelValue) => canonical(value));
  return result.ok ? { kind: 'value', text: result.value } : { kind: 'error', text: result.code };
}

function evaluationResult(one: SuiteCase): CaseResult | undefined {
  const { original } = one;
  if (original.checkOnly === true) return undefined;
  const got = evaluateCase(one);
  const wanted = original.evalError === undefined ? canonicalSuite(original.value ?? original.typedResult?.result ?? { boolValue: true }) : 'an error';
  const good = original.evalError === undefined ? got.kind === 'value' && got.text === wanted : got.kind !== 'value';
  const detail = `wanted ${wanted}, got ${got.kind} ${got.text}`;
  if (extensionsNotOffered.has(one.file) && !good) return { ...one, expr: original.expr, outcome: got.kind === 'refused' ? 'refused' : 'failed', detail };
  return { ...one, expr: original.expr, outcome: outcomeOf(good, evaluationExceptions.has(one.id)), detail };
}

/** The type that cel-go found, or that it refused the expression. */
function typeResult(one: SuiteCase): CaseResult | undefined {
  const { original, type, error } = one;
  if (original.disableCheck === true || extensionsNotOffered.has(one.file) || (type === undefined && error === undefined)) return undefined;
  const parsed = parseExpression(original.expr);
  const checked = 'node' in parsed ? checkExpression(parsed.node, variablesOf(original)) : undefined;
  const problems = 'problems' in parsed ? parsed.problems : (checked?.problems ?? []);
  const got = checked === undefined || problems.length > 0 ? `refused: ${problems.map(({ message }) => message).join('; ')}` : typeText(checked.type);
  const good = type === undefined ? got.startsWith('refused') : got === type;
  return { ...one, expr: original.expr, outcome: outcomeOf(good, typeExceptions.has(one.id)), detail: `wanted ${type ?? 'refusal'}, got ${got}` };
}

/** An exception that passes is a failure of the list. */
function outcomeOf(good: boolean, exception: boolean): Outcome {
  if (good) return exception ? 'failed' : 'passed';
  return exception ? 'exception' : 'failed';
}

export function conformanceResults(): { readonly evaluation: readonly CaseResult[]; readonly types: readonly CaseResult[]; readonly all: number; readonly run: number } {
  const { cases, all } = suiteCases();
  const known = (result: CaseResult | undefined): result is CaseResult => result !== undefined;
  return { evaluation: cases.map(evaluationResult).filter(known), types: cases.map(typeResult).filter(known), all, run: cases.length };
}

/** For `npm run conformance`. */
export function conformanceFigures(): ConformanceFigures {
  const { evaluation, types: typeResults, all, run } = conformanceResults();
  return { suite: 'google/cel-spec v0.25.1', cases: all, leftOut: all - run, evaluation: byFile(evaluation), types: byFile(typeResults) };
}

function byFile(results: readonly CaseResult[]): readonly FileFigures[] {
  const files = [...new Set(results.map(({ file }) => file))].sort();
  return files.map((file) => {
    const own = results.filter((result) => result.file === file);
    const count = (outcome: Outcome): number => own.filter((result) => result.outcome === outcome).length;
    return { file, run: own.length, passed: count('passed'), refused: count('refused'), exceptions: count('exception'), failed: count('failed') };
  });
}
