import type { CelEnv, CelFunc, CelValue } from '@bufbuild/cel';
import { celEnv, isCelError, plan } from '@bufbuild/cel';
import type { CelBindings, CelFailure } from './contract.ts';
import type { LibraryExpr } from './convert-expression.ts';
import { equalityFunctions } from './equality.ts';
import { BudgetExhausted, runInFrame, TypeMismatch } from './frame.ts';
import { conversionFunctions } from './functions-convert.ts';
import { coreFunctions } from './functions-core.ts';
import { stringFunctions } from './functions-strings.ts';
import { textFunctions } from './functions-text.ts';
import { timeFunctions } from './functions-time.ts';
import type { CelType } from './types.ts';

/** Everything that expressions call beyond the library's own. Later ones replace earlier ones with the same name and argument types. */
export const evaluatorFunctions: readonly CelFunc[] = [
  ...coreFunctions,
  ...equalityFunctions,
  ...textFunctions,
  ...stringFunctions,
  ...conversionFunctions,
  ...timeFunctions,
];

/** Shared: it holds functions only, variables are functions of ours. */
const contractEnvironment = celEnv({ funcs: [...evaluatorFunctions] });

export type Evaluation<T> = { readonly ok: true; readonly value: T } | CelFailure;

/**
 * Plans the emitted tree; the result evaluates it and hands the value to `take`, inside the budget. Failures are codes: the library's texts
 * hold values, also secret ones.
 */
export function createEvaluator(
  expr: LibraryExpr,
  requestBodyType: CelType,
  environment: CelEnv = contractEnvironment,
): <T>(bindings: CelBindings, take: (value: CelValue) => T) => Evaluation<T> {
  const run = plan(environment, expr);
  return (bindings, take) => {
    try {
      const { value, exhausted } = runInFrame(bindings, requestBodyType, () => {
        const result = run();
        return isCelError(result) ? failure(result) : { ok: true as const, value: take(result) };
      });
      // Exhaustion ends the loops, and `|| true` may have made something of what is left: that is no result.
      return exhausted ? { ok: false, code: 'budget' } : value;
    } catch (error) {
      return failure(error);
    }
  };
}

function failure(error: unknown): CelFailure {
  if (error instanceof BudgetExhausted) return { ok: false, code: 'budget' };
  const text = error instanceof Error ? error.message : '';
  const mismatch = error instanceof TypeMismatch || /^(?:type mismatch|found no matching overload)/.test(text);
  return { ok: false, code: mismatch ? 'type_mismatch' : 'eval_error' };
}
