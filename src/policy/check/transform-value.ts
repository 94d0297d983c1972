import type { CelPhase, CelProgram } from '../cel/contract.ts';
import type { AllowRule, ValueFor } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { compileExpression } from './expression.ts';
import type { StringField } from './fields.ts';

export type ValueContext = { readonly targets: readonly AllowRule[]; readonly requiresBody: boolean };

/**
 * Compiles a transform's value for each rule it applies to: `request.body` has the type of that rule's schema. Header, query and path
 * values see it only with `requires_body: true` and a schema (contract 2.7, table of phases).
 */
export function compileValue<R extends 'string' | 'string_map'>(
  field: StringField,
  options: { readonly phase: Extract<CelPhase, 'header' | 'query' | 'path' | 'body'>; readonly result: R },
  { targets, requiresBody }: ValueContext,
  reporter: Reporter,
): ValueFor<R> | undefined {
  const programs = new Map<AllowRule, CelProgram<R>>();
  const bySchema = new Map<unknown, CelProgram<R> | undefined>();
  const compile = (rule: AllowRule | undefined): CelProgram<R> | undefined => {
    const requestBody = bodyOf(rule, options.phase, requiresBody);
    const key = typeof requestBody === 'string' ? requestBody : rule?.schema;
    if (bySchema.has(key)) return bySchema.get(key);
    const hint = !requiresBody ? 'set requires_body: true on the transform' : `rule ${rule?.id ?? ''} has no request_schema, which request.body needs here`;
    const program = compileExpression(field, { ...options, requestBody }, reporter, {
      'request.body': hint,
      ...(options.phase === 'path' ? { secrets: 'paths are written to access logs: send secrets in a header' } : {}),
    });
    bySchema.set(key, program);
    return program;
  };
  // Without a rule to apply to, the expression is checked all the same.
  if (targets.length === 0) return compile(undefined) === undefined ? undefined : () => { throw new Error('the transform applies to no rule'); };
  for (const rule of targets) {
    const program = compile(rule);
    if (program !== undefined) programs.set(rule, program);
  }
  if (programs.size !== targets.length) return undefined;
  return (rule) => {
    const program = programs.get(rule);
    if (program === undefined) throw new Error(`the transform does not apply to rule ${rule.id}`);
    return program;
  };
}

function bodyOf(rule: AllowRule | undefined, phase: CelPhase, requiresBody: boolean): 'absent' | 'dyn' | { readonly schema: unknown } {
  if (rule?.schema !== undefined && requiresBody) return { schema: rule.schema.source };
  return phase === 'body' ? 'dyn' : 'absent';
}
