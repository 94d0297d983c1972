import t from 'tap';
import { celLimits } from '../../../src/policy/cel/limits.ts';
import { bindings, evaluated, programOf } from './compiled.ts';

const yes = { ok: true, value: true };
const evalError = { ok: false, code: 'eval_error' };
const mismatch = { ok: false, code: 'type_mismatch' };

t.test('results have the type of their place', async (t) => {
  t.same(evaluated('event.a', { a: 5 }, 'integer'), { ok: true, value: 5n });
  t.same(evaluated('event.a', { a: 5.0 }, 'integer'), { ok: true, value: 5n });
  t.same(evaluated('event.a', { a: -(2 ** 63) }, 'integer'), { ok: true, value: -(2n ** 63n) });
  t.same(evaluated('uint(event.a)', { a: 5 }, 'integer'), { ok: true, value: 5n });
  t.same(evaluated('dyn(2.0)', {}, 'integer'), { ok: true, value: 2n });
  t.same(evaluated('event.a', { a: 'x' }, 'string'), { ok: true, value: 'x' });
  t.same(evaluated('event.a', { a: true }), yes);
  for (const a of [1.5, 1e300, 2 ** 63, '5', null, true, [], {}, NaN]) t.same(evaluated('event.a', { a }, 'integer'), mismatch, JSON.stringify(a));
  t.same(evaluated('dyn(18446744073709551615u)', {}, 'integer'), mismatch);
  for (const a of [1, null, 'true', [], {}]) t.same(evaluated('event.a', { a }), mismatch, `bool ${JSON.stringify(a)}`);
  for (const a of [1, null, true, [], {}]) t.same(evaluated('event.a', { a }, 'string'), mismatch, `string ${JSON.stringify(a)}`);
});

t.test('maps come back as plain JSON, copied', async (t) => {
  const event = { a: { list: [1, 1.5, 'x', null, true, { b: 2 }], empty: {}, big: 2 ** 60 } };
  const result = evaluated<'string_map'>('{"copy": event.a, "n": 1, "u": 2u, "d": 1.25, "none": null, "l": [[]]}', event, 'string_map');
  t.same(result, { ok: true, value: { copy: event.a, n: 1, u: 2, d: 1.25, none: null, l: [[]] } });
  t.not('value' in result && result.value['copy'], event.a);
  const hostile = evaluated('{"__proto__": {"polluted": true}, "constructor": 1}', {}, 'string_map');
  const value = 'value' in hostile ? hostile.value : {};
  t.same(Object.keys(value), ['__proto__', 'constructor']);
  t.equal(Object.getPrototypeOf(value), Object.prototype);
  t.equal(value['polluted'], undefined);
  for (const source of ['{"a": dyn(timestamp(0))}', '{"a": dyn(b"x")}', '{"a": dyn(int)}', '{dyn(1): 2}', '{"a": 9007199254740993}', '{"a": 1.0 / 0.0}', '{"a": [dyn(duration("1s"))]}']) {
    t.same(evaluated(source, {}, 'string_map'), mismatch, source);
  }
  for (const a of [1, 'x', null, []]) t.same(evaluated('event.a', { a }, 'string_map'), mismatch);
});

t.test('failures are codes', async (t) => {
  for (const source of ['event.nope == 1', 'event["nope"] == 1', 'event.a.b.c == 1', '[1][5] == 1', '1 / int(event.a.zero) == 1', '9223372036854775807 + event.one == 1', 'int("x") == 1', 'event.s.matches(event.bad)', 'timestamp(event.s) > timestamp(0)']) {
    t.same(evaluated(source, { a: { zero: 0 }, one: 1, s: 'x', bad: '(' }), evalError, source);
  }
  for (const source of ['event.s + 1 == 2', 'event.s > 1', '!event.s', 'event.s ? true : false', 'event.s && true', 'event.s.all(x, true)', 'event.l["a"] == 1', 'event.l[true] == 1', 'event.o[event.l] == 1', 'event.o[null] == 1']) {
    t.same(evaluated(source, { s: 'x', l: [1, 2], o: { a: 1 } }), mismatch, source);
  }
});

t.test('an error is absorbed where CEL says so, and only there', async (t) => {
  for (const source of ['event.nope == 1 || true', 'true || event.nope == 1', '!(event.nope == 1 && false)', '[1, 2].exists(x, x == 2 || event.nope)', 'true ? true : event.nope']) t.same(evaluated(source, {}), yes, source);
  for (const source of ['event.nope == 1 || false', 'event.nope && true', '[1, 2].all(x, x == 1 || event.nope)', 'event.nope ? true : true']) t.same(evaluated(source, {}), evalError, source);
});

t.test('a binding that the caller did not give is an error, not a crash', async (t) => {
  t.same(programOf('request.path == ""').evaluate({}), evalError);
  t.same(programOf('request.body.a == 1').evaluate({ request: { ...bindings.request!, body: undefined } }), evalError);
  t.same(programOf('has(request.body)').evaluate({ request: { ...bindings.request!, body: undefined } }), { ok: true, value: false });
  t.same(programOf('has(request.body)').evaluate({ request: { ...bindings.request!, body: null } }), yes);
  t.same(programOf('request.body == null').evaluate({ request: { ...bindings.request!, body: null } }), yes);
  t.same(programOf('secrets["other"] == ""', { phase: 'header' }).evaluate(bindings), evalError);
  t.same(programOf('event.a == 1', { phase: 'terminal' }).evaluate({ event: undefined }), evalError);
  t.same(programOf('event.a == 1', { phase: 'terminal' }).evaluate({ event: 'text' }), evalError);
});

t.test('one program serves many, one after the other', async (t) => {
  const program = programOf('request.body.n + 1', { result: 'integer' });
  for (const n of [1, 2, 3]) t.same(program.evaluate({ request: { ...bindings.request!, body: { n } } }), { ok: true, value: BigInt(n + 1) });
  const loops = programOf('[1, 2, 3].map(x, x * 2).filter(y, y > 2) == [4, 6]');
  t.same([loops.evaluate({}), loops.evaluate({})], [yes, yes]);
});

t.test('evaluation leaves stack traces of others as they were', async (t) => {
  const before = Error.stackTraceLimit;
  evaluated('event.nope == 1', {});
  t.equal(Error.stackTraceLimit, before);
});

t.test('deep values are no crash', async (t) => {
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  t.same(evaluated('event.a == event.b', { a: deep, b: [deep] }), evalError);
  t.same(evaluated('event', { a: deep }, 'string_map'), mismatch);
  t.ok(celLimits.valueDepth < 20_000);
});
