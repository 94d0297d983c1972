import fc from 'fast-check';
import t from 'tap';
import { compileCel } from '../../../src/policy/cel/compile-cel.ts';
import type { CelBindings, CelPhase, CelResult } from '../../../src/policy/cel/contract.ts';
import { bindings } from './compiled.ts';
import { suiteCases } from './conformance.ts';

// No text makes the compiler throw, no value makes a program throw; a program's value is what its place takes.

const phases: readonly CelPhase[] = ['match_admission', 'match_body', 'header', 'query', 'path', 'body', 'counter_headers', 'counter_document', 'counter_sse', 'terminal'];
const results: readonly CelResult[] = ['bool', 'string', 'integer', 'string_map'];
const codes = new Set(['eval_error', 'type_mismatch', 'budget']);

const slugs = new Set(['cel_syntax', 'cel_too_complex', 'undeclared_reference', 'cel_type', 'cel_result_type', 'cel_invalid_regex', 'cel_integer_range', 'secret_key_not_literal']);

function holds(source: string, phase: CelPhase, result: CelResult, given: CelBindings): void {
  const compiled = compileCel(source, { phase, result, requestBody: 'dyn' });
  if ('problems' in compiled) {
    if (compiled.problems.length === 0) throw new Error('refused without a problem');
    for (const { slug, message, offset } of compiled.problems) {
      if (!slugs.has(slug) || message === '' || !Number.isInteger(offset) || offset < 0 || offset > source.length) throw new Error(`bad problem: ${slug} ${message} ${offset}`);
      if (slug === 'undeclared_reference' && !message.startsWith('undeclared reference: ')) throw new Error(message);
    }
    return;
  }
  const evaluation = compiled.program.evaluate(given);
  if (!evaluation.ok) {
    if (!codes.has(evaluation.code)) throw new Error(`bad code: ${String(evaluation.code)}`);
    return;
  }
  const { value } = evaluation;
  const good = { bool: typeof value === 'boolean', string: typeof value === 'string', integer: typeof value === 'bigint', string_map: typeof value === 'object' && value !== null && !Array.isArray(value) };
  if (!good[result]) throw new Error(`bad value of ${result}: ${typeof value}`);
}

const place = fc.tuple(fc.constantFrom(...phases), fc.constantFrom(...results));
const names = ['request', 'request.body', 'request.headers', 'request.path', 'request.query', 'response.body', 'response.status', 'secrets', 'event', 'x', 'y', 'foo', 'task.id', 'int', 'type', '__proto__', 'constructor'];
const tokens = [...names, 'true', 'null', '1', '1u', '2.5', '-9223372036854775808', '"a"', "'''b", 'b"\\xff"', 'r"\\"', '(', ')', '[', ']', '{', '}', ',', '.', '?', ':', '+', '-', '*', '/', '%', '!', '==', '!=', '<', '>=', '&&', '||', 'in', ' ', '\n', '//', '.all(x, ', '.map(y, ', '.filter(x, ', 'has(', 'size(', '.matches("', '"', '\\', '@', '`', '😀', '\ud800'];

t.test('random texts', async (t) => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), place, (source, [phase, result]) => holds(source, phase, result, bindings)), { numRuns: 2_000 });
  fc.assert(fc.property(fc.array(fc.constantFrom(...tokens), { maxLength: 40 }), place, (parts, [phase, result]) => holds(parts.join(''), phase, result, bindings)), { numRuns: 6_000 });
  t.pass();
});

/** Expressions by the grammar, mostly well formed and mostly ill typed. */
const expression = fc.letrec<{ e: string }>((tie) => ({
  e: fc.oneof(
    { maxDepth: 6, depthSize: 'medium' },
    fc.constantFrom(...names, 'true', 'false', 'null', '0', '1', '3u', '1.5', '"a"', '"1"', 'b"a"', '[]', '{}', 'request.body.messages', 'event.usage', 'secrets["k"]', 'request.headers["x-team"]'),
    fc.tuple(tie('e'), fc.constantFrom('+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in'), tie('e')).map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(tie('e'), tie('e'), tie('e')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    fc.tuple(tie('e'), fc.constantFrom('all', 'exists', 'exists_one', 'filter', 'map'), fc.constantFrom('x', 'y', 'request', 'secrets'), tie('e')).map(([a, macro, v, b]) => `${a}.${macro}(${v}, ${b})`),
    fc.tuple(fc.constantFrom('size', 'int', 'uint', 'double', 'string', 'bytes', 'bool', 'type', 'dyn', 'timestamp', 'duration', 'strings.quote'), tie('e')).map(([f, a]) => `${f}(${a})`),
    fc.tuple(tie('e'), fc.constantFrom('contains', 'startsWith', 'matches', 'split', 'join', 'format', 'indexOf', 'replace', 'getHours', 'trim', 'size'), fc.array(tie('e'), { maxLength: 2 })).map(([a, m, args]) => `${a}.${m}(${args.join(', ')})`),
    fc.array(tie('e'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    fc.array(fc.tuple(tie('e'), tie('e')), { maxLength: 3 }).map((entries) => `{${entries.map(([k, v]) => `${k}: ${v}`).join(', ')}}`),
    fc.tuple(tie('e'), tie('e')).map(([a, b]) => `${a}[${b}]`),
    fc.tuple(tie('e'), fc.constantFrom('a', 'model', 'x', '__proto__', 'constructor')).map(([a, f]) => `${a}.${f}`),
    fc.tuple(tie('e'), fc.constantFrom('a', 'model')).map(([a, f]) => `has(${a}.${f})`),
    tie('e').map((a) => `!${a}`),
    tie('e').map((a) => `-${a}`),
    tie('e').map((a) => `dyn(${a})`),
  ),
})).e;

t.test('expressions of the grammar, over any JSON', async (t) => {
  fc.assert(
    fc.property(expression, place, fc.jsonValue({ maxDepth: 4 }), (source, [phase, result], json) => {
      holds(source, phase, result, { ...bindings, request: { ...bindings.request!, body: json }, response: { ...bindings.response!, body: json }, event: json });
    }),
    { numRuns: 6_000 },
  );
  t.pass();
});

t.test('valid expressions with something removed, doubled or put in', async (t) => {
  const sources = suiteCases().cases.map(({ original }) => original.expr);
  const mutation = fc.tuple(fc.constantFrom(...sources), fc.nat(400), fc.nat(6), fc.constantFrom('', ...tokens));
  fc.assert(
    fc.property(mutation, place, ([source, at, length, token], [phase, result]) => {
      const from = source.length === 0 ? 0 : at % source.length;
      holds(source.slice(0, from) + token + source.slice(from + length), phase, result, bindings);
      holds(source.slice(0, from + length) + source.slice(from), phase, result, bindings);
    }),
    { numRuns: 4_000 },
  );
  t.pass();
});

t.test('what the checker finds in an expression holds when it runs: no type fault without dyn', async (t) => {
  const noDyn = fc.letrec<{ b: string; s: string; i: string }>((tie) => ({
    b: fc.oneof({ maxDepth: 5 }, fc.constantFrom('true', 'false'), fc.tuple(tie('s'), tie('s')).map(([a, b]) => `(${a} == ${b})`), fc.tuple(tie('i'), tie('i')).map(([a, b]) => `(${a} < ${b})`), fc.tuple(tie('b'), tie('b')).map(([a, b]) => `(${a} && ${b})`), tie('b').map((a) => `!${a}`), fc.tuple(tie('s'), tie('s')).map(([a, b]) => `${a}.startsWith(${b})`), tie('b').map((a) => `[1, 2].exists(x, x == 1 && ${a})`)),
    s: fc.oneof({ maxDepth: 5 }, fc.constantFrom('request.path', 'request.method', '"a"', 'request.headers["x-team"]', 'request.query["a"][0]', 'workspace.id'), fc.tuple(tie('s'), tie('s')).map(([a, b]) => `(${a} + ${b})`), fc.tuple(tie('b'), tie('s'), tie('s')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`), tie('i').map((a) => `string(${a})`), tie('s').map((a) => `[${a}].map(x, x)[0]`)),
    i: fc.oneof({ maxDepth: 5 }, fc.constantFrom('1', '7', '-3'), tie('s').map((a) => `size(${a})`), fc.tuple(tie('i'), fc.constantFrom('+', '-', '*'), tie('i')).map(([a, op, b]) => `(${a} ${op} ${b})`)),
  }));
  fc.assert(
    fc.property(noDyn.b, (source) => {
      const compiled = compileCel(source, { phase: 'match_admission', result: 'bool', requestBody: 'absent' });
      if ('problems' in compiled) return compiled.problems.every(({ slug }) => slug === 'cel_too_complex');
      const evaluation = compiled.program.evaluate(bindings);
      return evaluation.ok || evaluation.code === 'budget' || evaluation.code === 'eval_error';
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});
