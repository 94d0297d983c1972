import type { Area } from '../support/area.ts';
import { transformsWith } from '../support/documents.ts';

const body = (fragment: string, rules = 'typed, untyped') => transformsWith(`applies_to: [${rules}]\nbody: ${fragment}`);

export const bodyVariant: Area = {
  section: '2.7 Body variant',
  sentences: [
    {
      quote: 'every targeted rule must declare `request_format: application/json`',
      accepted: { 'both have it': body(`{action: merge, value: '{"a": 1}'}`) },
      rejected: {
        'one has not': transformsWith(`applies_to: [untyped, plain]\nbody: ‹request_format_required|plain›{action: merge, value: '{"a": 1}'}`),
        'one of all has not': transformsWith(`body: ‹request_format_required|plain›{action: merge, value: '{"a": 1}'}`),
      },
    },
    {
      quote: 'action: `merge` (deep-merge a map into the body) or `prefix` (prepend a string to a named field)',
      accepted: { 'merge': body(`{action: merge, value: '{"a": {"b": [1, "c"]}}'}`), 'prefix': body(`{action: prefix, key: text, value: '"> "'}`) },
      rejected: {
        'missing': body(`‹missing_field›{value: '{"a": 1}'}`),
        'an action of other variants': body(`{action: ‹invalid_enum›set, key: text, value: '"> "'}`),
        'a number': body(`{action: ‹wrong_type›1, key: text, value: '"> "'}`),
      },
    },
    {
      quote: 'key: required for prefix',
      accepted: { 'given': body(`{action: prefix, key: text, value: '"> "'}`) },
      rejected: { 'absent': body(`‹key_required›{action: prefix, value: '"> "'}`), 'a number': body(`{action: prefix, key: ‹wrong_type›1, value: '"> "'}`) },
    },
    {
      quote: 'key: rejected for merge',
      accepted: { 'absent': body(`{action: merge, value: '{"a": 1}'}`) },
      rejected: { 'given': body(`{action: merge, ‹key_not_allowed›key: text, value: '{"a": 1}'}`) },
    },
    {
      quote: 'value: CEL, required',
      accepted: { 'given': body(`{action: merge, value: '{"a": 1}'}`) },
      rejected: { 'absent, merge': body('‹value_required›{action: merge}'), 'absent, prefix': body('‹value_required›{action: prefix, key: text}'), 'a map of YAML': body('{action: merge, value: ‹wrong_type›{a: 1}}') },
    },
    {
      quote: 'value: for merge a `map<string, dyn>`',
      accepted: { 'values of different types': body(`{action: merge, value: '{"a": 1, "b": "x", "c": [true]}'}`), 'a secret inside': body(`{action: merge, value: '{"token": secrets["api-key"]}'}`), 'a value only known at run time': body('{action: merge, value: request.body.extra}', 'untyped') },
      rejected: {
        'a string': body(`{action: merge, value: '‹cel_result_type›"a"'}`),
        'a list': body("{action: merge, value: '‹cel_result_type›[1]'}"),
        'keys that are no strings': body("{action: merge, value: '‹cel_result_type›{1: 2}'}"),
      },
    },
    {
      quote: 'value: for prefix a string',
      accepted: { 'a string': body(`{action: prefix, key: text, value: '"> " + request.method'}`) },
      rejected: { 'a map': body(`{action: prefix, key: text, value: '‹cel_result_type›{"a": 1}'}`), 'an integer': body('{action: prefix, key: text, value: ‹cel_result_type›size(request.path)}') },
    },
    {
      quote: 'Body variant: no other fields',
      accepted: { 'all fields': body(`{action: prefix, key: text, value: '"> "'}`) },
      rejected: { 'name': body(`{action: merge, value: '{"a": 1}', ‹unknown_field›name: text}`) },
    },
  ],
};
