import { parse } from '@bufbuild/cel';
import type { CelProblem } from '../cel/contract.ts';

/** The syntax tree as the parser gives it; macros are expanded in it. */
export type ParsedExpr = ReturnType<typeof parse>;
export type Expr = ParsedExpr['expr'];
export type Kind = Expr['exprKind'];

export const expressionLimits = {
  charactersMax: 4_096,
  /** The parser's time doubles with every few open brackets. */
  nestingMax: 64,
  depthMax: 250,
} as const;

/** Parses within bounds: the parser itself has none. */
export function parseExpression(source: string): { readonly parsed: ParsedExpr } | { readonly problem: CelProblem } {
  const complex = (message: string, offset = 0): { readonly problem: CelProblem } => ({ problem: { slug: 'cel_too_complex', message, offset } });
  if (source.length > expressionLimits.charactersMax) return complex(`the expression has ${source.length} characters, more than ${expressionLimits.charactersMax}`);
  const deep = nestedTooDeep(source);
  if (deep !== undefined) return complex(`brackets are nested deeper than ${expressionLimits.nestingMax} levels`, deep);
  try {
    const parsed = parse(source);
    return depthOf(parsed.expr) > expressionLimits.depthMax ? complex('the expression is nested too deep') : { parsed };
  } catch (error) {
    if (error instanceof RangeError) return complex('the expression is nested too deep');
    return { problem: { slug: 'cel_syntax', ...describe(error, source) } };
  }
}

/** Offset of the bracket that is one too many. Brackets inside of strings count too: nobody writes 64 of them. */
function nestedTooDeep(source: string): number | undefined {
  let depth = 0;
  for (let offset = 0; offset < source.length; offset += 1) {
    const character = source[offset] ?? '';
    if ('([{?'.includes(character) || (character === '!' || character === '-') && '!-'.includes(source[offset + 1] ?? ' ')) depth += 1;
    else if (')]}'.includes(character)) depth = Math.max(0, depth - 1);
    if (depth > expressionLimits.nestingMax) return offset;
  }
  return undefined;
}

function describe(error: unknown, source: string): { readonly message: string; readonly offset: number; readonly hint?: string } {
  const { location, found } = (error ?? {}) as { readonly location?: { readonly start?: { readonly offset?: number } }; readonly found?: unknown };
  const offset = Math.min(location?.start?.offset ?? 0, source.length);
  if (source.trim() === '') return { message: 'the expression is empty', offset: 0 };
  const what = typeof found === 'string' ? JSON.stringify(found) : offset >= source.length ? 'end of the expression' : JSON.stringify(source[offset]);
  return { message: `syntax error at ${what}`, offset };
}

/** Calls `visit` for each node below, without recursion: a chain of 2,000 terms is as deep as it is long. */
export function children(expr: Expr): readonly Expr[] {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case 'selectExpr': return defined([exprKind.value.operand]);
    case 'callExpr': return defined([exprKind.value.target, ...exprKind.value.args]);
    case 'listExpr': return exprKind.value.elements;
    case 'structExpr': return exprKind.value.entries.flatMap((entry) => defined([entry.keyKind.case === 'mapKey' ? entry.keyKind.value : undefined, entry.value]));
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result } = exprKind.value;
      return defined([iterRange, accuInit, loopCondition, loopStep, result]);
    }
    default: return [];
  }
}

function defined(expressions: readonly (Expr | undefined)[]): readonly Expr[] {
  return expressions.filter((expr) => expr !== undefined);
}

function depthOf(root: Expr): number {
  let deepest = 0;
  const open: { readonly expr: Expr; readonly depth: number }[] = [{ expr: root, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    deepest = Math.max(deepest, next.depth);
    for (const child of children(next.expr)) open.push({ expr: child, depth: next.depth + 1 });
  }
  return deepest;
}

export function offsetOf(parsed: ParsedExpr, expr: Expr): number {
  return parsed.sourceInfo?.positions[expr.id.toString()] ?? 0;
}

/** The text of a string constant. */
export function stringConstant(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== 'constExpr' || expr.exprKind.value.constantKind.case !== 'stringValue') return undefined;
  return expr.exprKind.value.constantKind.value;
}
