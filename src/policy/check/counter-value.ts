import type { CelPhase } from '../cel/contract.ts';
import type { Counter, Terminator } from '../model.ts';
import type { Problem, Reporter } from '../problem.ts';
import { createReporter } from '../reporter.ts';
import type { SourceRow } from './counter-source.ts';
import { isSet } from './counter-source.ts';
import { compileExpression } from './expression.ts';
import type { Fields, StringField } from './fields.ts';

type ValuePhase = Extract<CelPhase, 'counter_headers' | 'counter_document' | 'counter_sse'>;

const hints: Readonly<Record<ValuePhase, Readonly<Record<string, string>>>> = {
  counter_headers: {
    'response.body': 'set requires_body: true and framing: single_document',
    event: 'set requires_body: true and framing: sse',
  },
  counter_document: { event: 'event exists with framing: sse; a single document is response.body' },
  counter_sse: { 'response.body': 'with framing: sse, value reads event: one event at a time' },
};

/** `value` of a response counter. Undefined when absent, wrong, or when a mistake elsewhere leaves open what it may read. */
export function checkValue(fields: Fields, row: SourceRow | undefined, framing: Counter['framing'] | undefined, reporter: Reporter): Counter['value'] {
  const field = fields.string('value');
  if (field === undefined || field.value === '' || row === 'request' || row === 'response.bytes') return undefined;
  const phase = phaseOf(row, framing);
  if (phase !== undefined) return compileIn(field, phase, reporter);
  reportWhateverPhase(field, reporter);
  return undefined;
}

function phaseOf(row: SourceRow | undefined, framing: Counter['framing'] | undefined): ValuePhase | undefined {
  if (row === 'response headers') return 'counter_headers';
  if (row !== 'response body') return undefined;
  return framing === 'sse' ? 'counter_sse' : framing === 'single_document' ? 'counter_document' : undefined;
}

function compileIn(field: StringField, phase: ValuePhase, reporter: Reporter): Counter['value'] {
  return compileExpression(field, { phase, result: 'integer', requestBody: 'absent' }, reporter, hints[phase]);
}

/** What is wrong in the phase that the expression fits best: a name of another phase is no mistake while the phase is not known. */
function reportWhateverPhase(field: StringField, reporter: Reporter): void {
  const attempts = (['counter_sse', 'counter_document', 'counter_headers'] as const).map((phase) => {
    const own = createReporter();
    compileIn(field, phase, own);
    return own.problems;
  });
  const fewest = attempts.reduce((least, problems) => (problems.length < least.length ? problems : least));
  for (const problem of fewest) report(problem, field, reporter);
}

function report({ slug, message, hint, line, column, expressionColumn }: Problem, field: StringField, reporter: Reporter): void {
  reporter.problem(slug, field, message, {
    ...(line === undefined || column === undefined ? {} : { position: { line, column } }),
    ...(hint === undefined ? {} : { hint }),
    ...(expressionColumn === undefined ? {} : { expressionColumn }),
  });
}

/** The terminator of a counter that may have one (contract 2.7). `broken` when it is no terminator; undefined when there is none. */
export function checkTerminator(fields: Fields, row: SourceRow | undefined, reporter: Reporter): Terminator | undefined | 'broken' {
  if (row !== undefined && row !== 'response body' && row !== 'response') return undefined;
  const keys = ['terminal_event_type', 'terminal_sentinel', 'terminal_cel'] as const;
  if (keys.some((key) => fields.has(key) && fields.string(key) === undefined)) return 'broken';
  const cel = fields.string('terminal_cel');
  if (cel !== undefined && isSet(fields, 'terminal_cel')) {
    const program = compileExpression(cel, { phase: 'terminal', result: 'bool', requestBody: 'absent' }, reporter, { 'response.body': 'terminal_cel reads event: one event at a time' });
    return program === undefined ? 'broken' : Object.freeze({ kind: 'cel', program });
  }
  const sentinel = fields.string('terminal_sentinel')?.value ?? '';
  if (sentinel !== '') return Object.freeze({ kind: 'sentinel', value: sentinel });
  const eventType = fields.string('terminal_event_type')?.value ?? '';
  return eventType === '' ? undefined : Object.freeze({ kind: 'event_type', value: eventType });
}
