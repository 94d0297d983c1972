import type { Test } from 'tap';
import t from 'tap';
import type { Problem } from '../../../src/policy/problem.ts';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { areas } from './areas.ts';
import type { Sentence } from './support/area.ts';
import { decide } from './support/decide.ts';
import type { Expected } from './support/marks.ts';
import { readMarks } from './support/marks.ts';

const place = (slug: string, line: number | undefined, column: number | undefined) => `${line ?? '-'}:${column ?? '-'} ${slug}`;
const placesOf = (problems: readonly Problem[]) => problems.map(({ slug, line, column }) => place(slug, line, column)).sort();
const expectedPlaces = (expected: readonly Expected[]) => expected.map(({ slug, line, column }) => place(slug, line, column)).sort();

/** Warnings of these slugs are compared in all cases of a sentence, so that its unmarked cases show when there is none. */
function warningsOf(sentence: Sentence): ReadonlySet<string> {
  const texts = [...Object.values(sentence.accepted ?? {}), ...Object.values(sentence.rejected ?? {})];
  return new Set(texts.flatMap((text) => readMarks(text).expected).filter(({ warning }) => warning).map(({ slug }) => slug));
}

function checkCase(t: Test, name: string, marked: string, accepted: boolean, compared: ReadonlySet<string>): void {
  const { text, expected } = readMarks(marked);
  const report = readPolicyText(text);
  t.same(placesOf(report.problems), expectedPlaces(expected.filter(({ warning }) => !warning)), `${name}: problems`, { text: numbered(text), problems: report.problems });
  t.same(placesOf(report.warnings.filter(({ slug }) => compared.has(slug))), expectedPlaces(expected.filter(({ warning }) => warning)), `${name}: warnings`, { text: numbered(text) });
  t.equal(report.policy !== undefined, accepted, `${name}: ${accepted ? 'a policy' : 'no policy'}`);
  for (const { slug, line, message } of expected) {
    if (message === undefined) continue;
    const found = [...report.problems, ...report.warnings].filter((problem) => problem.slug === slug && problem.line === line).map((problem) => problem.message);
    const holds = found.some((text) => (slug === 'undeclared_reference' ? text === message : text.includes(message)));
    t.ok(holds, `${name}: the message holds ${message}`, { found });
  }
}

const numbered = (text: string) => text.split('\n').slice(0, 40).map((line, index) => `${index + 1}: ${line.slice(0, 200)}`);

for (const area of areas) {
  t.test(area.section, async (t) => {
    for (const sentence of area.sentences) {
      t.test(sentence.quote, async (t) => {
        const compared = warningsOf(sentence);
        for (const [name, text] of Object.entries(sentence.accepted ?? {})) checkCase(t, `accepted: ${name}`, text, true, compared);
        for (const [name, text] of Object.entries(sentence.rejected ?? {})) checkCase(t, `rejected: ${name}`, text, false, compared);
        for (const [name, { text, requests }] of Object.entries(sentence.decided ?? {})) {
          const { policy, problems } = readPolicyText(text);
          t.same(problems, [], `${name}: no problems`);
          if (policy !== undefined) t.same(Object.fromEntries(Object.keys(requests).map((request) => [request, decide(policy, request)])), requests, name);
        }
      });
    }
  });
}
