import { counterColumn } from '../events/columns.ts';
import type { AuditEvent } from '../events/event.ts';
import { formatTimestamp } from '../kernel/clock.ts';
import type { Predicate } from './predicate.ts';

export type Matcher = (event: AuditEvent) => boolean;

function hasCounter(event: AuditEvent, counter: string): boolean {
  return (event.debits !== undefined && Object.hasOwn(event.debits, counter)) || (event.budget_state !== undefined && Object.hasOwn(event.budget_state, counter));
}

function isEmptyObject(value: object | undefined): boolean {
  for (const _key in value) return false;
  return true;
}

function membership(column: string, values: readonly string[]): Matcher {
  if (column === counterColumn) return (event) => values.some((counter) => hasCounter(event, counter));
  const wanted = new Set(values);
  const name = column as keyof AuditEvent;
  return (event) => wanted.has((event[name] ?? '') as string);
}

function populated(column: string): Matcher {
  if (column === counterColumn) return (event) => !isEmptyObject(event.debits) || !isEmptyObject(event.budget_state);
  const name = column as keyof AuditEvent;
  return (event) => (event[name] ?? '') !== '';
}

/**
 * The predicate as a function over rows in the API's form, for the live streams. It answers as the SQL of `sql.ts` does on the stored row
 * (a property test holds the two together). Timestamps of answered rows have a fixed width, so they compare as text.
 */
export function compileMatcher(predicate: Predicate): Matcher {
  if (typeof predicate === 'boolean') return () => predicate;
  if ('and' in predicate) {
    const parts = predicate.and.map(compileMatcher);
    return (event) => parts.every((part) => part(event));
  }
  if ('or' in predicate) {
    const parts = predicate.or.map(compileMatcher);
    return (event) => parts.some((part) => part(event));
  }
  if ('not' in predicate) {
    const part = compileMatcher(predicate.not);
    return (event) => !part(event);
  }
  if ('in' in predicate) return membership(predicate.in, predicate.values);
  if ('populated' in predicate) return populated(predicate.populated);
  if ('since' in predicate) {
    const since = formatTimestamp(predicate.since);
    return (event) => event.timestamp >= since;
  }
  const until = formatTimestamp(predicate.until);
  return (event) => event.timestamp < until;
}
