import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { parse } from 'yaml';
import { canonical } from '../../../src/cli/caps/fmt/canonical.ts';
import { editorSchema } from '../../../src/policy/editor-schema/document.ts';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { areas } from '../../policy/contract/areas.ts';
import { readMarks } from '../../policy/contract/support/marks.ts';

const accepts = new Ajv2020({ allErrors: true, strictSchema: true, strictTypes: false, strictRequired: false }).compile(editorSchema);
const sentences = areas.flatMap(({ section, sentences }) => sentences.map((sentence) => ({ section, ...sentence })));
const cases = (kind: 'accepted' | 'rejected'): { name: string; text: string }[] =>
  sentences.flatMap((sentence) => Object.entries(sentence[kind] ?? {}).map(([name, text]) => ({ name: `${sentence.section}, ${sentence.quote}: ${name}`, text: readMarks(text).text })));

const said = (text: string): string[] => {
  const { problems, warnings } = readPolicyText(text);
  return [...problems, ...warnings].map(({ slug, message }) => `${slug} ${message.replace(/ in line \d+$/, '')}`).sort();
};

t.test('what the contract accepts: formatted, it is said to be the same', async (t) => {
  const accepted = cases('accepted');
  t.ok(accepted.length > 150, `${accepted.length} cases`);
  for (const { name, text } of accepted) {
    const result = canonical(text);
    if (!('text' in result)) t.fail(name, { result, text });
    else t.same([said(result.text), canonical(result.text)], [said(text), { text: result.text }], name);
  }
});

t.test('what the contract rejects is formatted all the same where it can be read, and stays wrong', async (t) => {
  let formatted = 0;
  for (const { name, text } of cases('rejected')) {
    const result = canonical(text);
    if ('refused' in result) t.fail(name, { result, text });
    if (!('text' in result)) continue;
    formatted += 1;
    t.same(said(result.text), said(text), name);
  }
  t.ok(formatted > 150, `${formatted} formatted`);
});

t.test('what the contract accepts, the schema for editors accepts', async (t) => {
  for (const { name, text } of cases('accepted')) t.ok(accepts(parse(text, { version: '1.2', schema: 'core' })), name, { errors: accepts.errors, text });
});
