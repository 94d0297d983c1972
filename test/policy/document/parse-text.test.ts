import t from 'tap';
import { plainValue } from '../../../src/policy/document/build.ts';
import { nodeAt, readText, scalarAt } from './read-text.ts';

t.test('values, paths and positions', async (t) => {
  const { node, problems } = readText('- name: a\n  allow:\n    - domains: [x.example, "y.example"]\n      max: 0x10\n      big: 9223372036854775807\n      on: yes\n      none:\n      next: &a\n      f: 1.0\n');
  t.strictSame(problems, []);
  t.match(nodeAt(node, 0, 'allow', 0, 'domains', 1), { path: 'capabilities[0].allow[0].domains[1]', position: { line: 3, column: 28 }, value: 'y.example' });
  t.equal(scalarAt(node, 0, 'allow', 0, 'max').integer, 16n);
  t.equal(scalarAt(node, 0, 'allow', 0, 'big').integer, 9223372036854775807n);
  t.equal(scalarAt(node, 0, 'allow', 0, 'on').value, 'yes');
  t.match(nodeAt(node, 0, 'allow', 0, 'none'), { value: null, position: { line: 7, column: 7 } }, 'a value left out stands at its key');
  t.match(nodeAt(node, 0, 'allow', 0, 'next'), { value: null, position: { line: 8, column: 7 } });
  t.match(scalarAt(node, 0, 'allow', 0, 'f'), { value: 1, integer: undefined }, 'a float is no integer');
});

t.test('integers of the core schema, exactly', async (t) => {
  for (const [text, value] of [['0', 0n], ['-5', -5n], ['+7', 7n], ['010', 10n], ['0o17', 15n], ['0xfF', 255n], ['-9223372036854775808', -(2n ** 63n)], ['18446744073709551616', 2n ** 64n]] as const) {
    t.equal(scalarAt(readText(`- ${text}\n`).node, 0).integer, value, text);
  }
  for (const text of ['1.0', '1e3', '"5"', '0b1', '1_000', '.inf', '1:30']) t.equal(scalarAt(readText(`- ${text}\n`).node, 0).integer, undefined, text);
  t.ok((scalarAt(readText(`- ${'9'.repeat(200_000)}\n`).node, 0).integer ?? 0n) > 2n ** 64n, 'one of 200,000 digits stays beyond 64 bits');
});

t.test('JSON text, also with tabs, a BOM and CRLF', async (t) => {
  t.strictSame(plainValue(nodeAt(readText('[\n\t{\n\t\t"name":"a\\/\\u00e9\\ud83d\\ude00",\n\t\t"n" : 1\n\t}\n]').node)), [{ name: 'a/é😀', n: 1 }]);
  const { node } = readText('\ufeff- a: 1\r\n  b: 2\r\n');
  t.strictSame(plainValue(nodeAt(node)), [{ a: 1, b: 2 }]);
  t.match(nodeAt(node, 0, 'b'), { position: { line: 2, column: 6 } });
});

t.test('keys that reach prototypes elsewhere are plain keys', async (t) => {
  const { node } = readText('- __proto__: 1\n  constructor: 2\n  toString: 3\n');
  const value = plainValue(nodeAt(node)) as Record<string, unknown>[];
  t.strictSame(Object.keys(value[0] ?? {}), ['__proto__', 'constructor', 'toString']);
  t.equal(scalarAt(node, 0, '__proto__').value, 1);
  const empty = nodeAt(readText('- {}\n').node, 0);
  t.equal(empty.kind === 'map' ? empty.get('constructor') : 'no map', undefined);
});

t.test('YAML 1.2 core whatever a directive says', async (t) => {
  t.strictSame(plainValue(nodeAt(readText('%YAML 1.1\n---\n- a: yes\n  b: 010\n  c: 1:30\n  <<: {d: 1}\n').node)), [{ a: 'yes', b: 10, c: '1:30', '<<': { d: 1 } }]);
});

const problems: readonly (readonly [text: string, ...problems: string[]])[] = [
  ['', 'document_not_list@1:1'],
  ['# only a comment\n', 'document_not_list@1:1'],
  ['- a: 1\n  b: 2\n  a: 3\n  a: 4\n', 'duplicate_key@3:3', 'duplicate_key@4:3'],
  ['- 1: x\n', 'key_not_string@1:3'],
  ['- null: x\n', 'key_not_string@1:3'],
  ['- : x\n', 'key_not_string@1:3'],
  ['- ? [a]\n  : x\n', 'key_not_string@1:5'],
  ['- "\\ud800": x\n', 'key_not_string@1:3'],
  ['- a: !foo 1\n', 'unknown_tag@1:6'],
  ['- a: !foo\n    - &x 1\n  b: !!binary aGk=\n', 'unknown_tag@1:6', 'unknown_tag@3:6'],
  ['- !foo a: 1\n', 'unknown_tag@1:3'],
  ['- a: !!int abc\n', 'unknown_tag@1:6'],
  ['- a: !!map [1]\n', 'unknown_tag@1:6'],
  ['- a: 1\n---\n- b: 1\n', 'multiple_documents@2:1'],
  ['- a: *x\n', 'alias_not_allowed@1:6'],
  ['- &x [*x]\n', 'alias_not_allowed@1:7'],
  ['- &x {a: [*x]}\n', 'alias_not_allowed@1:11'],
  ['- a: [1,\n', 'yaml_syntax@2:1'],
  ['- a: "x\\qy"\n', 'yaml_syntax@1:8'],
  ['- a: b: c\n', 'yaml_syntax@1:6'],
  ['- a: \u0000b\n', 'yaml_syntax@1:6'],
  ['- a\n- b: \u009f\n', 'yaml_syntax@2:6'],
  ['- a: \ud800\n', 'yaml_syntax@1:6'],
  ['- a: "\\ud800"\n', 'yaml_syntax@1:6'],
  ['- a: 1 # x\r  b: 2\n', 'yaml_syntax@1:11'],
  ['- a: *\n', 'yaml_syntax@1:6'],
  ['%YAML x\n---\n- a: 1\n  a: 2\n', 'yaml_syntax@1:7', 'duplicate_key@4:3'],
];
for (const [text, ...expected] of problems) {
  t.test(`problem: ${JSON.stringify(text)}`, async (t) => { t.strictSame(readText(text).problems, expected); });
}

t.test('each syntax error is said in a short line', async (t) => {
  const texts = ['- a: [1,\n', '- a: "x\\qy"\n', '- a: b: c\n', '- a: `x\n', '- a: "x\n', "- a: 'it's'\n", '- a\n  b: 2\n', '- a: 1\n b: 2\n', '- a: - b\n', '- a: "x"#y\n', ']\n', '- a: >x\n  y\n', '%YAML 1.2\n', '-\ta: 1\n\tb: 2\n', '- a: &x &y z\n', '- a: !a !b z\n', '- a: &x *y\n', '- [1,,2]\n', '- {a: 1}}\n', `- ${'k'.repeat(2_000)}: 1\n`];
  for (const text of texts) {
    const { reported } = readText(text);
    t.ok(reported.some(({ slug }) => slug === 'yaml_syntax'), text.slice(0, 40));
    for (const { message } of reported) t.match(message, /^[^\n]{8,160}$/, `${text.slice(0, 40)}: ${message}`);
  }
});

t.test('an error that leaves the rest as it was meant does not hide other problems', async (t) => {
  for (const text of ['- a: "\\d"\n  b: 1\n', '- a: @x\n  b: 1\n', '- a: [*]\n  b: 1\n', '- a: x\n  b: 1\t# c\n', '- a: "x"#y\n  b: 1\n', '- a: *.example.com\n  b: 1\n', '- a: !foo 5\n  b: 1\n']) t.equal(scalarAt(readText(text).node, 0, 'b').value, 1, text);
  t.equal(readText('- a: b: c\n  b: 1\n').node, undefined, 'but what is misread is not checked on');
});

t.test('a star without quotes is read as the text that was meant, beside the problem', async (t) => {
  const { node, reported } = readText('- domains: [*.example.com]\n');
  t.match(reported, [{ slug: 'alias_not_allowed', hint: 'for a text that begins with *, write "*.example.com"' }]);
  t.equal(scalarAt(node, 0, 'domains', 0).value, '*.example.com');
});

t.test('aliases mean the anchor before them', async (t) => {
  t.strictSame(plainValue(nodeAt(readText('- &a [&b x]\n- &b y\n- *a\n- *b\n').node)), [['x'], 'y', ['x'], 'y'], 'also after one that holds an older anchor of the name');
  t.strictSame(plainValue(nodeAt(readText('- &b x\n- &a [*b]\n- &b y\n- *a\n').node)), ['x', ['x'], 'y', ['x']], 'also inside of another alias');
  t.strictSame(plainValue(nodeAt(readText('- &k name: *k\n').node)), [{ name: 'name' }]);
  const { node } = readText('- &a {b: 1}\n- *a\n');
  t.match(nodeAt(node, 1, 'b'), { path: 'capabilities[1].b', position: { line: 1, column: 10 } }, 'the path is that of the alias, the place that of the text');
});
