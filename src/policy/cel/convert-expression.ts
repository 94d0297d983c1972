import type { parse } from '@bufbuild/cel';
import type { CelProblem } from './contract.ts';
import { celLimits } from './limits.ts';
import type { CelLiteral, CelNode } from './node.ts';
import { accumulatorName } from './node.ts';

/** The library's tree; its type is reached through its parser, the package that declares it is not a dependency of ours. */
export type LibraryExpr = ReturnType<typeof parse>['expr'];

type Context = {
  readonly offsetOf: (id: bigint) => number;
  readonly text: string;
  readonly problems: CelProblem[];
};

class TooDeep extends Error {}

/** The library's tree to ours. Checks what the parser does not: depth, number ranges, optional syntax. */
export function convertExpression(
  expr: LibraryExpr,
  offsetOf: (id: bigint) => number,
  text: string,
): { readonly node: CelNode } | { readonly problems: readonly CelProblem[] } {
  const context: Context = { offsetOf, text, problems: [] };
  try {
    const node = convert(expr, context, undefined, 0);
    return context.problems.length === 0 ? { node } : { problems: context.problems };
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    const message = `the expression is nested deeper than ${celLimits.treeDepth} levels`;
    return { problems: [{ slug: 'cel_too_complex', message, hint: 'long chains of one operator count a level each; group them with brackets or a list', offset: 0 }] };
  }
}

/** `macro` is the macro whose expansion we are in, as long as nodes stand at its own offset: those were not written by anyone. */
type Macro = { readonly name: string; readonly offset: number } | undefined;

function convert(expr: LibraryExpr | undefined, context: Context, macro: Macro, depth: number): CelNode {
  if (depth > celLimits.treeDepth) throw new TooDeep();
  const offset = expr === undefined ? 0 : context.offsetOf(expr.id);
  const down = (inner: LibraryExpr | undefined): CelNode => convert(inner, context, macro, depth + 1);
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case 'constExpr':
      return { kind: 'literal', offset, literal: literalOf(kind.value.constantKind, offset, context) };
    case 'identExpr':
      return { kind: 'identifier', offset, name: kind.value.name, rooted: context.text.charAt(offset) === '.' && macro?.offset !== offset };
    case 'selectExpr':
      return { kind: kind.value.testOnly ? 'has' : 'select', offset, operand: down(kind.value.operand), field: kind.value.field };
    case 'callExpr': {
      const { function: name, target, args } = kind.value;
      const expanded = macro !== undefined && macro.offset === offset ? macro.name : undefined;
      const [first, second] = args;
      if (expanded !== undefined && name === '_+_' && isAccumulator(first) && second?.exprKind.case === 'listExpr') {
        return { kind: 'append', offset, list: down(first), item: down(second.exprKind.value.elements[0]) };
      }
      return { kind: 'call', offset, name, target: target === undefined ? undefined : down(target), args: args.map(down), macro: expanded };
    }
    case 'listExpr':
      return { kind: 'list', offset, elements: kind.value.elements.map(down) };
    case 'structExpr':
      if (kind.value.messageName !== '') return { kind: 'message', offset, name: kind.value.messageName };
      return {
        kind: 'map',
        offset,
        entries: kind.value.entries.map((entry) => ({ key: down(entry.keyKind.case === 'mapKey' ? entry.keyKind.value : undefined), value: down(entry.value) })),
      };
    case 'comprehensionExpr': {
      const fold = kind.value;
      const name = /^\.?\s*(\w+)/.exec(context.text.slice(offset))?.[1] ?? 'macro';
      const inner = (part: LibraryExpr | undefined): CelNode => convert(part, context, { name, offset }, depth + 1);
      return {
        kind: 'fold',
        offset,
        macro: name,
        variable: fold.iterVar,
        range: down(fold.iterRange),
        initial: inner(fold.accuInit),
        condition: inner(fold.loopCondition),
        step: inner(fold.loopStep),
        result: inner(fold.result),
      };
    }
    case undefined:
      context.problems.push({ slug: 'cel_syntax', message: 'the expression is not valid CEL', offset });
      return { kind: 'literal', offset, literal: { type: 'null', value: null } };
  }
}

function isAccumulator(expr: LibraryExpr | undefined): boolean {
  return expr?.exprKind.case === 'identExpr' && expr.exprKind.value.name === accumulatorName;
}

type Constant = Extract<LibraryExpr['exprKind'], { readonly case: 'constExpr' }>['value']['constantKind'];

function literalOf(constant: Constant, offset: number, context: Context): CelLiteral {
  switch (constant.case) {
    case 'boolValue':
      return { type: 'bool', value: constant.value };
    case 'int64Value':
      if (BigInt.asIntN(64, constant.value) !== constant.value) outOfRange('int64', offset, context);
      return { type: 'int', value: constant.value };
    case 'uint64Value':
      if (BigInt.asUintN(64, constant.value) !== constant.value) outOfRange('uint64', offset, context);
      return { type: 'uint', value: constant.value };
    case 'doubleValue':
      if (!Number.isFinite(constant.value)) outOfRange('double', offset, context);
      return { type: 'double', value: constant.value };
    case 'stringValue':
      return { type: 'string', value: constant.value };
    case 'bytesValue':
      return { type: 'bytes', value: constant.value };
    // The grammar has no literals of these two.
    case 'durationValue':
    case 'timestampValue':
    case 'nullValue':
    case undefined:
      return { type: 'null', value: null };
  }
}

function outOfRange(type: string, offset: number, context: Context): void {
  const written = /^-?[\w.]+/.exec(context.text.slice(offset))?.[0] ?? 'the number';
  context.problems.push({ slug: 'cel_integer_range', message: `${written.slice(0, 40)} does not fit ${type}`, offset });
}
