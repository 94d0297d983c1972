import { columns, counterColumn } from '../events/columns.ts';
import type { Micros } from '../kernel/clock.ts';
import { formatTimestamp } from '../kernel/clock.ts';
import type { Predicate } from './predicate.ts';

const textColumns: ReadonlySet<string> = new Set(columns.filter((column) => column.kind === 'text').map((column) => column.name));

/**
 * Values of one statement, bound by the store as typed parameters: a value never becomes part of the SQL text. `add` answers the
 * placeholder to write in the value's place.
 */
export class SqlParams {
  readonly values: Record<string, string | number | readonly string[]> = {};
  #count = 0;

  add(type: 'String' | 'Array(String)' | 'Int64' | 'UInt64' | 'UUID' | 'Array(UUID)' | "DateTime64(6, 'UTC')", value: string | number | readonly string[]): string {
    const name = `p${this.#count}`;
    this.#count += 1;
    this.values[name] = value;
    return `{${name}:${type}}`;
  }

  time(micros: Micros): string {
    const text = formatTimestamp(micros);
    return this.add("DateTime64(6, 'UTC')", `${text.slice(0, 10)} ${text.slice(11, 26)}`);
  }
}

/** A text column's name, for use in SQL. Throws for every other name: identifiers come from the column table only. */
export function columnSql(column: string): string {
  if (!textColumns.has(column)) throw new Error(`${column} is not a text column of the audit table`);
  return column;
}

function membership(column: string, values: readonly string[], params: SqlParams): string {
  const [single] = values;
  if (single === undefined) return '0';
  if (column === counterColumn) return values.length === 1 ? `has(counters, ${params.add('String', single)})` : `hasAny(counters, ${params.add('Array(String)', values)})`;
  const name = columnSql(column);
  return values.length === 1 ? `${name} = ${params.add('String', single)}` : `${name} IN ${params.add('Array(String)', values)}`;
}

function joined(parts: readonly Predicate[], operator: ' AND ' | ' OR ', empty: string, params: SqlParams): string {
  return parts.length === 0 ? empty : `(${parts.map((part) => compilePredicate(part, params)).join(operator)})`;
}

/** A condition over the columns of the audit table, with its values added to `params`. */
export function compilePredicate(predicate: Predicate, params: SqlParams): string {
  if (typeof predicate === 'boolean') return predicate ? '1' : '0';
  if ('and' in predicate) return joined(predicate.and, ' AND ', '1', params);
  if ('or' in predicate) return joined(predicate.or, ' OR ', '0', params);
  if ('not' in predicate) return `NOT (${compilePredicate(predicate.not, params)})`;
  if ('in' in predicate) return membership(predicate.in, predicate.values, params);
  if ('populated' in predicate) return predicate.populated === counterColumn ? 'notEmpty(counters)' : `${columnSql(predicate.populated)} != ''`;
  if ('since' in predicate) return `timestamp >= ${params.time(predicate.since)}`;
  return `timestamp < ${params.time(predicate.until)}`;
}
