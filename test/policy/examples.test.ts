import { readFileSync, readdirSync } from 'node:fs';
import t from 'tap';
import { readCases } from '../../src/cli/caps/cases/read-cases.ts';
import { runCase } from '../../src/cli/caps/cases/run-case.ts';
import { readPolicyText } from '../../src/policy/read-policy.ts';

const folder = new URL('../../examples/caps/', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8');
const files = readdirSync(folder).sort();
const examples = files.filter((file) => file.endsWith('.yaml') && !file.endsWith('.cases.yaml'));

t.test('at least seven policies, each with cases and listed in the README', async (t) => {
  t.ok(examples.length >= 7);
  const readme = read('README.md');
  for (const file of examples) {
    t.ok(files.includes(file.replace('.yaml', '.cases.yaml')), `${file} has cases`);
    t.ok(readme.includes(`(${file})`), `${file} is in the README`);
  }
  t.equal(files.length, 2 * examples.length + 1, 'and nothing else is there');
});

for (const file of examples) {
  t.test(file, async (t) => {
    const text = read(file);
    const { policy, problems, warnings } = readPolicyText(text);
    t.same(problems, [], 'no problems');
    if (policy === undefined) return;

    // A comment right above says why a warning is left standing: within the two lines before it.
    const lines = text.split('\n');
    const commented = lines.flatMap((line, index) => { const slug = /# Warning ([a-z0-9_]+)/.exec(line)?.[1]; return slug === undefined ? [] : [{ slug, line: index + 1 }]; });
    t.equal(warnings.length, commented.length, 'as many warnings as comments on warnings', { warnings });
    for (const { slug, line } of commented) t.ok(warnings.some((warning) => warning.slug === slug && warning.line !== undefined && warning.line > line && warning.line <= line + 2), `line ${line}: ${slug}`, { warnings });

    const { cases, problems: wrong } = readCases(read(file.replace('.yaml', '.cases.yaml')));
    t.same(wrong, [], 'no problems in its cases');
    const reached = new Set<unknown>();
    for (const one of cases) {
      const { differences, because, reached: rule } = await runCase(policy, one);
      t.same(differences, [], one.name, { because });
      reached.add(rule);
    }
    t.ok(cases.some(({ expect }) => expect.decision === 'deny'), 'something is denied');
    t.same(policy.rules.filter((rule) => !reached.has(rule)).map((rule) => rule.id), [], 'every rule is reached by a case');
  });
}
