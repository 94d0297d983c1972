import t from 'tap';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { checkMarked } from './support/marked.ts';

const allow = '{name: one, domains: [one.example.com], methods: [GET]}, {name: two, domains: [two.example.com], methods: [GET]}, {domains: [three.example.com], methods: [GET]}';
const bytes = '{name: down, source: response.bytes, status_codes: [2xx], workspace: {max: 5}}';
const identity = `{header: {name: Accept-Encoding, action: set, value: '"identity"'}}`;
const to = (rule: string, transform: string) => transform.replace('{header', `{applies_to: [${rule}], header`);
const gzip = identity.replace('identity', 'gzip');

function doc({ transforms = [], counters = [bytes], rules = allow }: { readonly transforms?: readonly string[]; readonly counters?: readonly string[]; readonly rules?: string }): string {
  return `- name: demo\n  type: http\n  allow: [${rules}]\n  transforms:\n${transforms.map((text) => `    - ${text}\n`).join('')}  budgets:\n    counters:\n${counters.map((text) => `      - ${text}\n`).join('')}`.replace('transforms:\n  b', 'transforms: []\n  b');
}
const missing = `‹accept_encoding_identity_required›${bytes}`;

t.test('counters that read bodies', async (t) => {
  const single = '{name: a, source: response, requires_body: true, framing: single_document, format: application/json, encoding: identity, value: response.body.n, accumulator: sum, status_codes: [2xx]}';
  const stream = single.replace('single_document', 'sse').replace('response.body.n', 'event.n').replace('{', '{terminal_event_type: done, ');
  const head = '{name: h, source: response, value: response.size, accumulator: sum, status_codes: [2xx]}';
  const count = '{name: c, source: request.count}';
  for (const counter of [bytes, single, stream]) checkMarked(t, counter.slice(0, 40), doc({ counters: [`‹accept_encoding_identity_required|value: '"identity"'›${counter}`] }));
  checkMarked(t, 'none', doc({ counters: [count, head, count.replace('c,', 'd,').replace('count', 'bytes')] }));
  checkMarked(t, 'the first of them', doc({ counters: [count, head, `‹accept_encoding_identity_required›${single}`, bytes] }));
  checkMarked(t, 'also one with another problem', doc({ counters: [`‹accept_encoding_identity_required›‹field_required_for_source›${bytes.replace('status_codes: [2xx], ', '')}`] }));
  checkMarked(t, 'not one of which it is not known', doc({ counters: [single.replace('requires_body: ', 'requires_body: ‹wrong_type›').replace('true', '"true"'), bytes.replace('response.bytes', '‹invalid_enum›response.byte')] }));
});

t.test('the transform', async (t) => {
  checkMarked(t, 'set to identity', doc({ transforms: [identity] }));
  checkMarked(t, 'in any case', doc({ transforms: [identity.replace('Accept-Encoding', 'aCCept-encodinG')] }));
  for (const other of [gzip, identity.replace('set', 'add'), `{header: {name: Accept-Encoding, action: remove}}`, identity.replace('"identity"', '"Identity"'), identity.replace('"identity"', '"identity "'), identity.replace(`'"identity"'`, 'request.method'), identity.replace(`'"identity"'`, `'secrets["identity"]'`)]) {
    checkMarked(t, other, doc({ transforms: [other], counters: [`‹accept_encoding_identity_required|must have action: set›${bytes}`] }));
  }
  checkMarked(t, 'another header', doc({ transforms: [identity.replace('Accept-Encoding', 'Accept')], counters: [missing] }));
  checkMarked(t, 'the name elsewhere', doc({ transforms: [`{query: {action: set, key: Accept-Encoding, value: '"identity"'}}`, `{header: {name: Vary, action: set, value: '"Accept-Encoding"'}}`], counters: [missing] }));
});

t.test('a broken transform is reported as what it is', async (t) => {
  const broken: readonly string[] = [
    identity.replace(`'"identity"'`, '‹undeclared_reference|quotes of its own›identity'),
    identity.replace('set', '‹invalid_enum›sett'),
    identity.replace('Accept-Encoding', '‹header_name_invalid›"Accept-Encoding:"'),
    identity.replace('{header', '{‹transform_direction_response›direction: response, header').replace('‹transform_direction_response›direction: ', 'direction: ‹transform_direction_response›'),
    `‹transform_no_variant›${identity.replace('header', '‹unknown_field›headers')}`,
    `{header: ‹missing_field›${identity.slice(9).replace('name', '‹unknown_field›nam')}`,
    '{header: ‹value_required›{name: Accept-Encoding, action: set}}',
    '{header: ‹wrong_type›"Accept-Encoding: identity"}',
    '{header: ‹wrong_type›5}',
    '‹wrong_type›"Accept-Encoding"',
    '‹wrong_type›null',
    '‹transform_no_variant›{}',
    '{header: ‹missing_field›{action: remove}}',
  ];
  for (const transform of broken) checkMarked(t, transform, doc({ transforms: [transform] }));
  checkMarked(t, 'transforms that are no list', doc({}).replace('transforms: []', 'transforms: ‹wrong_type›{}'));
  checkMarked(t, 'transforms under another name', doc({ transforms: [identity] }).replace('transforms:', '‹unknown_field›transfoms:'));
  checkMarked(t, 'a mistake in another transform changes nothing', doc({ transforms: ['{header: {name: x-a, action: ‹invalid_enum›x}}', 'auth: {credential: a, provider: ‹unknown_provider›b}'], counters: [missing] }));
  checkMarked(t, 'nor does one elsewhere', doc({ counters: [missing] }).replace('name: demo', 'name: ‹reserved_identifier›_a').replace('[GET]', '[‹invalid_enum›GOT]').replace('  transforms: []\n', ''));
});

t.test('rules that it does not cover, and later changes', async (t) => {
  const partial = '‹!accept_encoding_partial|does not cover every rule›';
  const changed = '‹!accept_encoding_partial|after it was set›';
  checkMarked(t, 'one rule of three', doc({ transforms: [`${partial}${to('one', identity)}`] }));
  checkMarked(t, 'all named ones, but not the anonymous one', doc({ transforms: [`${partial}${to('one, two', identity)}`] }));
  checkMarked(t, 'together they cover all', doc({ transforms: [to('one', identity), to('two', identity)], rules: allow.replace(/, \{domains.*$/, '') }));
  checkMarked(t, 'another one for the rest', doc({ transforms: [to('one', identity), identity] }));
  checkMarked(t, 'changed later', doc({ transforms: [identity, `${changed}${gzip}`] }));
  checkMarked(t, 'changed later for one rule', doc({ transforms: [identity, `${changed}${to('two', gzip)}`] }));
  checkMarked(t, 'changed earlier', doc({ transforms: [gzip, identity] }));
  checkMarked(t, 'changed, and set again', doc({ transforms: [identity, gzip, identity] }));
  checkMarked(t, 'removed later', doc({ transforms: [identity, `${changed}{header: {name: ACCEPT-ENCODING, action: remove}}`] }));
  checkMarked(t, 'both', doc({ transforms: [`${partial}${to('one, two', identity)}`, `${changed}${to('two', gzip)}`] }));
  t.ok(readPolicyText(doc({ transforms: [to('one', identity)] })).policy, 'warnings reject nothing');
});

t.test('each capability for itself', async (t) => {
  checkMarked(t, 'the transform of another one does not count', doc({ transforms: [identity], counters: ['{name: c, source: request.count}'] }) + doc({ counters: [missing] }).replace('demo', 'other'));
});
