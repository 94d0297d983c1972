import type { Area } from '../support/area.ts';
import { transformsWith } from '../support/documents.ts';

const path = (fragment: string) => transformsWith(`path: ${fragment}`);

export const pathVariant: Area = {
  section: '2.7 Path variant',
  sentences: [
    {
      quote: 'action: `replace` (regex match and substitute) or `prefix` (prepend literal)',
      accepted: { 'replace': path(`{action: replace, pattern: "^/v1/", value: '"/v2/"'}`), 'prefix': path(`{action: prefix, value: '"/v1"'}`) },
      rejected: {
        'missing': path(`‹missing_field›{value: '"/v1"'}`),
        'an action of other variants': path(`{action: ‹invalid_enum›set, value: '"/v1"'}`),
        'a number': path(`{action: ‹wrong_type›1, value: '"/v1"'}`),
      },
    },
    {
      quote: 'pattern: RE2 regex',
      accepted: { 'a class': path(`{action: replace, pattern: "^/v[0-9]+/", value: '"/"'}`), 'a name': path(`{action: replace, pattern: "(?P<version>v1)", value: '"v2"'}`) },
      rejected: {
        'not closed': path(`{action: replace, pattern: ‹invalid_regex›"(", value: '"/"'}`),
        'look-ahead': path(`{action: replace, pattern: ‹invalid_regex›"^(?=/v1)", value: '"/"'}`),
        'a back-reference': path(`{action: replace, pattern: ‹invalid_regex›"(a)\\\\1", value: '"/"'}`),
        'too many repeats': path(`{action: replace, pattern: ‹invalid_regex›"a{5000}", value: '"/"'}`),
        'too long': path(`{action: replace, pattern: ‹invalid_regex›"${'a'.repeat(1001)}", value: '"/"'}`),
        'a number': path(`{action: replace, pattern: ‹wrong_type›1, value: '"/"'}`),
      },
    },
    {
      quote: 'pattern: required for replace',
      accepted: { 'given': path(`{action: replace, pattern: a, value: '"b"'}`) },
      rejected: { 'absent': path(`‹pattern_required›{action: replace, value: '"b"'}`) },
    },
    {
      quote: 'pattern: rejected for prefix',
      accepted: { 'absent': path(`{action: prefix, value: '"/b"'}`), 'empty, which is absent': path(`{action: prefix, pattern: "", value: '"/b"'}`) },
      rejected: { 'given': path(`{action: prefix, ‹pattern_not_allowed›pattern: a, value: '"/b"'}`) },
    },
    {
      quote: 'value: CEL producing string, required',
      accepted: { 'an expression': path(`{action: prefix, value: '"/" + workspace.org_id'}`) },
      rejected: {
        'absent, prefix': path('‹value_required›{action: prefix}'),
        'absent, replace': path('‹value_required›{action: replace, pattern: a}'),
        'an integer': path('{action: prefix, value: ‹cel_result_type›size(request.path)}'),
      },
    },
    {
      quote: 'value: substitution (no back-references) for replace; prepended text for prefix',
      oneSided: 'says what is done with the value; what looks like a back-reference is plain text',
      accepted: { 'signs of back-references': path(`{action: replace, pattern: "(a)", value: '"$1"'}`) },
    },
    {
      quote: 'The path CEL environment has no `secrets`; referencing credentials there is rejected at save',
      accepted: { 'everything else of a request': path(`{action: prefix, value: 'request.host + request.headers["x-a"]'}`) },
      rejected: {
        'prefix': path(`{action: prefix, value: '‹undeclared_reference|undeclared reference: secrets›secrets["token"]'}`),
        'replace': path(`{action: replace, pattern: a, value: '"/" + ‹undeclared_reference|undeclared reference: secrets›secrets["token"]'}`),
      },
    },
    {
      quote: 'Path variant: no other fields',
      accepted: { 'all fields': path(`{action: replace, pattern: a, value: '"b"'}`) },
      rejected: { 'key': path(`{action: prefix, value: '"b"', ‹unknown_field›key: a}`), 'replacement': path(`{action: replace, pattern: a, value: '"b"', ‹unknown_field›replacement: b}`) },
    },
  ],
};
