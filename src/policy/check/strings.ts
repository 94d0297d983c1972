import type { ListNode } from '../document/node.ts';
import type { Reporter } from '../problem.ts';
import type { StringField } from './fields.ts';
import { described, shown } from './fields.ts';
import { nearest } from '../document/nearest.ts';

/** The strings of a list; others are reported as `wrong_type`. */
export function stringsOf(list: ListNode | undefined, what: string, reporter: Reporter): readonly StringField[] {
  const strings: StringField[] = [];
  for (const item of list?.items ?? []) {
    if (item.kind === 'scalar' && typeof item.value === 'string') strings.push(item as StringField);
    else reporter.problem('wrong_type', item, `${what} must be a string, not ${described(item)}`, item.kind === 'scalar' && item.value !== null ? { hint: 'put it into quotes' } : {});
  }
  return strings;
}

/** One of a closed list, or a problem that says which ones there are. */
export function enumOf<T extends string>(field: StringField, what: string, allowed: readonly T[], reporter: Reporter): T | undefined {
  const found = allowed.find((value) => value === field.value);
  if (found !== undefined) return found;
  const near = nearest(field.value, allowed);
  const known = allowed.filter((value) => value !== '');
  reporter.problem('invalid_enum', field, `${what} must be ${known.length === 1 ? shown(known[0] ?? '') : `one of ${known.join(', ')}`}, not ${shown(field.value)}`, near === undefined || near === '' ? {} : { hint: `did you mean ${near}?` });
  return undefined;
}
