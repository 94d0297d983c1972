import { filterableColumns } from '../events/columns.ts';
import { validationError } from '../kernel/errors.ts';
import type { Predicate } from './predicate.ts';
import { allOf } from './predicate.ts';
import { shown } from './problems.ts';

/** `values` undefined means the column is populated (`col!=`). */
export type Filter = { readonly column: string; readonly negated: boolean; readonly values: readonly string[] | undefined };

export const filtersMax = 50;
export const filterValuesMax = 1000;
export const filterCharsMax = 65_536;

class FilterProblem extends Error {}

/** Splits on `,`; `\,` is a comma and `\\` a backslash within a value. */
function splitValues(text: string): string[] {
  const values: string[] = [];
  let value = '';
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === ',') {
      values.push(value);
      value = '';
    } else if (char === '\\') {
      at += 1;
      const next = text[at];
      if (next !== ',' && next !== '\\') throw new FilterProblem('a backslash must be followed by a comma or a backslash');
      value += next;
    } else {
      value += char;
    }
  }
  return [...values, value];
}

function parseOne(text: string): Filter {
  if (text.length > filterCharsMax) throw new FilterProblem(`longer than ${filterCharsMax} characters`);
  // The engine's text protocol ends a parameter at NUL, and half a surrogate pair has no UTF-8 form: neither can be stored or matched.
  if (text.includes('\0') || !text.isWellFormed()) throw new FilterProblem('holds a character that no value can have');
  const equals = text.indexOf('=');
  if (equals === -1) throw new FilterProblem(`${shown(text)} has no "=" or "!="`);
  const negated = equals > 0 && text[equals - 1] === '!';
  const column = text.slice(0, negated ? equals - 1 : equals);
  if (!filterableColumns.includes(column)) throw new FilterProblem(`unknown column ${shown(column)}; filterable are ${filterableColumns.join(', ')}`);
  const rest = text.slice(equals + 1);
  if (rest === '') {
    if (negated) return { column, negated, values: undefined };
    throw new FilterProblem(`"${column}=" needs a value; "${column}!=" asks for rows that have the column`);
  }
  const values = splitValues(rest);
  if (values.includes('')) throw new FilterProblem(`an empty value in the list of ${column}`);
  if (values.length > filterValuesMax) throw new FilterProblem(`more than ${filterValuesMax} values for ${column}`);
  return { column, negated, values: [...new Set(values)] };
}

/**
 * Parses repeated `filter` parameters (contract 4.1, design 7): `col=v1,v2`, `col!=v1,v2`, `col!=`.
 * @throws AppError validation_error, `details.fields.filter` names the number of each bad filter and its problem
 */
export function parseFilters(texts: readonly string[]): Filter[] {
  if (texts.length > filtersMax) throw validationError({ filter: `more than ${filtersMax} filters` });
  const problems: string[] = [];
  const filters: Filter[] = [];
  for (const [index, text] of texts.entries()) {
    try {
      filters.push(parseOne(text));
    } catch (error) {
      if (!(error instanceof FilterProblem)) throw error;
      problems.push(texts.length === 1 ? error.message : `filter ${index + 1}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw validationError({ filter: problems.slice(0, 5).join('; ') });
  return filters;
}

export function filterPredicate(filters: readonly Filter[]): Predicate {
  return allOf(filters.map(({ column, negated, values }): Predicate => {
    if (values === undefined) return { populated: column };
    return negated ? { not: { in: column, values } } : { in: column, values };
  }));
}

/** One text for filters that mean the same, whatever their order: the cursor is bound to it. */
export function filterKey(filters: readonly Filter[]): string {
  return JSON.stringify(filters.map(({ column, negated, values }) => JSON.stringify([column, negated, values === undefined ? null : values.toSorted()])).toSorted());
}
