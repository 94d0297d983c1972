import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { parseJson } from '../../src/kernel/json.ts';

t.test('a key with an escape keeps its name, whatever was parsed before', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    t.same(Object.keys(parseJson('{"\\r":1,"\\"":2,"toString":1,"x":2}') as object), ['\r', '"', 'toString', 'x']);
    t.same(Object.keys(parseJson('{"\\r":1,"\\\\":2,"toString":1,"x":2}') as object), ['\r', '\\', 'toString', 'x']);
  }
});

t.test('answers what JSON.stringify was given, for any value and any order of parsing', async (t) => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\\', '"', '\n', '\r', '\t', '', 'a\\', '":', '\\":', '__proto__', '\u0000'));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(tie('value'), { maxLength: 3 }), fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))),
  }));
  fc.assert(fc.property(value, fc.constantFrom(undefined, 2), (given, indent) => {
    if (!isDeepStrictEqual(parseJson(JSON.stringify(given, null, indent)), given)) throw new Error('differs');
  }), { numRuns: 20_000 });
  t.pass('20,000 values');
});

t.test('what is no JSON is refused as by JSON.parse', async (t) => {
  for (const text of ['', '{', '{"a\\":1}', '{"\\x":1}', '{"a":"\\"}', '"\\u12"', '{"\n\\n":1}', '[1,]']) t.throws(() => parseJson(text), SyntaxError, text);
});

t.test('a key that looks like what the parser puts in is left alone, and nesting is bounded', async (t) => {
  const given = { '\u{F8FF}key:0': 1, '\n': 2, '\u{F8FF}\u{F8FF}key:0': 3 };
  t.same(parseJson(JSON.stringify(given)), given);
  t.throws(() => parseJson(`${'['.repeat(5_000)}{"\\n":1}${']'.repeat(5_000)}`), SyntaxError);
});
