import type { CounterSource } from '../model.ts';
import type { ProblemSlug } from '../problem-slugs.ts';
import type { Reporter } from '../problem.ts';
import type { Fields } from './fields.ts';

export const counterSources: readonly CounterSource[] = ['request.count', 'request.bytes', 'response.bytes', 'response'];

/** The rows of the contract's per-source table. */
export type SourceRow = 'request' | 'response.bytes' | 'response headers' | 'response body';

type Rules = { readonly required: readonly string[]; readonly rejected: readonly string[]; readonly noEffect: readonly string[] };

const terminators = ['terminal_event_type', 'terminal_sentinel', 'terminal_cel'] as const;

const rules: Readonly<Record<SourceRow, Rules>> = {
  request: {
    required: [],
    rejected: ['value', 'requires_body', 'sse_event', 'reserve_per_request', 'failure_charge', 'framing', 'format', 'encoding', ...terminators],
    noEffect: ['status_codes', 'accumulator'],
  },
  'response.bytes': { required: ['status_codes'], rejected: ['value', 'requires_body', 'sse_event', 'framing', 'format', 'encoding', ...terminators], noEffect: ['accumulator'] },
  'response headers': { required: ['value', 'status_codes', 'accumulator'], rejected: ['framing', 'format', 'encoding', 'sse_event', ...terminators], noEffect: [] },
  'response body': { required: ['value', 'status_codes', 'accumulator', 'framing', 'format', 'encoding'], rejected: [], noEffect: [] },
};

export function sourceRow(source: CounterSource, requiresBody: boolean): SourceRow {
  if (source === 'response') return requiresBody ? 'response body' : 'response headers';
  return source === 'response.bytes' ? source : 'request';
}

/** A field at its empty value (`""`, `false`, `0`) says nothing, as if it were left out. */
export function isSet(fields: Fields, key: string): boolean {
  const node = fields.node.get(key);
  if (node === undefined) return false;
  if (node.kind === 'scalar') return !(node.value === '' || node.value === false || node.integer === 0n);
  return true;
}

const slugs: Readonly<Record<string, ProblemSlug>> = { value: 'value_not_allowed', requires_body: 'requires_body_not_allowed', sse_event: 'sse_event_not_allowed' };
const needs: Readonly<Record<string, ProblemSlug>> = { value: 'value_required' };

/** Required and rejected fields of a source. `sse_event` and terminators of the body phase are judged with the framing. */
export function checkSourceFields(fields: Fields, row: SourceRow, reporter: Reporter): void {
  const name = row === 'request' ? 'a request counter' : row === 'response.bytes' ? 'a response.bytes counter' : row === 'response headers' ? 'a response counter without requires_body' : 'a response counter with requires_body';
  for (const key of rules[row].rejected) {
    if (isSet(fields, key)) reporter.problem(slugs[key] ?? 'field_not_allowed_for_source', fields.placeOf(key), `${name} takes no ${key}`);
  }
  for (const key of rules[row].required) {
    const node = fields.node.get(key);
    const empty = node?.kind === 'scalar' ? node.value === '' : node?.kind === 'list' && node.items.length === 0;
    if (node === undefined || empty) reporter.problem(needs[key] ?? 'field_required_for_source', node === undefined ? fields.node : node, `${name} needs ${key}`);
  }
  for (const key of rules[row].noEffect) {
    if (isSet(fields, key)) reporter.warning('field_has_no_effect', fields.placeOf(key), `${key} changes nothing on ${name}`);
  }
}

/** Terminators and `sse_event`: SSE bodies need exactly one terminator, nothing may have two (contract 2.7). */
export function checkStreamFields(fields: Fields, row: SourceRow, framing: string, reporter: Reporter): void {
  const set = terminators.filter((key) => isSet(fields, key));
  const second = set[1];
  if (second !== undefined) reporter.problem('too_many_terminators', fields.placeOf(second), `a counter has one terminator, not ${set.join(' and ')}`);
  if (row !== 'response body') return;
  if (framing === 'sse' && set.length === 0) reporter.problem('terminator_required', fields.node, 'an SSE counter needs one of terminal_event_type, terminal_sentinel, terminal_cel');
  if (framing === 'single_document') {
    if (isSet(fields, 'sse_event')) reporter.problem('sse_event_not_allowed', fields.placeOf('sse_event'), 'sse_event needs framing: sse and requires_body: true');
    for (const key of set) reporter.warning('field_has_no_effect', fields.placeOf(key), `${key} changes nothing on a single document`);
  }
}
