import fc from 'fast-check';
import t from 'tap';
import { plainValue } from '../../../src/policy/document/build.ts';
import { documentFromValue } from '../../../src/policy/document/from-value.ts';
import { createReporter } from '../../../src/policy/reporter.ts';
import { nodeAt, readText } from './read-text.ts';

function read(value: unknown) {
  const reporter = createReporter();
  return { node: documentFromValue(value, reporter), problems: reporter.problems.map(({ slug, path, line, column }) => `${slug} ${path}${line === undefined && column === undefined ? '' : ' with a place'}`) };
}

t.test('values, paths, no positions', async (t) => {
  const { node, problems } = read([{ a: [1, 1.5, 'x', true, null], 'b c': {}, big: 12345678901234567890n, far: 2 ** 53 }]);
  t.strictSame(problems, []);
  t.match(nodeAt(node, 0, 'a', 0), { path: 'capabilities[0].a[0]', position: undefined, integer: 1n });
  t.match(nodeAt(node, 0, 'a', 1), { value: 1.5, integer: undefined });
  t.match(nodeAt(node, 0, 'b c'), { path: 'capabilities[0]["b c"]', kind: 'map' });
  t.match(nodeAt(node, 0, 'big'), { integer: 12345678901234567890n });
  t.match(nodeAt(node, 0, 'far'), { integer: undefined }, 'a number that may have lost digits is no exact integer');
});

t.test('what JSON cannot hold is a problem, each one, and no tree is given', async (t) => {
  const cyclic: unknown[] = [];
  cyclic.push({ inner: cyclic });
  const cases: readonly (readonly [value: unknown, problem: string])[] = [
    [undefined, 'wrong_type'], [() => 1, 'wrong_type'], [Symbol('x'), 'wrong_type'], [Number.NaN, 'wrong_type'], [Infinity, 'wrong_type'],
    [new Map([['name', 'a']]), 'wrong_type'], [new Date(0), 'wrong_type'], [new Set(), 'wrong_type'], [/x/, 'wrong_type'], ['\ud800', 'yaml_syntax'],
  ];
  t.strictSame(read(cases.map(([value]) => value)), { node: undefined, problems: cases.map(([, problem], index) => `${problem} capabilities[${index}]`) });
  t.strictSame(read(cyclic), { node: undefined, problems: ['wrong_type capabilities[0].inner'] });
  t.strictSame(read([{ '\udc00': 1 }]), { node: undefined, problems: ['yaml_syntax capabilities[0]["\\udc00"]'] });
  t.strictSame(read(new Array(3)), { node: undefined, problems: [0, 1, 2].map((index) => `wrong_type capabilities[${index}]`) });
});

t.test('one value at two places is no cycle', async (t) => {
  const shared = { a: 1 };
  t.strictSame(read([shared, [shared]]).problems, []);
});

t.test('own __proto__ keys stay keys; inherited ones are not looked at', async (t) => {
  const value: unknown = JSON.parse('[{"__proto__": {"name": "x"}, "constructor": 1}]');
  const { node } = read(value);
  t.strictSame(JSON.stringify(plainValue(nodeAt(node))), '[{"__proto__":{"name":"x"},"constructor":1}]');
  t.strictSame(read([Object.create(null)]).problems, []);
});

t.test('anything at all: a tree or problems, never an exception', async (t) => {
  fc.assert(fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withObjectString: true, withSet: true, withSparseArray: true, withTypedArray: true, withBoxedValues: true, withUnicodeString: true }), (value) => {
    const { node, problems } = read(value);
    return (node === undefined) === problems.length > 0;
  }), { numRuns: 2_000 });
  t.pass('2,000 values');
});

t.test('JSON text and the value it means are the same document', async (t) => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
    const text = JSON.stringify(value);
    // Not YAML: control characters that JSON lets stand in a text, unescaped.
    if (/[\u007f-\u009f\ufffe\uffff]/.test(text)) return true;
    const fromText = readText(text).node;
    const fromValue = read(JSON.parse(text)).node;
    return fromText !== undefined && fromValue !== undefined && JSON.stringify(plainValue(fromText)) === JSON.stringify(plainValue(fromValue));
  }), { numRuns: 1_000 });
  t.pass('1,000 values');
});
