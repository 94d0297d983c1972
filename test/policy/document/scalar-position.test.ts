import fc from 'fast-check';
import t from 'tap';
import { Document, LineCounter, Scalar } from 'yaml';
import { readText, scalarAt } from './read-text.ts';

const located: readonly (readonly [text: string, needle: string, line: number, column: number])[] = [
  ['- expr: request.path == foo\n', 'foo', 1, 25],
  ["- expr: a == '' && foo\n", 'foo', 1, 20],
  ["- expr: a.matches('\\\\d') && foo\n", 'foo', 1, 29],
  ["- expr: 'a == ''x'' && foo'\n", 'foo', 1, 24],
  ["- expr: 'a\n    && foo'\n", 'foo', 2, 8],
  ['- expr: "a == \\"x\\" && foo"\n', 'foo', 1, 24],
  ['- expr: "a\\u0020&& foo"\n', 'foo', 1, 20],
  ['- expr: "a &&\\nfoo"\n', 'foo', 1, 16],
  ['- expr: "\\x41 && \\\n    foo"\n', 'foo', 2, 5],
  ['- expr: "😀 && \\U0001F600 + foo"\n', 'foo', 1, 29],
  ['- expr: |\n    a &&\n    foo\n', 'foo', 3, 5],
  ['- expr: |2\n    a &&\n    foo\n', 'foo', 3, 5],
  ["- expr: |- # a comment\n    a == '' &&\n\n      b &&\n    foo\n", 'foo', 5, 5],
  ['- expr: >-\n    a &&\n    b &&\n      foo\n', 'foo', 4, 7],
  ['- expr: >-\n    a &&\n\n    b && foo\n', 'foo', 4, 10],
  ['- expr: |\r\n    a &&\r\n    foo\r\n', 'foo', 3, 5],
  ['- expr: !!str &x |\n    a &&\n    foo\n', 'foo', 3, 5],
  ['- expr: a &&\n    b && foo\n', 'foo', 2, 10],
  ['- {expr: a && foo}\n', 'foo', 1, 15],
  ['[{"expr":"request.method == \\"GET\\" && foo"}]', 'foo', 1, 40],
];
for (const [text, needle, line, column] of located) {
  t.test(`place inside ${JSON.stringify(text)}`, async (t) => {
    const scalar = scalarAt(readText(text).node, 0, 'expr');
    t.strictSame(scalar.locate(String(scalar.value).indexOf(needle)), { line, column });
  });
}

t.test('the ends of a value', async (t) => {
  const scalar = scalarAt(readText('- expr: "ab"\n').node, 0, 'expr');
  t.strictSame(scalar.locate(0), { line: 1, column: 10 });
  t.strictSame(scalar.locate(2), { line: 1, column: 12 });
  t.strictSame(scalar.locate(99), { line: 1, column: 12 });
});

t.test('a long run of blanks is walked once', async (t) => {
  const scalar = scalarAt(readText(`- expr: "a${' '.repeat(200_000)}b"\n`).node, 0, 'expr');
  t.strictSame(scalar.locate(200_001), { line: 1, column: 200_011 });
  t.strictSame(scalar.locate(100), { line: 1, column: 11 }, 'inside of it: where it begins');
});

const styles = [Scalar.PLAIN, Scalar.QUOTE_SINGLE, Scalar.QUOTE_DOUBLE, Scalar.BLOCK_LITERAL, Scalar.BLOCK_FOLDED] as const;
const word = fc.constantFrom('a', 'request.path', '&&', '==', "'x'", "''", '"y"', '\\\\d', '(', ')', '[1]', 'é', '😀', 'size', '>', '|', '- b', 'c:d');
const gap = fc.constantFrom(' ', '  ', '\n', '\n\n', '\n  ', '\t', ' \n');

t.test('any text in any style: each character that is no white space stands where it is located', async (t) => {
  let exact = 0;
  fc.assert(fc.property(fc.array(fc.tuple(word, gap), { minLength: 1, maxLength: 12 }), fc.constantFrom(...styles), fc.integer({ min: 20, max: 60 }), (parts, style, lineWidth) => {
    const scalar = new Scalar(parts.map(([text, space]) => text + space).join(''));
    scalar.type = style;
    const text = new Document([{ expr: scalar }]).toString({ lineWidth });
    const lines = new LineCounter();
    [...text].forEach((_, index) => { if (index === 0 || text[index - 1] === '\n') lines.addNewLine(index); });
    const node = scalarAt(readText(text).node, 0, 'expr');
    const value = String(node.value);
    for (let offset = 0; offset < value.length; offset += 1) {
      const character = value[offset] ?? '';
      if (/[\s"'\\]/.test(character)) continue;
      const place = node.locate(offset);
      const found = place === undefined ? undefined : text[(text.split('\n').slice(0, place.line - 1).join('\n').length + (place.line > 1 ? 1 : 0)) + place.column - 1];
      if (found !== character) throw new Error(`offset ${offset} (${character}) is located at ${JSON.stringify(place)} (${found}) of ${JSON.stringify(text)}`);
      exact += 1;
    }
  }), { numRuns: 1_500 });
  t.ok(exact > 10_000, `${exact} characters`);
});
