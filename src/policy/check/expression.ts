import { compileCel } from '../cel/compile-cel.ts';
import type { CelOptions, CelProgram, CelResult } from '../cel/contract.ts';
import type { Reporter } from '../problem.ts';
import type { StringField } from './fields.ts';
import { shown } from './fields.ts';
import { identifierHint, isIdentifier } from './identifier.ts';

/** Compiles the CEL expression of a field; problems are reported at their place inside of it. `hints` adds advice to an undeclared name. */
export function compileExpression<R extends CelResult>(
  field: StringField,
  options: CelOptions & { readonly result: R },
  reporter: Reporter,
  hints: Readonly<Record<string, string>> = {},
): CelProgram<R> | undefined {
  const compiled = compileCel(field.value, options);
  if ('problems' in compiled) {
    for (const { slug, message, hint, offset } of compiled.problems) {
      const name = slug === 'undeclared_reference' ? message.replace('undeclared reference: ', '') : '';
      const advice = (Object.hasOwn(hints, name) ? hints[name] : undefined) ?? hint;
      reporter.problem(slug, field, message, { position: field.locate(offset), expressionColumn: offset + 1, ...(advice === undefined ? {} : { hint: advice }) });
    }
    return undefined;
  }
  const { program } = compiled;
  const wrong = program.secretKeys.filter((key) => !isIdentifier(key));
  for (const key of wrong) {
    const offset = offsetOfKey(field.value, key);
    reporter.problem('secret_key_invalid', field, `secret key ${shown(key)} is not an identifier`, { position: field.locate(offset), expressionColumn: offset + 1, hint: identifierHint });
  }
  return wrong.length === 0 ? program : undefined;
}

/** Where a key stands in quotes; the start of the expression for one that is written with escapes. */
function offsetOfKey(expression: string, key: string): number {
  const places = [`"${key}"`, `'${key}'`].map((quoted) => expression.indexOf(quoted)).filter((index) => index !== -1);
  return places.length === 0 ? 0 : Math.min(...places) + 1;
}
