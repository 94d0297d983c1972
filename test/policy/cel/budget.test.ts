import t from 'tap';
import { celLimits } from '../../../src/policy/cel/limits.ts';
import { evaluated, problemsOf, programOf } from './compiled.ts';

const yes = { ok: true, value: true };
const budget = { ok: false, code: 'budget' };
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const repeated = (times: number, part: string): string => part.repeat(times);

t.test('loops end with the steps', async (t) => {
  const event = { l: numbers(200) };
  t.same(evaluated('event.l.all(a, event.l.all(b, a >= 0 && b >= 0))', event), yes, '40,000 turns');
  t.same(evaluated('event.l.all(a, event.l.all(b, event.l.all(c, true)))', event), budget);
  t.same(evaluated('event.l.map(a, event.l.map(b, event.l.map(c, c))) == []', event), budget);
  t.same(evaluated('event.l.filter(a, event.l.exists(b, event.l.exists(c, c < 0))) == []', event), budget);
});

t.test('the steps are the same each time', async (t) => {
  const program = programOf(`event.all(k, event[k].all(x, x >= 0))`, { phase: 'terminal' });
  const run = (count: number): unknown => program.evaluate({ event: { l: numbers(count) } });
  let low = 1;
  let high = celLimits.steps * 2;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((run(middle) as { ok: boolean }).ok) low = middle;
    else high = middle;
  }
  t.ok(low > celLimits.steps / 4 && low < celLimits.steps, `${low} elements`);
  for (let turn = 0; turn < 5; turn += 1) t.same([run(low), run(high)], [yes, budget]);
});

t.test('what is used up stays used up, whatever hides the error', async (t) => {
  const event = { l: numbers(1_000) };
  const long = 'event.l.all(a, event.l.all(b, event.l.exists(c, c == 999)))';
  for (const source of [`${long} || true`, `true && (${long} || true)`, `!(${long} && false)`, `[1].exists(x, ${long} || true)`, `${long} ? true : true`, `[1, 2].exists(x, x == 2 || ${long})`]) {
    t.same(evaluated(source, event), budget, source);
  }
});

t.test('the next evaluation starts afresh', async (t) => {
  const program = programOf('event.l.all(a, event.l.all(b, true))', { phase: 'terminal' });
  t.same(program.evaluate({ event: { l: numbers(1_000) } }), budget);
  t.same(program.evaluate({ event: { l: numbers(10) } }), yes);
});

t.test('work outside of loops is paid for: long lists, long texts', async (t) => {
  const event = { l: numbers(100_000), m: numbers(100_000), s: 'a'.repeat(1_000_000), p: '(a|aa)+b' };
  for (const source of [
    'event.l.all(x, -1 in event.l || true)',
    'event.l.all(x, event.l == event.m)',
    'event.l.all(x, event.l.exists(y, true))',
    'event.l.all(x, !event.s.contains("b"))',
    'event.l.all(x, size(event.s) > 0)',
    'event.l.all(x, event.s + "a" != "")',
    'event.l.all(x, event.s + "a" < event.s + "b")',
    'event.l.all(x, !event.s.matches(event.p))',
    'event.l.all(x, event.s.upperAscii() != "")',
    'event.l.all(x, event.s.substring(1) != "")',
    'event.l.all(x, event.s.replace("a", "b") != "")',
    'event.l.all(x, event.s.split("").size() > 0)',
    'event.l.all(x, strings.quote(event.s) != "")',
    'event.l.all(x, "%s".format([event.s]) != "")',
    'event.l.all(x, bytes(event.s) == bytes(event.s))',
    'event.l.map(x, event.s).join("") == ""',
    'event.s.replace("a", "bbbbbbbbbb").replace("b", "cccccccccc") != ""',
    'event.s.split("").all(x, x == "a")',
    'event.l.all(x, timestamp(x).getHours("Europe/Berlin") >= 0)',
  ]) {
    t.same(evaluated(source, event), budget, source);
  }
});

t.test('one pass over a large body is within the budget', async (t) => {
  const event = { l: numbers(20_000), s: 'a'.repeat(1_000_000) };
  for (const source of ['event.l.all(x, x >= 0)', '19999 in event.l', 'event.s.contains("b") || true', 'event.s + "b" != ""', 'event.s.matches("^a+$")', 'size(event.s) == 1000000', 'event.l == event.l.map(x, x)']) {
    t.same(evaluated(source, event), yes, source);
  }
});

t.test('values that hold one value many times are no way out', async (t) => {
  const doubling = `[1]${repeated(60, '.map(x, [x, x])')}`;
  t.same(evaluated(`${doubling} == ${doubling}`), budget, 'compared');
  t.same(evaluated(`"%s".format([[1]${repeated(100, '.map(x, [x, x])')}]) == ""`), budget, 'formatted');
  t.same(evaluated(`dyn(${doubling}) in [1, ${doubling}]`), budget, 'looked for');
  t.same(evaluated(`{"a": [1]${repeated(100, '.map(x, [x, x])')}}`, {}, 'string_map'), budget, 'given back');
  t.same(evaluated(`["ab"]${repeated(100, '.map(x, x + x)')} == []`), budget, 'text doubled');
  t.same(evaluated(`[[1, 2]]${repeated(100, '.map(x, x + x)')} == []`), budget, 'lists doubled');
  t.same(evaluated(`[b"ab"]${repeated(100, '.map(x, x + x)')} == []`), budget, 'bytes doubled');
  t.match(problemsOf(`[1]${repeated(100, '.map(x, {x: x})')} == []`), [{ slug: 'cel_type' }], 'types too');
});

t.test('wide and long expressions compile', async (t) => {
  for (const source of [
    `${repeated(700, '1<2&&')}true`,
    `[${repeated(1_300, '[],')}[]].size() == 1`,
    `{${numbers(400).map((index) => `${index}: ${index}`).join(',')}}.size() == 400`,
    `1 == ${repeated(60, '(')}1${repeated(60, ')')}`,
    `${repeated(40, '[1].all(a, ')}true${repeated(40, ')')}`,
  ]) {
    t.same(problemsOf(source), [], source.slice(0, 40));
  }
});
