import type { MapEntry } from '../document/node.ts';
import type { CounterSource } from '../model.ts';
import type { ProblemSlug } from '../problem-slugs.ts';
import type { Reporter } from '../problem.ts';
import type { Fields } from './fields.ts';

export const counterSources: readonly CounterSource[] = ['request.count', 'request.bytes', 'response.bytes', 'response'];

/** The rows of the contract's per-source table. `response` alone: whether it reads bodies is not known, as requires_body is of a wrong type. */
export type SourceRow = 'request' | 'response.bytes' | 'response headers' | 'response body' | 'response';

type Rules = {
  /** For messages: "<what> takes no …". */
  readonly what: string;
  readonly required: readonly string[];
  readonly rejected: readonly string[];
  readonly noEffect: readonly string[];
};

const terminators = ['terminal_event_type', 'terminal_sentinel', 'terminal_cel'] as const;
const extraction = ['framing', 'format', 'encoding'] as const;

const rules: Readonly<Record<SourceRow, Rules>> = {
  request: {
    what: 'a request counter',
    required: [],
    rejected: ['value', 'requires_body', 'sse_event', 'reserve_per_request', 'failure_charge', ...extraction, ...terminators],
    noEffect: ['status_codes', 'accumulator'],
  },
  'response.bytes': {
    what: 'a response.bytes counter',
    required: ['status_codes'],
    rejected: ['value', 'requires_body', 'sse_event', ...extraction, ...terminators],
    noEffect: ['accumulator'],
  },
  'response headers': {
    what: 'a response counter without requires_body: true',
    required: ['value', 'status_codes', 'accumulator'],
    rejected: [...extraction, 'sse_event', ...terminators],
    noEffect: [],
  },
  'response body': { what: 'a response counter with requires_body: true', required: ['value', 'status_codes', 'accumulator', ...extraction], rejected: [], noEffect: [] },
  response: { what: 'a response counter', required: ['value', 'status_codes', 'accumulator'], rejected: [], noEffect: [] },
};

const slugsOfRejected: Readonly<Record<string, ProblemSlug>> = { value: 'value_not_allowed', requires_body: 'requires_body_not_allowed', sse_event: 'sse_event_not_allowed' };
const slugsOfRequired: Readonly<Record<string, ProblemSlug>> = { value: 'value_required' };

export function sourceRow(source: CounterSource, requiresBody: boolean | undefined): SourceRow {
  if (source === 'response') return requiresBody === undefined ? source : requiresBody ? 'response body' : 'response headers';
  return source === 'response.bytes' ? source : 'request';
}

/** A field at its empty value (`""`, `false`, `0`, `[]`) says nothing, as if it were left out; `null` is reported as a wrong type. */
export function isSet(fields: Fields, key: string): boolean {
  const node = fields.node.get(key);
  if (node === undefined) return false;
  if (node.kind === 'scalar') return !(node.value === '' || node.value === false || node.value === null || node.integer === 0n);
  return node.kind === 'map' || node.items.length > 0;
}

/** Required and rejected fields of a source. `sse_event` and terminators of the body phase are judged with the framing. True when it is as the table says. */
export function checkSourceFields(fields: Fields, row: SourceRow, reporter: Reporter): boolean {
  const { what, required, rejected, noEffect } = rules[row];
  const taken = rejected.filter((key) => isSet(fields, key));
  for (const key of taken) reporter.problem(slugsOfRejected[key] ?? 'field_not_allowed_for_source', fields.placeOf(key), `${what} takes no ${key}`);
  const lacking = required.filter((key) => !fields.has(key) || isEmpty(fields, key));
  for (const key of lacking) reporter.problem(slugsOfRequired[key] ?? 'field_required_for_source', fields.node.get(key) ?? fields.node, `${what} needs ${key}`);
  for (const key of noEffect) {
    if (isSet(fields, key)) reporter.warning('field_has_no_effect', fields.placeOf(key), `${key} changes nothing on ${what}`);
  }
  return taken.length === 0 && lacking.length === 0;
}

/** Empty where the field has its right type; a wrong type is reported as that. */
function isEmpty(fields: Fields, key: string): boolean {
  const node = fields.any(key);
  return node?.kind === 'scalar' ? node.value === '' : node?.kind === 'list' && node.items.length === 0;
}

/** Terminators and `sse_event`: SSE bodies need exactly one terminator, nothing may have two (contract 2.7). True when that holds. */
export function checkStreamFields(fields: Fields, row: SourceRow, framing: string, reporter: Reporter): boolean {
  const isTerminator = ({ key }: MapEntry): boolean => terminators.some((terminator) => terminator === key) && isSet(fields, key);
  const set = fields.node.entries.filter(isTerminator).map(({ key }) => key);
  const [, second] = set;
  if (second !== undefined) reporter.problem('too_many_terminators', fields.placeOf(second), `a counter has one terminator, not ${set.join(' and ')}`);
  if (row !== 'response body') return second === undefined;
  const lacking = framing === 'sse' && !terminators.some((key) => fields.has(key) && !isEmpty(fields, key));
  if (lacking) reporter.problem('terminator_required', fields.node, `an SSE counter needs one of ${terminators.join(', ')}`);
  const named = framing === 'single_document' && isSet(fields, 'sse_event');
  if (named) reporter.problem('sse_event_not_allowed', fields.placeOf('sse_event'), 'sse_event needs framing: sse and requires_body: true');
  if (framing === 'single_document') for (const key of set) reporter.warning('field_has_no_effect', fields.placeOf(key), `${key} changes nothing on a single document`);
  return second === undefined && !lacking && !named;
}
