import type { Area } from '../support/area.ts';

const stream = `source: response, requires_body: true, framing: sse, format: application/json, encoding: identity, value: event.n, accumulator: sum, status_codes: ["200"], terminal_event_type: done, workspace: {max: 5}`;
const bytes = '{name: down, source: response.bytes, status_codes: ["200"], workspace: {max: 5}}';
const headers = '{name: size, source: response, value: response.size, accumulator: sum, status_codes: ["200"], workspace: {max: 5}}';
const identity = `{header: {name: Accept-Encoding, action: set, value: '"identity"'}}`;

function doc(counters: string, transforms = ''): string {
  return `- name: demo\n  type: http\n  allow: [{name: one, domains: [a.example.com], methods: [GET]}, {name: two, domains: [b.example.com], methods: [GET]}]\n  transforms: [${transforms}]\n  budgets: {counters: [${counters}]}\n`;
}

const rejects = (transform: string, counter = bytes) => doc(`‹accept_encoding_identity_required›${counter}`, transform);

export const acceptEncoding: Area = {
  section: '2.7 Accept-Encoding rule',
  sentences: [
    {
      quote: 'a capability that declares a body-reading response counter (`response.bytes`, or `response` with `requires_body: true`)',
      accepted: { 'response.bytes': doc(bytes, identity), 'response with a body': doc(`{name: n, ${stream}}`, identity), 'no such counter': doc(headers), 'no counter': doc('') },
      rejected: { 'response.bytes': rejects(''), 'response with a body': rejects('', `{name: n, ${stream}}`), 'one of two counters': doc(`${headers}, ‹accept_encoding_identity_required›${bytes}`) },
    },
    {
      quote: 'must also declare a header transform that sets `Accept-Encoding` to the literal `identity`',
      accepted: {
        'exactly that': doc(bytes, identity),
        'whatever the case of the name': doc(bytes, identity.replace('Accept-Encoding', 'accept-ENCODING')),
        'in other quotes': doc(bytes, identity.replace(`'"identity"'`, `"'identity'"`)),
        'after other transforms': doc(bytes, `{query: {action: remove, key: a}}, ${identity}`),
      },
      rejected: {
        'add': rejects(identity.replace('set', 'add')),
        'remove': rejects('{header: {name: Accept-Encoding, action: remove}}'),
        'another encoding': rejects(identity.replace('"identity"', '"gzip"')),
        'another case': rejects(identity.replace('"identity"', '"Identity"')),
        'identity among others': rejects(identity.replace('"identity"', '"identity, gzip"')),
        'put together, so no literal': rejects(identity.replace('"identity"', '"iden" + "tity"')),
        'another header': rejects(identity.replace('Accept-Encoding', 'Accept')),
        'a query parameter': rejects(`{query: {action: set, key: Accept-Encoding, value: '"identity"'}}`),
        'one that is broken is reported as what it is': doc(bytes, '{header: {name: Accept-Encoding, action: set, value: ‹undeclared_reference|undeclared reference: identity›identity}}'),
      },
    },
    {
      quote: 'the same capability',
      accepted: { 'each has its own': doc(bytes, identity) + doc(bytes, identity).replace('demo', 'other') },
      rejected: { 'only the other has one': doc('', identity) + rejects('').replace('demo', 'other') },
    },
    {
      quote: 'for every rule, and not undone later (warning)',
      accepted: {
        'for all rules by name': doc(bytes, identity),
        'for one rule only': doc(bytes, `‹!accept_encoding_partial›${identity.replace('{header', '{applies_to: [one], header')}`),
        'for each rule by one of two': doc(bytes, `${identity.replace('{header', '{applies_to: [one], header')}, ${identity.replace('{header', '{applies_to: [two], header')}`),
        'undone': doc(bytes, `${identity}, ‹!accept_encoding_partial›{header: {name: accept-encoding, action: set, value: '"gzip"'}}`),
      },
      oneSided: 'a warning of ours, which rejects nothing',
    },
  ],
};
