import t from 'tap';
import { plainValue } from '../../../src/policy/document/build.ts';
import { documentFromValue } from '../../../src/policy/document/from-value.ts';
import type { DocumentNode, ScalarNode } from '../../../src/policy/document/node.ts';
import { parseDocumentText } from '../../../src/policy/document/parse-text.ts';
import { createReporter } from '../../../src/policy/reporter.ts';

function read(text: string) {
  const reporter = createReporter();
  const node = parseDocumentText(text, reporter);
  return { node, problems: reporter.problems.map(({ slug, line, column }) => `${slug}@${line}:${column}`) };
}

function at(node: DocumentNode | undefined, ...keys: readonly (string | number)[]): DocumentNode {
  for (const key of keys) node = node?.kind === 'map' ? node.get(String(key)) : node?.kind === 'list' ? node.items[Number(key)] : undefined;
  if (node === undefined) throw new Error(`no ${keys.join('.')}`);
  return node;
}

t.test('values, paths and positions', async (t) => {
  const { node, problems } = read('- name: a\n  allow:\n    - domains: [x.example, "y.example"]\n      max: 0x10\n      big: 9223372036854775807\n      on: yes\n      none:\n');
  t.strictSame(problems, []);
  t.match(at(node, 0, 'allow', 0, 'domains', 1), { path: 'capabilities[0].allow[0].domains[1]', position: { line: 3, column: 28 }, value: 'y.example' });
  t.equal((at(node, 0, 'allow', 0, 'max') as ScalarNode).integer, 16n);
  t.equal((at(node, 0, 'allow', 0, 'big') as ScalarNode).integer, 9223372036854775807n);
  t.equal((at(node, 0, 'allow', 0, 'on') as ScalarNode).value, 'yes');
  t.match(at(node, 0, 'allow', 0, 'none'), { value: null, position: { line: 7 } });
});

t.test('JSON text, also with tabs, a BOM and CRLF', async (t) => {
  t.strictSame(plainValue(at(read('[\n\t{\n\t\t"name": "a",\n\t\t"n": 1\n\t}\n]').node)), [{ name: 'a', n: 1 }]);
  t.strictSame(plainValue(at(read('\ufeff- a: 1\r\n  b: 2\r\n').node)), [{ a: 1, b: 2 }]);
});

t.test('keys that reach prototypes elsewhere are plain keys', async (t) => {
  const { node } = read('- __proto__: 1\n  constructor: 2\n  toString: 3\n');
  const value = plainValue(at(node)) as Record<string, unknown>[];
  t.strictSame(Object.keys(value[0] ?? {}), ['__proto__', 'constructor', 'toString']);
  t.equal((at(node, 0, '__proto__') as ScalarNode).value, 1);
});

const problems: readonly (readonly [text: string, ...problems: string[]])[] = [
  ['', 'document_not_list@1:1'],
  ['# only a comment\n', 'document_not_list@1:1'],
  ['- a: 1\n  b: 2\n  a: 3\n', 'duplicate_key@3:3'],
  ['- 1: x\n', 'key_not_string@1:3'],
  ['- null: x\n', 'key_not_string@1:3'],
  ['- ? [a]\n  : x\n', 'key_not_string@1:5'],
  ['- a: !foo 1\n', 'unknown_tag@1:11'],
  ['- a: !!binary aGk=\n', 'unknown_tag@1:15'],
  ['- a: 1\n---\n- b: 1\n', 'multiple_documents@2:1'],
  ['- a: *x\n', 'alias_not_allowed@1:6'],
  ['- &x [*x]\n', 'alias_not_allowed@1:7'],
  ['- a: [1,\n', 'yaml_syntax@2:1'],
  ['- a: "x\\qy"\n', 'yaml_syntax@1:8'],
  ['- a: b: c\n', 'yaml_syntax@1:6'],
  ['- a: \u0000b\n', 'yaml_syntax@1:6'],
  ['- a: \ud800\n', 'yaml_syntax@1:6'],
  [`${'- '.repeat(70)}x\n`, 'document_too_deep@1:131'],
  [`${'['.repeat(100_000)}`, 'document_too_deep@1:774'],
  [`- [${'1,'.repeat(30_000)}]\n`, 'document_too_many_nodes@1:40000'],
  [`- &a x\n${'- *a\n'.repeat(101)}`, 'alias_not_allowed@102:3'],
  [`${' '.repeat(300_000)}- a`, 'document_too_large@1:1'],
];
for (const [text, ...expected] of problems) {
  t.test(`problem: ${JSON.stringify(text.slice(0, 30))}`, async (t) => { t.strictSame(read(text).problems.map((problem) => problem.replace(/:774$|:80\d$/, ':774')), expected); });
}

t.test('%YAML 1.1 changes nothing', async (t) => {
  t.strictSame(plainValue(at(read('%YAML 1.1\n---\n- a: yes\n  b: 010\n').node)), [{ a: 'yes', b: 10 }]);
});

t.test('a billion laughs stops at the bound', async (t) => {
  const bomb = ['- &a [x,x,x,x,x,x,x,x,x]', ...Array.from({ length: 8 }, (_, index) => `- &${String.fromCharCode(98 + index)} [${Array.from({ length: 9 }, () => `*${String.fromCharCode(97 + index)}`).join(',')}]`)].join('\n');
  t.match(read(bomb).problems, [/^alias_not_allowed@/]);
});

const located: readonly (readonly [text: string, needle: string, line: number, column: number])[] = [
  ['- expr: request.path == foo\n', 'foo', 1, 25],
  ["- expr: 'a == ''x'' && foo'\n", 'foo', 1, 24],
  ['- expr: "a == \\"x\\" && foo"\n', 'foo', 1, 24],
  ['- expr: |\n    a &&\n    foo\n', 'foo', 3, 5],
  ['- expr: >-\n    a &&\n    b &&\n      foo\n', 'foo', 4, 7],
  ['- expr: a &&\n    b && foo\n', 'foo', 2, 10],
  ['- expr: "a\\u0020&& foo"\n', 'foo', 1, 9],
];
for (const [text, needle, line, column] of located) {
  t.test(`place inside ${JSON.stringify(text)}`, async (t) => {
    const scalar = at(read(text).node, 0, 'expr') as ScalarNode;
    t.strictSame(scalar.locate(String(scalar.value).indexOf(needle)), { line, column });
  });
}

t.test('parsed JSON', async (t) => {
  const reporter = createReporter();
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const node = documentFromValue([{ a: [1, 1.5, 'x', true, null], __proto__: { hidden: 1 } }, cyclic, undefined, () => 1, Number.NaN, '\ud800', 12345678901234567890n], reporter);
  t.match(at(node, 0, 'a', 0), { path: 'capabilities[0].a[0]', position: undefined, integer: 1n });
  t.strictSame(reporter.problems.map(({ slug, path }) => `${slug} ${path}`), ['wrong_type capabilities[1][0]', 'wrong_type capabilities[2]', 'wrong_type capabilities[3]', 'wrong_type capabilities[4]', 'wrong_type capabilities[5]']);
});
