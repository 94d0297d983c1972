import type { Reporter } from '../problem.ts';
import type { StringField } from './fields.ts';
import { shown } from './fields.ts';

const identifier = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
export const identifierHint = 'a letter, then letters, digits, _ or -; 1 to 64 characters';

/** The identifier rule (contract 2.7). */
export function isIdentifier(text: string): boolean {
  return identifier.test(text);
}

/** Reports a name against the rule; true when it is one. */
export function checkIdentifier(field: StringField, what: string, reporter: Reporter): boolean {
  const { value } = field;
  if (isIdentifier(value)) return true;
  if (value.startsWith('_')) reporter.problem('reserved_identifier', field, `${what} ${shown(value)} starts with an underscore, which is reserved for the platform`);
  else reporter.problem('invalid_identifier', field, `${what} ${shown(value)} is not an identifier`, { hint: identifierHint });
  return false;
}
