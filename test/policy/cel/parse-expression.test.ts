import t from 'tap';
import { celLimits } from '../../../src/policy/cel/limits.ts';
import { problemsOf, programOf } from './compiled.ts';

const cases: readonly (readonly [source: string, slug: string, message: string, offset: number])[] = [
  ['', 'cel_syntax', 'the expression is empty', 0],
  ['  // only a comment', 'cel_syntax', 'the expression is empty', 0],
  ['true &&', 'cel_syntax', 'what follows "&&" is not an expression', 5],
  ['1 +', 'cel_syntax', 'what follows "+" is not an expression', 2],
  ['true false', 'cel_syntax', 'unexpected "false"', 5],
  ['request.method == "GET" @@ ', 'cel_syntax', 'unexpected "@"', 24],
  ['true # comment', 'cel_syntax', 'unexpected "#"', 5],
  ['request.path = "/"', 'cel_syntax', 'unexpected "="', 13],
  ['true & false', 'cel_syntax', 'unexpected "&"', 5],
  ['((true)', 'cel_syntax', '"(" is never closed', 0],
  ['true)', 'cel_syntax', '")" closes nothing', 4],
  ['[1, 2)', 'cel_syntax', '")" where "]" was expected', 5],
  ['request.method == "GET', 'cel_syntax', 'the string is never closed', 18],
  ["request.method == 'a\nb'", 'cel_syntax', 'the string is never closed', 18],
  ['"a" == """b', 'cel_syntax', 'the string is never closed', 7],
  ['"\\q" == "a"', 'cel_syntax', 'unknown escape in a string', 1],
  ['"\\x4" == "a"', 'cel_syntax', 'unknown escape in a string', 1],
  ['b"\\u0041" == b"A"', 'cel_syntax', 'unknown escape in a string', 2],
  ['"\\ud800" == "a"', 'cel_syntax', 'the expression is not valid CEL', 0],
  ['for == 1', 'cel_syntax', '"for" is a reserved word', 0],
  ['request.headers.in == "a"', 'cel_syntax', '"in" is a reserved word', 16],
  ['request.?body', 'cel_syntax', 'unexpected "."', 7],
  ['x'.repeat(celLimits.sourceCharacters + 1), 'cel_too_complex', 'the expression has 4097 characters, more than 4096', 4096],
  [`${'('.repeat(65)}1${')'.repeat(65)}`, 'cel_too_complex', 'brackets are nested deeper than 64', 64],
  [`${'['.repeat(400)}`, 'cel_too_complex', 'brackets are nested deeper than 64', 64],
  [`1 == ${'1+'.repeat(300)}1`, 'cel_too_complex', 'the expression is nested deeper than 250 levels', 0],
  [`true && 1 == size([1]${'.map(x, [x])'.repeat(300)})`, 'cel_too_complex', 'the expression is nested deeper than 250 levels', 0],
];

t.test('what cannot be parsed is told with its place', async (t) => {
  for (const [source, slug, message, offset] of cases) {
    const problems = problemsOf(source);
    t.match(problems, [{ slug, message, offset }], source.slice(0, 60));
    t.equal(problems.length, 1, source.slice(0, 60));
  }
});

t.test('hints for habits of other languages', async (t) => {
  t.match(problemsOf('request.path = "/"')[0]?.hint, /==/);
  t.match(problemsOf('true & false')[0]?.hint, /&&/);
  t.match(problemsOf('request.headers.in == "a"')[0]?.hint, /\["in"\]/);
});

t.test('brackets, quotes and comment marks inside strings are text', async (t) => {
  for (const source of [
    '"((((" == "(((("',
    `"${'('.repeat(100)}" != ""`,
    '"https://a" == "https://a"',
    "'it\\'s' == \"it's\"",
    "'\"' == '\"'",
    '"""a"b\n""" != ""',
    "r'\\d(' == '\\\\d('",
    'R"\\" == "\\\\"',
    'b"\\xff" != b""',
    '"\\u00e9\\U0001F600\\101\\x41\\n" != ""',
  ]) {
    t.same(problemsOf(source), [], source);
    t.same(programOf(source).evaluate({}), { ok: true, value: true }, source);
  }
});

t.test('comments are blanks, and offsets stay', async (t) => {
  t.same(programOf('true // why\n && true').evaluate({}), { ok: true, value: true });
  t.same(programOf('// first\n// second\ntrue // last').evaluate({}), { ok: true, value: true });
  t.match(problemsOf('true // é ( "\n && foo'), [{ message: 'undeclared reference: foo', offset: 18 }]);
});

t.test('the smallest and largest integers are literals', async (t) => {
  t.same(programOf('-9223372036854775808 < 9223372036854775807 && 18446744073709551615u > 0u && 0x7fffffffffffffff == 9223372036854775807').evaluate({}), { ok: true, value: true });
});

t.test('long chains of && and || are shallow', async (t) => {
  const chain = Array.from({ length: 500 }, () => 'true').join('&&');
  t.same(programOf(chain).evaluate({}), { ok: true, value: true });
});
