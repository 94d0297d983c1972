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
  if (family !== undefined) return family >= '1' && family <= '5' ? rangeOf(Number(family) * 100, Number(family) * 100 + 99) : bad('families go from 1xx to 5xx');
  const [, low, high] = /^([0-9]{1,4})(?:-([0-9]{1,4}))?$/.exec(text) ?? [];
  if (low === undefined) return bad('not an exact code, a range or a family', meant(text));
  const from = Number(low);
  const to = Number(high ?? low);
  // Leading zeros are no way to write a code: 0200 is four digits, and would be octal elsewhere.
  if (![low, high ?? low].every((code) => code.length === 3) || Math.min(from, to) < 100 || Math.max(from, to) > 599) return bad('codes have three digits, from 100 to 599');
  return from <= to ? rangeOf(from, to) : bad('the range is empty', `"${to}-${from}"`);
}

function rangeOf(from: number, to: number): StatusRange {
  return Object.freeze({ from, to });
}

/** The family or the range of a text that only differs in case, blanks or its dash. */
function meant(text: string): string | undefined {
  const plain = text.slice(0, 20).toLowerCase().replace(/\s/g, '').replace(/[–—]|\.\.+/g, '-');
  return /^(?:[1-5]xx|[1-5][0-9]{2}(?:-[1-5][0-9]{2})?)$/.test(plain) ? `"${plain}"` : undefined;
}
