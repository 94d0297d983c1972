import type { CelPhase, CelProgram } from '../cel/contract.ts';
import type { AllowRule, ValueFor } from '../model.ts';
import type { Reporter } from '../problem.ts';
import type { CheckBudget } from './check-budget.ts';
import { compileExpression } from './expression.ts';
import type { StringField } from './fields.ts';

export type ValueContext = {
  /** Rules without problems that the transform applies to. None means that something else is wrong, and reported. */
  readonly targets: readonly AllowRule[];
  /** Undefined when the document says neither yes nor no, which is reported where it stands. */
  readonly requiresBody: boolean | undefined;
  readonly budget: CheckBudget;
};

type ValueOptions<R> = { readonly phase: Extract<CelPhase, 'header' | 'query' | 'path' | 'body'>; readonly result: R };

/**
 * Compiles a transform's value (contract 2.7, table of phases). Where it reads `request.body` it is compiled for each rule the transform
 * applies to, with the types of that rule's schema; header, query and path values need such a schema, body values do not. Undefined when
 * anything is wrong with it.
 */
export function compileValue<R extends 'string' | 'string_map'>(field: StringField, options: ValueOptions<R>, context: ValueContext, reporter: Reporter): ValueFor<R> | undefined {
  const { phase } = options;
  const { targets, requiresBody, budget } = context;
  const hints = { ...quotesHint(field.value), ...(phase === 'path' ? { secrets: 'paths are written to access logs: send secrets in a header' } : {}) };
  const untyped = compileExpression(field, { ...options, requestBody: requiresBody === false ? 'absent' : 'dyn' }, reporter, { ...hints, 'request.body': 'set requires_body: true on the transform' });
  if (untyped === undefined) return undefined;
  if (!untyped.usesRequestBody) return () => untyped;
  if (requiresBody === undefined) return undefined;

  const bySchema = new Map<AllowRule['schema'], CelProgram<R> | undefined>();
  const compileFor = (rule: AllowRule): CelProgram<R> | undefined => {
    if (rule.schema === undefined) {
      const hint = `rule ${rule.id} has no request_schema: narrow applies_to, or add a schema`;
      return phase === 'body' ? untyped : compileExpression(field, { ...options, requestBody: 'absent' }, reporter, { ...hints, 'request.body': hint });
    }
    return compileExpression(field, { ...options, requestBody: { schema: rule.schema.source } }, reporter, hints);
  };
  const programs = new Map<number, CelProgram<R>>();
  for (const rule of targets) {
    if (!bySchema.has(rule.schema)) {
      if (!budget.compilation(field.value.length)) {
        reporter.problem('cel_too_complex', field, 'the transforms of the document read request.body under too many schemas', { hint: 'narrow applies_to, or give rules the same schema' });
        return undefined;
      }
      bySchema.set(rule.schema, compileFor(rule));
    }
    const program = bySchema.get(rule.schema);
    if (program !== undefined) programs.set(rule.index, program);
  }
  if (programs.size !== targets.length || targets.length === 0) return undefined;
  return (rule) => {
    const program = programs.get(rule.index);
    if (program === undefined) throw new Error(`the transform does not apply to rule ${rule.id}`);
    return program;
  };
}

/** `value: identity` is a variable in CEL; the text takes quotes of its own. */
function quotesHint(source: string): Readonly<Record<string, string>> {
  const name = source.trim();
  return /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) ? { [name]: `a text needs quotes of its own: '"${name}"'` } : {};
}
