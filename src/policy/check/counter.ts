import type { DocumentNode, ListNode } from '../document/node.ts';
import type { Counter, StatusRange } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { checkLimits } from './counter-limits.ts';
import { checkSourceFields, checkStreamFields, counterSources, isSet, sourceRow } from './counter-source.ts';
import { checkTerminator, checkValue } from './counter-value.ts';
import type { Fields, Shape } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { checkIdentifier } from './identifier.ts';
import { checkStatusCode } from './status-codes.ts';
import { enumOf, stringsOf } from './strings.ts';

const shape: Shape = {
  name: 'string', source: 'string', value: 'string', requires_body: 'boolean', framing: 'string', format: 'string', encoding: 'string', sse_event: 'string',
  status_codes: 'list', accumulator: 'string', reserve_per_request: 'integer', failure_charge: 'integer', max_concurrent: 'integer', workspace: 'map', task: 'map',
  terminal_event_type: 'string', terminal_sentinel: 'string', terminal_cel: 'string',
};

/** `budgets.counters` of a capability (contract 2.7). Counters with a problem are left out. */
export function checkCounters(list: ListNode | undefined, { capability }: { readonly capability: string }, reporter: Reporter): readonly Counter[] {
  const names = new Map<string, DocumentNode>();
  const counters = (list?.items ?? []).map((item) => checkCounter(item, capability, names, reporter));
  return Object.freeze(counters.filter((counter) => counter !== undefined));
}

function checkCounter(node: DocumentNode, capability: string, names: Map<string, DocumentNode>, reporter: Reporter): Counter | undefined {
  const fields = openFields(node, 'a counter', shape, reporter);
  if (fields === undefined) return undefined;
  fields.needs('name', 'source');
  const name = checkName(fields, names, reporter);
  const sourceField = fields.string('source');
  const source = sourceField === undefined ? undefined : enumOf(sourceField, 'source', counterSources, reporter);
  const requiresBody = fields.has('requires_body') ? fields.boolean('requires_body') : false;
  // Without a row of the contract's table to hold it to, the rest is checked as far as it is the same in each.
  const row = source === undefined ? undefined : sourceRow(source, requiresBody);
  const framing = chosen(fields, 'framing', ['', 'single_document', 'sse'] as const, reporter);
  const format = chosen(fields, 'format', ['', 'application/json'] as const, reporter);
  const encoding = chosen(fields, 'encoding', ['', 'identity'] as const, reporter);
  const accumulator = accumulatorOf(fields, reporter);
  const statusCodes = statusCodesOf(fields, reporter);
  const placed = row === undefined || checkSourceFields(fields, row, reporter);
  const streamed = row === undefined || checkStreamFields(fields, row, framing ?? '', reporter);
  const value = checkValue(fields, row, framing, reporter);
  const terminator = checkTerminator(fields, row, reporter);
  const limits = checkLimits(fields, row, reporter);

  if (name === undefined || source === undefined || requiresBody === undefined || limits === undefined || !placed || !streamed) return undefined;
  if (framing === undefined || format === undefined || encoding === undefined || accumulator === 'broken' || statusCodes === undefined || terminator === 'broken') return undefined;
  if ((source === 'response') !== (value !== undefined) || (fields.has('sse_event') && fields.string('sse_event') === undefined)) return undefined;
  return Object.freeze({
    path: node.path, position: node.position, capability, name, source, value, requiresBody, framing, format, encoding,
    sseEvent: isSet(fields, 'sse_event') ? fields.string('sse_event')?.value : undefined,
    statusCodes, accumulator, ...limits, terminator,
  });
}

function checkName(fields: Fields, names: Map<string, DocumentNode>, reporter: Reporter): string | undefined {
  const field = fields.string('name');
  if (field === undefined || !checkIdentifier(field, 'counter name', reporter)) return undefined;
  const earlier = names.get(field.value);
  if (earlier !== undefined) {
    reporter.problem('duplicate_name', field, `counter name ${shown(field.value)} is used twice in the capability${earlier.position === undefined ? '' : `, first in line ${earlier.position.line}`}`);
    return undefined;
  }
  names.set(field.value, field);
  return field.value;
}

/** An enumerated field whose `""` means absent. Undefined when wrong. */
function chosen<T extends string>(fields: Fields, key: string, allowed: readonly ['', ...T[]], reporter: Reporter): '' | T | undefined {
  const field = fields.string(key);
  if (field === undefined) return fields.has(key) ? undefined : '';
  return enumOf(field, key, allowed, reporter);
}

function accumulatorOf(fields: Fields, reporter: Reporter): Counter['accumulator'] | 'broken' {
  const chosenOne = chosen(fields, 'accumulator', ['', 'max', 'sum', 'last'] as const, reporter);
  return chosenOne === undefined ? 'broken' : chosenOne === '' ? undefined : chosenOne;
}

/** Empty when absent; undefined when any of them is wrong. */
function statusCodesOf(fields: Fields, reporter: Reporter): readonly StatusRange[] | undefined {
  const list = fields.list('status_codes');
  if (list === undefined) return fields.has('status_codes') ? undefined : Object.freeze([]);
  const ranges = stringsOf(list, 'a status code', reporter).map((field) => checkStatusCode(field, reporter)).filter((range) => range !== undefined);
  return ranges.length === list.items.length ? Object.freeze(ranges) : undefined;
}
