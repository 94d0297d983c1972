import t from 'tap';
import { problemSlugs } from '../../../src/policy/problem-slugs.ts';
import { areas } from './areas.ts';
import { readMarks } from './support/marks.ts';

/** Slugs without a case in the tables, and where they are tested. */
const elsewhere: Readonly<Record<string, string>> = {
  yaml_syntax: 'document tests: what is wrong decides where the parser sees it',
  document_too_large: 'hostile documents',
  document_too_deep: 'hostile documents',
  document_too_many_nodes: 'hostile documents',
  alias_not_allowed: 'hostile documents',
  too_many_problems: 'hostile documents',
  cel_too_complex: 'hostile documents',
  transform_never_applies: 'needs names that do not exist, which are a problem of their own',
  unknown_secret: 'needs known names from the caller',
  unknown_credential: 'needs known names from the caller',
};

t.test('every sentence has an accepted and a rejected case, or says why not', async (t) => {
  for (const { section, sentences } of areas) {
    for (const { quote, accepted = {}, rejected = {}, decided = {}, oneSided } of sentences) {
      const positive = Object.keys(accepted).length + Object.keys(decided).length;
      t.ok(positive > 0, `${section}: ${quote}: accepted`);
      t.ok(Object.keys(rejected).length > 0 || oneSided !== undefined, `${section}: ${quote}: rejected`);
    }
  }
});

t.test('every slug has a case, or a reason', async (t) => {
  const texts = areas.flatMap(({ sentences }) => sentences.flatMap(({ accepted = {}, rejected = {} }) => [...Object.values(accepted), ...Object.values(rejected)]));
  const covered = new Set(texts.flatMap((text) => readMarks(text).expected.map(({ slug }) => slug)));
  for (const slug of Object.keys(problemSlugs)) t.ok(covered.has(slug as keyof typeof problemSlugs) !== Object.hasOwn(elsewhere, slug), slug);
  t.same([...covered].filter((slug) => !Object.hasOwn(problemSlugs, slug)), [], 'no case expects a slug that does not exist');
});

t.test('marks stand where they should', async (t) => {
  t.same(readMarks('a: ‹x›1 ‹!y|z›2\n‹q›b').expected, [
    { slug: 'x', warning: false, line: 1, column: 4, message: undefined },
    { slug: 'y', warning: true, line: 1, column: 6, message: 'z' },
    { slug: 'q', warning: false, line: 2, column: 1, message: undefined },
  ]);
  t.equal(readMarks('a: ‹x›1 ‹!y|z›2\n‹q›b').text, 'a: 1 2\nb');
});

t.test('the enumeration of auth providers has the sizes of the contract', async (t) => {
  const { authProviders } = await import('../../../src/kernel/auth-providers.ts');
  const { providersByKind } = await import('./cases/transforms-auth.ts');
  t.same(Object.values(providersByKind).map(({ length }) => length), [2, 22, 4, 1]);
  const byKind = Object.fromEntries(Object.keys(providersByKind).map((kind) => [kind, Object.entries(authProviders).filter(([, of]) => of === kind).map(([slug]) => slug).sort()]));
  t.same(byKind, providersByKind);
});
