import { compileCel } from '../../../src/policy/cel/compile-cel.ts';
import type { CelBindings, CelOptions, CelPhase, CelProblem, CelProgram, CelResult } from '../../../src/policy/cel/contract.ts';

type Place<R extends CelResult> = { readonly phase?: CelPhase; readonly result?: R; readonly requestBody?: CelOptions['requestBody'] };

/** The program of an expression that has to compile. */
export function programOf<R extends CelResult = 'bool'>(source: string, place: Place<R> = {}): CelProgram<R> {
  const compiled = compileCel(source, optionsOf(place));
  if ('problems' in compiled) throw new Error(`${source}: ${compiled.problems.map(({ message }) => message).join('; ')}`);
  return compiled.program;
}

/** The problems of an expression, none when it compiles. */
export function problemsOf<R extends CelResult = 'bool'>(source: string, place: Place<R> = {}): readonly CelProblem[] {
  const compiled = compileCel(source, optionsOf(place));
  return 'problems' in compiled ? compiled.problems : [];
}

/** Evaluates an expression over one SSE event: the phase with a value of any type and nothing else. */
export function evaluated<R extends CelResult = 'bool'>(source: string, event: unknown = {}, result?: R): ReturnType<CelProgram<R>['evaluate']> {
  return programOf(source, { phase: 'counter_sse', ...(result === undefined ? {} : { result }) }).evaluate({ event });
}

function optionsOf<R extends CelResult>(place: Place<R>): CelOptions & { readonly result: R } {
  return { phase: place.phase ?? 'match_body', result: place.result ?? ('bool' as R), requestBody: place.requestBody ?? 'dyn' };
}

/** Everything that some phase may read. */
export const bindings: CelBindings = {
  request: {
    method: 'POST',
    path: '/v1/messages',
    host: 'api.example.com',
    scheme: 'https',
    headers: new Map([['content-type', 'application/json'], ['x-team', 'red']]),
    rawQuery: 'a=1&a=2&b=',
    query: new Map([['a', ['1', '2']], ['b', ['']]]),
    body: { model: 'm-1', max_tokens: 100, temperature: 1, stop: null, messages: [{ role: 'user', content: 'hi' }], constructor: 'own', big: 9_007_199_254_740_992 },
  },
  response: { status: 200, headers: new Map([['content-type', 'application/json']]), size: 42, body: { usage: { total_tokens: 7 } } },
  workspace: { id: 'w1', orgId: 'o1', role: 'writer', environment: 'prod' },
  task: { id: 't1' },
  secrets: new Map([['api-key', 's3cret']]),
  event: { type: 'done', usage: { output_tokens: 3 } },
};
