import type { DocumentNode, ListNode } from '../document/node.ts';
import type { Counter, Scope, StatusRange, Terminator } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { checkSourceFields, checkStreamFields, counterSources, isSet, sourceRow } from './counter-source.ts';
import type { SourceRow } from './counter-source.ts';
import { compileExpression } from './expression.ts';
import type { Fields, Shape } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { checkIdentifier } from './identifier.ts';
import { amountOf } from './int64.ts';
import { checkScope, checkScopes } from './scope.ts';
import { checkStatusCode } from './status-codes.ts';
import { enumOf, stringsOf } from './strings.ts';

const shape: Shape = {
  name: 'string', source: 'string', value: 'string', requires_body: 'boolean', framing: 'string', format: 'string', encoding: 'string', sse_event: 'string',
  status_codes: 'list', accumulator: 'string', reserve_per_request: 'integer', failure_charge: 'integer', max_concurrent: 'integer', workspace: 'map', task: 'map',
  terminal_event_type: 'string', terminal_sentinel: 'string', terminal_cel: 'string',
};
const maxConcurrentMax = 2n ** 31n - 1n;

/** `budgets.counters` of a capability (contract 2.7). Counters with a problem are left out. */
export function checkCounters(list: ListNode | undefined, { capability }: { readonly capability: string }, reporter: Reporter): readonly Counter[] {
  const names = new Set<string>();
  return (list?.items ?? []).map((item) => checkCounter(item, capability, names, reporter)).filter((counter): counter is Counter => counter !== undefined);
}

function checkCounter(node: DocumentNode, capability: string, names: Set<string>, reporter: Reporter): Counter | undefined {
  const fields = openFields(node, 'a counter', shape, reporter);
  if (fields === undefined) return undefined;
  fields.require('name', 'source');
  const name = checkName(fields, names, reporter);
  const sourceField = fields.string('source');
  const source = sourceField === undefined ? undefined : enumOf(sourceField, 'source', counterSources, reporter);
  const limits = checkLimits(fields, reporter);
  const framing = chosen(fields, 'framing', ['', 'single_document', 'sse'] as const, reporter);
  const format = chosen(fields, 'format', ['', 'application/json'] as const, reporter);
  const encoding = chosen(fields, 'encoding', ['', 'identity'] as const, reporter);
  const accumulator = isSet(fields, 'accumulator') ? chosen(fields, 'accumulator', ['max', 'sum', 'last'] as const, reporter) : undefined;
  const codes = stringsOf(fields.list('status_codes'), 'a status code', reporter).map((field) => checkStatusCode(field, reporter));
  if (source === undefined) return undefined;

  const requiresBody = fields.boolean('requires_body') ?? false;
  const row = sourceRow(source, requiresBody);
  checkSourceFields(fields, row, reporter);
  checkStreamFields(fields, row, framing ?? '', reporter);
  const value = row === 'response headers' || row === 'response body' ? checkValue(fields, row, framing, reporter) : undefined;
  const terminator = checkTerminator(fields, reporter);
  if (name === undefined || limits === undefined || framing === undefined || format === undefined || encoding === undefined) return undefined;
  return Object.freeze({
    path: node.path, position: node.position, capability, name, source, value, requiresBody, framing, format, encoding,
    sseEvent: isSet(fields, 'sse_event') ? fields.string('sse_event')?.value : undefined,
    statusCodes: Object.freeze(codes.filter((code): code is StatusRange => code !== undefined)),
    accumulator, ...limits, terminator,
  });
}

function checkName(fields: Fields, names: Set<string>, reporter: Reporter): string | undefined {
  const field = fields.string('name');
  if (field === undefined || !checkIdentifier(field, 'counter name', reporter)) return undefined;
  if (names.has(field.value)) {
    reporter.problem('duplicate_name', field, `counter name ${shown(field.value)} is used twice in the capability`);
    return undefined;
  }
  names.add(field.value);
  return field.value;
}

/** An enumerated field whose `""` means absent. Undefined when wrong. */
function chosen<T extends string>(fields: Fields, key: string, allowed: readonly T[], reporter: Reporter): T | undefined {
  const field = fields.string(key);
  if (field === undefined) return fields.has(key) ? undefined : allowed.find((value) => value === '');
  return enumOf(field, key, allowed, reporter);
}

type Limits = Pick<Counter, 'reservePerRequest' | 'failureCharge' | 'maxConcurrent' | 'workspace' | 'task'>;

function checkLimits(fields: Fields, reporter: Reporter): Limits | undefined {
  const reservePerRequest = amountOf(fields, 'reserve_per_request', reporter);
  const failureCharge = amountOf(fields, 'failure_charge', reporter);
  const maxConcurrent = amountOf(fields, 'max_concurrent', reporter, maxConcurrentMax);
  const workspace = checkScope(fields, 'workspace', reporter);
  const task = checkScope(fields, 'task', reporter);
  checkScopes(workspace, task, reporter);
  checkFailureCharge(fields, failureCharge, [workspace, task], reporter);
  const broken = (['workspace', 'task'] as const).some((key) => fields.has(key) && (key === 'workspace' ? workspace : task) === undefined);
  if (reservePerRequest === undefined || failureCharge === undefined || maxConcurrent === undefined || broken) return undefined;
  return { reservePerRequest, failureCharge, maxConcurrent: Number(maxConcurrent), workspace, task };
}

function checkFailureCharge(fields: Fields, charge: bigint | undefined, scopes: readonly (Scope | undefined)[], reporter: Reporter): void {
  const over = scopes.find((scope) => scope !== undefined && scope.max > 0n && charge !== undefined && charge > scope.max);
  const field = fields.integer('failure_charge');
  if (over !== undefined && field !== undefined) reporter.problem('failure_charge_over_max', field, `failure_charge ${field.integer} is more than the max ${over.max} of a scope`);
}

function checkValue(fields: Fields, row: SourceRow, framing: string | undefined, reporter: Reporter): Counter['value'] {
  const field = fields.string('value');
  if (field === undefined || field.value === '') return undefined;
  const phase = row === 'response headers' ? 'counter_headers' : framing === 'sse' ? 'counter_sse' : 'counter_document';
  return compileExpression(field, { phase, result: 'integer', requestBody: 'absent' }, reporter, {
    'response.body': row === 'response headers' ? 'set requires_body: true and framing: single_document' : 'an SSE counter reads event',
    event: 'event exists in counters with framing: sse and requires_body: true',
  });
}

function checkTerminator(fields: Fields, reporter: Reporter): Terminator | undefined {
  const cel = fields.string('terminal_cel');
  if (cel !== undefined && cel.value !== '') {
    const program = compileExpression(cel, { phase: 'terminal', result: 'bool', requestBody: 'absent' }, reporter);
    return program === undefined ? undefined : { kind: 'cel', program };
  }
  const sentinel = fields.string('terminal_sentinel')?.value ?? '';
  if (sentinel !== '') return { kind: 'sentinel', value: sentinel };
  const eventType = fields.string('terminal_event_type')?.value ?? '';
  return eventType === '' ? undefined : { kind: 'event_type', value: eventType };
}
