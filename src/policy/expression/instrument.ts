import { ExprSchema } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { create } from '@bufbuild/protobuf';
import type { Expr } from './syntax.ts';
import { children } from './syntax.ts';

/**
 * Makes a parsed expression safe to run, in place: every loop condition first asks the budget, `@result + [x]` appends without a copy, and
 * `has()` of a declared variable, which the evaluator does not know, is the true that it is.
 */
export function instrument(root: Expr, references: ReadonlyMap<bigint, string>): void {
  const open: Expr[] = [root];
  for (let expr = open.pop(); expr !== undefined; expr = open.pop()) {
    const { exprKind } = expr;
    if (exprKind.case === 'comprehensionExpr') {
      const fold = exprKind.value;
      const { loopCondition, loopStep, accuVar } = fold;
      if (loopStep !== undefined) fold.loopStep = appending(loopStep, accuVar);
      if (loopCondition !== undefined) fold.loopCondition = call('_?_:_', [call('@tick', []), loopCondition, literal(false)]);
    } else if (exprKind.case === 'selectExpr' && exprKind.value.testOnly && references.has(expr.id)) {
      expr.exprKind = literal(true).exprKind;
    }
    open.push(...children(expr));
  }
}

/** `accu + [x]` to `@append(accu, x)`, also inside of the choice that `filter` makes. */
function appending(step: Expr, accuVar: string): Expr {
  if (step.exprKind.case !== 'callExpr') return step;
  const { function: name, args } = step.exprKind.value;
  const [first, second, third] = args;
  if (name === '_?_:_' && first !== undefined && second !== undefined && third !== undefined) return call('_?_:_', [first, appending(second, accuVar), third], step.id);
  if (name !== '_+_' || first?.exprKind.case !== 'identExpr' || first.exprKind.value.name !== accuVar || second?.exprKind.case !== 'listExpr') return step;
  const [item, ...more] = second.exprKind.value.elements;
  return item === undefined || more.length > 0 ? step : call('@append', [first, item], step.id);
}

function call(name: string, args: readonly Expr[], id = 0n): Expr {
  return create(ExprSchema, { id, exprKind: { case: 'callExpr', value: { function: name, args: [...args] } } });
}

function literal(value: boolean): Expr {
  return create(ExprSchema, { exprKind: { case: 'constExpr', value: { constantKind: { case: 'boolValue', value } } } });
}
