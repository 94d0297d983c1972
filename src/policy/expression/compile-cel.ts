import { celEnv, isCelError, plan } from '@bufbuild/cel';
import type { CelInput } from '@bufbuild/cel';
import { budgetExhausted, startBudget } from './budget.ts';
import { checkExpression } from './checker.ts';
import type { Variables } from './checker.ts';
import type { CelBindings, CelCompiled, CelFailure, CelOptions, CelProblem, CelProgram, CelResult, CelValueOf } from '../cel/contract.ts';
import { functions, re2Engine } from './functions.ts';
import { instrument } from './instrument.ts';
import { environmentOf } from './phases.ts';
import { fits, resultOf, wantedNames } from './results.ts';
import { checkRules } from './rules.ts';
import { offsetOf, parseExpression, stringConstant } from './syntax.ts';
import { T, showType } from './types.ts';
import { jsonValue, queryView, stringsView } from './views.ts';

/** The evaluator's environment. Variables are known to our checker only: the evaluator finds them among the bindings. */
export const evaluator = celEnv({ funcs: [...functions], re2: re2Engine });

/**
 * Compiles one expression for one place (contract 2.7, CEL environments): parse, check, instrument, plan. Problems come all at once and
 * nothing is thrown, neither here nor by `evaluate`.
 */
export function compileCel<R extends CelResult>(source: string, options: CelOptions & { readonly result: R }): CelCompiled<R> {
  const read = parseExpression(source);
  if ('problem' in read) return { problems: [read.problem] };
  const { parsed } = read;
  const variables = environmentOf(options);
  const { type, problems: typeProblems, references } = checkExpression(parsed, variables);
  const { problems: ruleProblems, secretKeys } = checkRules(parsed, references);
  const problems: CelProblem[] = [...typeProblems, ...ruleProblems];
  if (problems.length === 0 && !fits(type, options.result)) {
    problems.push({ slug: 'cel_result_type', message: `the expression must give ${wantedNames[options.result]}, not ${showType(type)}`, offset: offsetOf(parsed, parsed.expr), ...resultHint(options.result, showType(type)) });
  }
  if (problems.length > 0) return { problems: problems.sort((a, b) => a.offset - b.offset) };

  const used = new Set(references.values());
  const literal = stringConstant(parsed.expr);
  instrument(parsed.expr, references);
  const run = plan(evaluator, parsed.expr);
  const bind = binder(used, variables);
  const program: CelProgram<R> = Object.freeze({
    source, phase: options.phase, result: options.result, secretKeys: Object.freeze([...secretKeys]), literal,
    usesRequestBody: used.has('request.body'), usesResponseBody: used.has('response.body'),
    evaluate: (bindings: CelBindings) => evaluate(() => run(bind(bindings)), options.result),
  });
  return { program };
}

function resultHint(result: CelResult, type: string): { readonly hint?: string } {
  return result === 'string' && ['int', 'uint', 'double', 'bool'].includes(type) ? { hint: 'convert it with string(...)' } : {};
}

function evaluate<R extends CelResult>(run: () => ReturnType<ReturnType<typeof plan>>, result: R): { readonly ok: true; readonly value: CelValueOf<R> } | CelFailure {
  startBudget();
  try {
    const value = run();
    if (budgetExhausted()) return { ok: false, code: 'budget' };
    if (isCelError(value)) return { ok: false, code: 'eval_error' };
    const converted = resultOf(value, result);
    return converted === undefined ? { ok: false, code: 'type_mismatch' } : { ok: true, value: converted as CelValueOf<R> };
  } catch {
    // The evaluator turns errors into values; what is thrown is a stack or a text that grew too large. The reason may hold values.
    return { ok: false, code: budgetExhausted() ? 'budget' : 'eval_error' };
  }
}

type Read = (bindings: CelBindings) => CelInput | undefined;

/** What each variable reads from the bindings. */
const readers: Readonly<Record<string, Read>> = {
  'request.method': ({ request }) => request?.method,
  'request.path': ({ request }) => request?.path,
  'request.host': ({ request }) => request?.host,
  'request.scheme': ({ request }) => request?.scheme,
  'request.headers': ({ request }) => (request === undefined ? undefined : stringsView(request.headers)),
  'request.raw_query': ({ request }) => request?.rawQuery,
  'request.query': ({ request }) => (request === undefined ? undefined : queryView(request.query)),
  'response.status': ({ response }) => (response === undefined ? undefined : BigInt(response.status)),
  'response.headers': ({ response }) => (response === undefined ? undefined : stringsView(response.headers)),
  'response.size': ({ response }) => (response === undefined ? undefined : BigInt(response.size)),
  'workspace.id': ({ workspace }) => workspace?.id,
  'workspace.org_id': ({ workspace }) => workspace?.orgId,
  'workspace.role': ({ workspace }) => workspace?.role,
  'workspace.environment': ({ workspace }) => workspace?.environment,
  'task.id': ({ task }) => task?.id,
  secrets: ({ secrets }) => (secrets === undefined ? undefined : stringsView(secrets)),
};

/** Only variables that the expression uses are bound. A body that is not there stays unbound, which is an evaluation error. */
function binder(used: ReadonlySet<string>, variables: Variables): (bindings: CelBindings) => Record<string, CelInput> {
  const reads: (readonly [name: string, read: Read])[] = [...used].map((name) => {
    const type = variables.get(name) ?? T.dyn;
    if (name === 'request.body') return [name, ({ request }) => (request?.body === undefined ? undefined : jsonValue(request.body, type))];
    if (name === 'response.body') return [name, ({ response }) => (response?.body === undefined ? undefined : jsonValue(response.body))];
    if (name === 'event') return [name, ({ event }) => (event === undefined ? undefined : jsonValue(event))];
    return [name, readers[name] ?? (() => undefined)];
  });
  return (bindings) => {
    const bound: Record<string, CelInput> = {};
    for (const [name, read] of reads) {
      const value = read(bindings);
      if (value !== undefined) bound[name] = value;
    }
    return bound;
  };
}
