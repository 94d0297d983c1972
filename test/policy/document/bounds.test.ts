import t from 'tap';
import { documentFromValue } from '../../../src/policy/document/from-value.ts';
import { documentLimits } from '../../../src/policy/document/limits.ts';
import { createReporter } from '../../../src/policy/reporter.ts';
import { readText } from './read-text.ts';

const { textBytesMax, depthMax, nodesMax, aliasesMax, syntaxProblemsMax } = documentLimits;
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** The last document within each bound is read without a problem, the first beyond it is refused at the right place. */
const bounds: readonly (readonly [name: string, within: string, beyond: string, problem: string])[] = [
  ['size', `- ${'a'.repeat(textBytesMax - 2)}`, `- ${'a'.repeat(textBytesMax - 1)}`, 'document_too_large@1:1'],
  ['size in bytes, not characters', `- ${'é'.repeat(textBytesMax / 2 - 1)}`, `- ${'é'.repeat(textBytesMax / 2)}`, 'document_too_large@1:1'],
  ['flow nesting', nested(depthMax + 1), nested(depthMax + 2), `document_too_deep@1:${depthMax + 2}`],
  ['block nesting', `${'- '.repeat(depthMax)}x`, `${'- '.repeat(depthMax + 1)}x`, `document_too_deep@1:${2 * depthMax + 3}`],
  ['nesting through maps', `- ${'{a: '.repeat(depthMax - 1)}1${'}'.repeat(depthMax - 1)}`, `- ${'{a: '.repeat(depthMax)}1${'}'.repeat(depthMax)}`, `document_too_deep@1:${4 * depthMax}`],
  ['values of a list', `[${'1,'.repeat(nodesMax - 1)}]`, `[${'1,'.repeat(nodesMax)}]`, `document_too_many_nodes@1:${2 * nodesMax}`],
  ['values of block lists', '- a\n'.repeat(nodesMax - 1), '- a\n'.repeat(nodesMax), `document_too_many_nodes@${nodesMax}:3`],
  ['values through aliases', `- &a [${'1,'.repeat(9_000)}]\n- *a\n`, `- &a [${'1,'.repeat(9_000)}]\n- *a\n- *a\n`, 'document_too_many_nodes@1:3999'],
  ['aliases', `- &a x\n${'- *a\n'.repeat(aliasesMax)}`, `- &a x\n${'- *a\n'.repeat(aliasesMax + 1)}`, `alias_not_allowed@${aliasesMax + 2}:3`],
];
for (const [name, within, beyond, problem] of bounds) {
  t.test(name, async (t) => {
    t.strictSame(readText(within).problems, []);
    const { node, problems } = readText(beyond);
    t.strictSame(problems, [problem]);
    t.equal(node, undefined, 'half a document is not checked');
  });
}

t.test('deep nesting is refused by count, not by the depth of the stack', async (t) => {
  for (const opening of ['[', '{', '[{', '- ', '? ', 'a: ', '{a: ', '[a: ']) {
    t.match(readText(opening.repeat(20_000)).problems.join(), /^document_too_deep@1:\d+$|^yaml_syntax@1:\d+$/, opening);
  }
});

t.test('aliases of aliases stop at the bound', async (t) => {
  const lines = Array.from({ length: 26 }, (_, level) => `- &a${level} [${level === 0 ? 'x, x' : Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]\n`);
  t.match(readText(lines.join('')).problems, [/^alias_not_allowed@/]);
});

t.test('syntax errors are listed up to a number', async (t) => {
  for (const text of [']'.repeat(100_000), `- "${'\\q'.repeat(60_000)}"`, `- ${'&a '.repeat(60_000)}`, `[${'] ['.repeat(30_000)}]`, ' a: 1\nb: 2\n'.repeat(15_000)]) {
    const { problems } = readText(text);
    t.ok(problems.length > 0 && problems.length <= syntaxProblemsMax, `${text.slice(0, 12)}: ${problems.length}`);
  }
  t.equal(Error.stackTraceLimit > 0, true, 'stack traces are as they were');
});

t.test('parsed JSON has the same bounds', async (t) => {
  const slugs = (value: unknown): readonly string[] => {
    const reporter = createReporter();
    const node = documentFromValue(value, reporter);
    t.equal(node === undefined, reporter.problems.length > 0);
    return reporter.problems.map(({ slug }) => slug);
  };
  const deep = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 'x');
  t.strictSame(slugs(deep(depthMax)), []);
  t.strictSame(slugs(deep(depthMax + 1)), ['document_too_deep']);
  t.strictSame(slugs(Array.from({ length: nodesMax - 1 }, () => 1)), []);
  t.strictSame(slugs(Array.from({ length: nodesMax }, () => 1)), ['document_too_many_nodes']);
  t.strictSame(slugs(['a'.repeat(textBytesMax)]), []);
  t.strictSame(slugs(['é'.repeat(textBytesMax / 2 + 1)]), ['document_too_large']);
  t.strictSame(slugs([{ ['k'.repeat(textBytesMax + 1)]: 1 }]), ['document_too_large']);
});
