import type { StatusRange } from '../model.ts';
import type { Reporter } from '../problem.ts';
import type { StringField } from './fields.ts';
import { shown } from './fields.ts';

/** One of `status_codes` (contract 2.7): exact `"200"`, range `"200-299"`, family `"2xx"`, within 100 to 599. */
export function checkStatusCode(field: StringField, reporter: Reporter): StatusRange | undefined {
  const text = field.value;
  const bad = (why: string, hint?: string): undefined => {
    reporter.problem('invalid_status_code', field, `status code ${shown(text)}: ${why}`, { hint: hint ?? '"200", "200-299" or "2xx"' });
    return undefined;
  };
  const family = /^([0-9])xx$/.exec(text)?.[1];
  if (family !== undefined) return family >= '1' && family <= '5' ? { from: Number(family) * 100, to: Number(family) * 100 + 99 } : bad('families go from 1xx to 5xx');
  const [, low, high] = /^([0-9]{3})(?:-([0-9]{3}))?$/.exec(text) ?? [];
  if (low === undefined) return bad('not an exact code, a range or a family', /^[0-9]xx$/i.test(text) ? text.toLowerCase() : undefined);
  const range = { from: Number(low), to: Number(high ?? low) };
  if (range.from < 100 || range.to < 100 || range.from > 599 || range.to > 599) return bad('codes go from 100 to 599');
  return range.from <= range.to ? range : bad('the range is empty', `"${range.to}-${range.from}"`);
}
