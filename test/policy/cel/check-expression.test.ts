import t from 'tap';
import { problemsOf, programOf } from './compiled.ts';

// What a document's author is told: slug, message, place. Offsets are UTF-16 units inside the expression.

const cases: readonly (readonly [source: string, slug: string, message: string, offset: number])[] = [
  // undeclared
  ['foo == 1', 'undeclared_reference', 'undeclared reference: foo', 0],
  ['true && foo.bar.baz == 1', 'undeclared_reference', 'undeclared reference: foo', 8],
  ['request.bdoy.x == 1', 'undeclared_reference', 'undeclared reference: request.bdoy', 0],
  ['has(request.bdoy.x)', 'undeclared_reference', 'undeclared reference: request.bdoy', 4],
  ['has(foo.x)', 'undeclared_reference', 'undeclared reference: foo', 4],
  ['"é😀" == foo', 'undeclared_reference', 'undeclared reference: foo', 9],
  ['[1].all(x, .x == 1)', 'undeclared_reference', 'undeclared reference: x', 11],
  ['[1].all(x, true) && x == 1', 'undeclared_reference', 'undeclared reference: x', 20],
  ['bar(1)', 'undeclared_reference', 'undeclared reference: bar', 0],
  ['"a".sartsWith("b")', 'undeclared_reference', 'undeclared reference: sartsWith', 4],
  ['math.greatest(1, 2) == 2', 'undeclared_reference', 'undeclared reference: math', 0],
  ['google.protobuf.Int32Value{value: 1} == 1', 'undeclared_reference', 'undeclared reference: google.protobuf.Int32Value', 0],
  ['@result == 1', 'cel_syntax', 'unexpected "@"', 0],
  // secrets
  ['secrets.k == "a"', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 0],
  ['secrets[request.method] == "a"', 'secret_key_not_literal', 'the key of secrets[...] has to be a string written out', 8],
  ['secrets["a" + "b"] == "a"', 'secret_key_not_literal', 'the key of secrets[...] has to be a string written out', 8],
  ['secrets[1] == "a"', 'secret_key_not_literal', 'the key of secrets[...] has to be a string written out', 8],
  ['[secrets][0]["k"] == "a"', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 1],
  ['dyn(secrets)["k"] == "a"', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 4],
  ['secrets.exists(k, true)', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 0],
  ['"k" in secrets', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 7],
  ['has(secrets.k)', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 4],
  ['size(secrets) == 1', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 5],
  ['(true ? secrets : {})["k"] == ""', 'secret_key_not_literal', 'secrets can only be read as secrets["name"] with the name written out', 8],
  // types
  ['1 == "a"', 'cel_type', "found no matching overload for '_==_' applied to '(int, string)'", 2],
  ['request.path + 1 == "a"', 'cel_type', "found no matching overload for '_+_' applied to '(string, int)'", 13],
  ['request.path.startsWith(1)', 'cel_type', "found no matching overload for 'startsWith' applied to 'string.(int)'", 13],
  ['true && 1', 'cel_type', "found no matching overload for '_&&_' applied to '(bool, int)'", 8],
  ['1 ? true : false', 'cel_type', "found no matching overload for '_?_:_' applied to '(int, bool, bool)'", 0],
  ['!request.path', 'cel_type', "found no matching overload for '!_' applied to '(string)'", 0],
  ['[1, 2].filter(x, x) == []', 'cel_type', 'the condition of filter() has to be bool, not int', 6],
  ['[1, 2].exists(x, "a")', 'cel_type', 'the condition of exists() has to be bool, not string', 6],
  ['[1, 2].all(x, 1)', 'cel_type', 'the condition of all() has to be bool, not int', 6],
  ['[1, 2].exists_one(x, 1)', 'cel_type', 'the condition of exists_one() has to be bool, not int', 6],
  ['request.path.all(c, true)', 'cel_type', 'all() goes through lists and maps, not string', 12],
  ['{[1]: 2} == {}', 'cel_type', 'keys of a map are bool, int, uint or string, not list(int)', 0],
  ['request.headers.x.y == 1', 'cel_type', 'type string does not support field selection', 17],
  ['size(1) == 1', 'cel_type', "found no matching overload for 'size' applied to '(int)'", 0],
  // results
  ['  1 + 1', 'cel_result_type', 'the expression yields int, but bool is needed', 2],
  ['request.headers', 'cel_result_type', 'the expression yields map(string, string), but bool is needed', 0],
  // regular expressions
  ['request.path.matches("(")', 'cel_invalid_regex', 'the pattern is not RE2: error parsing regexp: missing closing ): `(`', 21],
  ['matches(request.path, "(?=x)")', 'cel_invalid_regex', 'the pattern is not RE2: error parsing regexp: invalid or unsupported Perl syntax: `(?=`', 22],
  // numbers
  ['9223372036854775808 > 1', 'cel_integer_range', '9223372036854775808 does not fit int64', 0],
  ['1 < -9223372036854775809', 'cel_integer_range', '-9223372036854775809 does not fit int64', 4],
  ['1u < 18446744073709551616u', 'cel_integer_range', '18446744073709551616u does not fit uint64', 5],
  ['1.0 < 1e999', 'cel_integer_range', '1e999 does not fit double', 6],
  // macros
  ['has(request)', 'cel_syntax', 'has() takes one field selection, as in has(request.body.model)', 0],
  ['[1].all(1, true)', 'cel_syntax', 'all() takes a plain variable name and an expression, as in list.all(x, x != "")', 4],
  ['[1].map(x, y, z, w) == []', 'cel_syntax', 'map() takes a plain variable name and an expression, as in list.map(x, x != "")', 4],
];

t.test('one fault is one problem, at its place', async (t) => {
  for (const [source, slug, message, offset] of cases) {
    const problems = problemsOf(source, { phase: 'header' });
    t.match(problems, [{ slug, message, offset }], source);
    t.equal(problems.length, 1, source);
  }
});

t.test('several faults come together', async (t) => {
  t.same(problemsOf('foo == 1 && bar(2) && request.path == 3').map(({ message }) => message), [
    'undeclared reference: foo',
    'undeclared reference: bar',
    "found no matching overload for '_==_' applied to '(string, int)'",
  ]);
  t.equal(problemsOf(Array.from({ length: 60 }, (_, index) => `x${index} == 1`).join(' || ')).length, 20, 'bounded');
});

t.test('hints', async (t) => {
  t.equal(problemsOf('request.bdoy.x == 1')[0]?.hint, 'did you mean request.body?');
  t.equal(problemsOf('"a".sartsWith("b")')[0]?.hint, 'did you mean startsWith()?');
  t.match(problemsOf('request == 1')[0]?.hint, /it has request\.method, request\.path/);
  t.match(problemsOf('secrets["k"] == ""', { phase: 'path' })[0]?.hint, /not available in this kind/);
  t.match(problemsOf('request.path + 1 == ""')[0]?.hint, /string\(…\)/);
  t.match(problemsOf('1.5 == 1')[0]?.hint, /1\.0/);
  t.equal(problemsOf('request.path', { result: 'integer' })[0]?.hint, undefined);
  t.match(problemsOf('response.size', { phase: 'counter_headers', result: 'string' })[0]?.hint, /string\(…\)/);
});

t.test('results by place', async (t) => {
  const phase = 'body' as const;
  const accepted = [
    ['bool', 'request.path == ""'], ['bool', 'request.body.flag'], ['string', '"a"'], ['string', 'request.body.name'], ['integer', '1'], ['integer', '1u'],
    ['integer', 'size(request.path)'], ['integer', 'request.body.n'], ['string_map', '{"a": 1}'], ['string_map', '{}'], ['string_map', 'request.body'],
    ['string_map', 'request.headers'], ['string_map', '{"a": [1.5, null, {"b": true}]}'], ['string_map', '{request.body.k: 1}'],
  ] as const;
  for (const [result, source] of accepted) t.same(problemsOf(source, { phase, result }), [], `${result} ${source}`);
  const refused = [
    ['bool', '1'], ['string', '1'], ['string', 'null'], ['integer', '1.0'], ['integer', '"1"'], ['integer', 'true'], ['string_map', '[1]'], ['string_map', '{1: 2}'],
    ['string_map', '{"a": timestamp(0)}'], ['string_map', '{"a": [b"x"]}'], ['string_map', '{"a": int}'],
  ] as const;
  for (const [result, source] of refused) t.match(problemsOf(source, { phase, result }), [{ slug: 'cel_result_type' }], `${result} ${source}`);
});

t.test('numbers of different types may be ordered, and dyn joins everything', async (t) => {
  for (const source of ['1 < 2.5', '1u >= 1', '[1, "a", null].size() == 3', '[1, "a"][0] == 1', 'true ? dyn(1) == 1 : false', '{"a": 1, "b": "c"}.b == "c"', '([] + [1])[0] == 1']) {
    t.same(problemsOf(source), [], source);
  }
  t.equal(problemsOf('(true ? 1 : "a") == 1').length, 1);
});

t.test('programs are frozen', async (t) => {
  t.ok(Object.isFrozen(programOf('true')));
});
