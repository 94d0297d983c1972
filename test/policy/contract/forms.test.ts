import t from 'tap';
import { parse } from 'yaml';
import type { Problem } from '../../../src/policy/problem.ts';
import { readPolicyText, readPolicyValue } from '../../../src/policy/read-policy.ts';
import { areas } from './areas.ts';
import { readMarks } from './support/marks.ts';

/** What JavaScript numbers cannot say: integers beyond 2^53, and integral values that were written as fractions. */
const inexact = /[0-9]{16}|[0-9]e[0-9]/;

const named = (problems: readonly Problem[]) => problems.map(({ slug, path, expressionColumn }) => `${path} ${slug} ${expressionColumn ?? ''}`).sort();

for (const { section, sentences } of areas) {
  t.test(`${section}: as parsed JSON, and as JSON text, a document has the same problems at the same paths`, async (t) => {
    let compared = 0;
    for (const { quote, accepted = {}, rejected = {}, decided = {}, textOnly } of sentences) {
      if (textOnly === true) continue;
      const texts = { ...Object.fromEntries(Object.entries(accepted).map(([name, text]) => [`accepted ${name}`, text])), ...rejected, ...Object.fromEntries(Object.entries(decided).map(([name, { text }]) => [`decided ${name}`, text])) };
      for (const [name, marked] of Object.entries(texts)) {
        const { text } = readMarks(marked);
        if (inexact.test(text)) continue;
        const value: unknown = parse(text, { version: '1.2', schema: 'core' });
        const fromText = readPolicyText(text);
        const fromValue = readPolicyValue(value);
        const fromJson = readPolicyText(JSON.stringify(value, null, '\t'));
        const expected = { problems: named(fromText.problems), warnings: named(fromText.warnings) };
        t.same({ problems: named(fromValue.problems), warnings: named(fromValue.warnings) }, expected, `${quote}: ${name}: parsed JSON`);
        t.same({ problems: named(fromJson.problems), warnings: named(fromJson.warnings) }, expected, `${quote}: ${name}: JSON text`);
        t.notOk([...fromValue.problems, ...fromValue.warnings].some((problem) => 'line' in problem || 'column' in problem), 'parsed JSON has no lines');
        t.ok([...fromJson.problems, ...fromJson.warnings].every(({ line, column }) => line !== undefined && column !== undefined), 'JSON text has lines');
        compared += 1;
      }
    }
    t.ok(compared > 0, `${compared} documents`);
  });
}
