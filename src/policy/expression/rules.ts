import { compileRe2 } from '../re2.ts';
import type { CelProblem } from '../cel/contract.ts';
import type { Expr, ParsedExpr } from './syntax.ts';
import { children, offsetOf, stringConstant } from './syntax.ts';

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const uint64Max = 2n ** 64n - 1n;

export type Uses = { readonly problems: readonly CelProblem[]; readonly secretKeys: readonly string[] };

/**
 * Rules beyond types (contract 2.7): `secrets` is used as `secrets["literal"]` and in no other way, so that which secrets an expression
 * can read is known when it is saved; literal patterns are RE2; integers fit 64 bits.
 */
export function checkRules(parsed: ParsedExpr, references: ReadonlyMap<bigint, string>): Uses {
  const problems: CelProblem[] = [];
  const secretKeys = new Set<string>();
  const report = (slug: CelProblem['slug'], expr: Expr, message: string, hint: string): void => {
    problems.push({ slug, message, hint, offset: offsetOf(parsed, expr) });
  };
  const open: Expr[] = [parsed.expr];
  const allowed = new Set<bigint>();
  for (let expr = open.pop(); expr !== undefined; expr = open.pop()) {
    const { exprKind } = expr;
    if (exprKind.case === 'callExpr') {
      const { function: name, args } = exprKind.value;
      const key = stringConstant(args[1]);
      if (name === '_[_]' && args[0] !== undefined && references.get(args[0].id) === 'secrets' && key !== undefined) {
        allowed.add(args[0].id);
        secretKeys.add(key);
      }
      const pattern = name === 'matches' ? args.at(-1) : undefined;
      const compiled = pattern === undefined ? undefined : stringConstant(pattern);
      if (compiled !== undefined && pattern !== undefined) {
        const re2 = compileRe2(compiled);
        if ('error' in re2) report('cel_invalid_regex', pattern, `not an RE2 pattern: ${re2.error}`, 'RE2 has no look-around and no back-references');
      }
    } else if (references.get(expr.id) === 'secrets' && !allowed.has(expr.id)) {
      report('secret_key_not_literal', expr, 'secrets keys must be string literals', 'write secrets["name"]');
    } else if (exprKind.case === 'constExpr') {
      const { constantKind } = exprKind.value;
      const outside = (constantKind.case === 'int64Value' && (constantKind.value > int64Max || constantKind.value < int64Min)) || (constantKind.case === 'uint64Value' && constantKind.value > uint64Max);
      if (outside) report('cel_integer_range', expr, 'the integer is beyond 64 bits', 'integers go from -2^63 to 2^63-1');
    }
    open.push(...children(expr));
  }
  return { problems, secretKeys: [...secretKeys] };
}
