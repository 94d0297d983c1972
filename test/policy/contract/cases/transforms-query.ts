import type { Area } from '../support/area.ts';
import { transformsWith } from '../support/documents.ts';

const query = (fragment: string) => transformsWith(`query: ${fragment}`);

export const queryVariant: Area = {
  section: '2.7 Query variant',
  sentences: [
    {
      quote: 'action: `set` or `remove`',
      accepted: { 'set': query(`{action: set, key: q, value: '"a"'}`), 'remove': query('{action: remove, key: q}') },
      rejected: {
        'missing': query('‹missing_field›{key: q}'),
        'an action of other variants': query(`{action: ‹invalid_enum›add, key: q, value: '"a"'}`),
        'a boolean': query('{action: ‹wrong_type›true, key: q}'),
      },
    },
    {
      quote: 'key: string, required, parameter name',
      accepted: { 'a name': query('{action: remove, key: q}'), 'a name with signs': query('{action: remove, key: "filter[a b]"}') },
      rejected: { 'missing, remove': query('‹missing_field›{action: remove}'), 'missing, set': query(`‹missing_field›{action: set, value: '"a"'}`), 'a number': query('{action: remove, key: ‹wrong_type›1}') },
    },
    {
      quote: 'value: CEL producing string',
      accepted: { 'a literal': query(`{action: set, key: q, value: '"a b&c"'}`), 'a secret': query(`{action: set, key: q, value: 'secrets["api-key"]'}`) },
      rejected: {
        'a list': query('{action: set, key: q, value: \'‹cel_result_type›request.query["q"]\'}'),
        'a dynamic secret': query('{action: set, key: q, value: "secrets[‹secret_key_not_literal›request.method]"}'),
        'undeclared': query('{action: set, key: q, value: ‹undeclared_reference|undeclared reference: query›query}'),
      },
    },
    {
      quote: 'value: required for set',
      accepted: { 'given': query(`{action: set, key: q, value: '"a"'}`) },
      rejected: { 'absent': query('‹value_required›{action: set, key: q}') },
    },
    {
      quote: 'value: rejected for remove',
      accepted: { 'absent': query('{action: remove, key: q}') },
      rejected: { 'given': query(`{action: remove, key: q, ‹value_not_allowed›value: '"a"'}`) },
    },
    {
      quote: 'value: URL-encoding is applied automatically',
      oneSided: 'says what is done with the value; see the transforms of requests',
      accepted: { 'signs that need encoding': query(`{action: set, key: q, value: '"a=b&c=%"'}`) },
    },
    {
      quote: 'Query variant: no other fields',
      accepted: { 'all fields': query(`{action: set, key: q, value: '"a"'}`) },
      rejected: { 'name': query('{action: remove, key: q, ‹unknown_field›name: q}') },
    },
  ],
};
