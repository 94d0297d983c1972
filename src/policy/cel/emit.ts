import type { LibraryExpr } from './convert-expression.ts';
import type { Checked, Slots } from './check-state.ts';
import type { CelLiteral, CelNode, FoldNode } from './node.ts';
import { accumulatorName } from './node.ts';

type ExprKind = LibraryExpr['exprKind'];

/**
 * Our tree back to the library's, for its planner. What differs from what was written: variables become calls of our own niladic functions
 * (the planner's own resolution tries every dotted name and lets loop variables and globals mix), loop variables get names nobody can
 * write, every loop turn pays a step, and presence, indexing, map literals and `map`'s appending go to functions of ours.
 */
export function emitExpression(node: CelNode, checked: Checked): LibraryExpr {
  let id = 0n;
  const expr = (exprKind: ExprKind): LibraryExpr => ({ $typeName: 'cel.expr.Expr', id: (id += 1n), exprKind });
  const call = (name: string, args: LibraryExpr[], target?: LibraryExpr): LibraryExpr =>
    expr({ case: 'callExpr', value: { $typeName: 'cel.expr.Expr.Call', function: name, args, ...(target === undefined ? {} : { target }) } });
  const identifier = (name: string): LibraryExpr => expr({ case: 'identExpr', value: { $typeName: 'cel.expr.Expr.Ident', name } });
  const text = (value: string): LibraryExpr => constant({ type: 'string', value });
  const list = (elements: LibraryExpr[]): LibraryExpr => expr({ case: 'listExpr', value: { $typeName: 'cel.expr.Expr.CreateList', elements, optionalIndices: [] } });

  function constant(literal: CelLiteral): LibraryExpr {
    return expr({ case: 'constExpr', value: { $typeName: 'cel.expr.Constant', constantKind: constantKind(literal) } });
  }

  function emit(inner: CelNode, folds: readonly Slots[]): LibraryExpr {
    const down = (one: CelNode): LibraryExpr => emit(one, folds);
    const reference = checked.references.get(inner);
    if (reference !== undefined && inner.kind !== 'has') {
      if (reference.kind === 'variable') return call(`@get.${reference.name}`, []);
      return identifier(reference.kind === 'local' ? reference.slot : reference.name);
    }
    switch (inner.kind) {
      case 'literal':
        return constant(inner.literal);
      case 'identifier':
        return identifier(inner.name);
      case 'select':
        return expr({ case: 'selectExpr', value: { $typeName: 'cel.expr.Expr.Select', operand: down(inner.operand), field: inner.field, testOnly: false } });
      case 'has':
        return reference === undefined ? call('@has', [down(inner.operand), text(inner.field)]) : call('@present', [text(referenceName(reference))]);
      case 'call': {
        const namespaced = checked.namespaced.get(inner);
        if (namespaced !== undefined) return call(namespaced, inner.args.map(down));
        if (inner.name === '_[_]') return call('@index', inner.args.map(down));
        return call(inner.name, inner.args.map(down), inner.target === undefined ? undefined : down(inner.target));
      }
      case 'list':
        return list(inner.elements.map(down));
      case 'map':
        return call('@map', [list(inner.entries.map(({ key }) => down(key))), list(inner.entries.map(({ value }) => down(value)))]);
      case 'append':
        return call('@append', [down(inner.list), down(inner.item)]);
      case 'fold':
        return emitFold(inner, folds);
      case 'message':
        throw new Error('a message literal was not refused');
    }
  }

  function emitFold(fold: FoldNode, folds: readonly Slots[]): LibraryExpr {
    const slots = checked.slots.get(fold);
    if (slots === undefined) throw new Error('a fold was not checked');
    const inside = [...folds, slots];
    const collecting = fold.initial.kind === 'list' && fold.initial.elements.length === 0;
    const always = fold.condition.kind === 'literal';
    const tick = call('@tick', []);
    return expr({
      case: 'comprehensionExpr',
      value: {
        $typeName: 'cel.expr.Expr.Comprehension',
        iterVar: slots.variable,
        iterVar2: '',
        iterRange: call('@range', [emit(fold.range, folds)]),
        accuVar: slots.accumulator,
        accuInit: collecting ? call('@collect', []) : emit(fold.initial, folds),
        loopCondition: always ? tick : call('_&&_', [tick, emit(fold.condition, inside)]),
        loopStep: emit(fold.step, inside),
        result: emit(fold.result, inside),
      },
    });
  }

  return emit(node, []);
}

function referenceName(reference: { readonly kind: string; readonly name?: string }): string {
  return reference.name ?? accumulatorName;
}

type ConstantKind = Extract<ExprKind, { readonly case: 'constExpr' }>['value']['constantKind'];

function constantKind(literal: CelLiteral): ConstantKind {
  switch (literal.type) {
    case 'null':
      return { case: 'nullValue', value: 0 };
    case 'bool':
      return { case: 'boolValue', value: literal.value };
    case 'int':
      return { case: 'int64Value', value: literal.value };
    case 'uint':
      return { case: 'uint64Value', value: literal.value };
    case 'double':
      return { case: 'doubleValue', value: literal.value };
    case 'string':
      return { case: 'stringValue', value: literal.value };
    case 'bytes':
      return { case: 'bytesValue', value: literal.value };
  }
}
