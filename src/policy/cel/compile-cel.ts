import { checkExpression } from './check-expression.ts';
import type { CelBindings, CelCompiled, CelOptions, CelResult, CelValueOf } from './contract.ts';
import { emitExpression } from './emit.ts';
import { createEvaluator } from './evaluator.ts';
import { parseExpression } from './parse-expression.ts';
import { phaseVariables } from './phase-variables.ts';
import { resultProblem, resultValue } from './result-value.ts';
import { types } from './types.ts';

/**
 * Compiles one expression for its place in a document (contract 2.7): parsed, checked against the variables of its phase and the type its
 * place takes, planned. All problems come at once. Never throws, whatever the text; the program's `evaluate` never throws either.
 */
export function compileCel<R extends CelResult>(source: string, options: CelOptions & { readonly result: R }): CelCompiled<R> {
  const parsed = parseExpression(source);
  if ('problems' in parsed) return parsed;
  const { node } = parsed;
  const variables = phaseVariables(options);
  const checked = checkExpression(node, variables);
  if (checked.problems.length > 0) return { problems: checked.problems };
  const unfit = resultProblem(checked.type, options.result);
  if (unfit !== undefined) return { problems: [{ slug: 'cel_result_type', ...unfit, offset: source.search(/\S/) }] };
  const evaluator = createEvaluator(emitExpression(node, checked), variables.get('request.body') ?? types.dyn);
  const names = new Set([...checked.references.values()].map((reference) => (reference.kind === 'variable' ? reference.name : '')));
  const { phase, result } = options;
  const take = (value: Parameters<typeof resultValue>[0]): CelValueOf<R> => resultValue(value, result) as CelValueOf<R>;
  return {
    program: Object.freeze({
      source,
      phase,
      result,
      usesRequestBody: names.has('request.body'),
      usesResponseBody: names.has('response.body'),
      secretKeys: Object.freeze([...checked.secretKeys]),
      literal: node.kind === 'literal' && node.literal.type === 'string' ? node.literal.value : undefined,
      // Only these values stay in the closure: keeping the trees would cost several times the memory of a program.
      evaluate: (bindings: CelBindings) => evaluator(bindings, take),
    }),
  };
}
