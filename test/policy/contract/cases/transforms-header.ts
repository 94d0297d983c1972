import type { Area } from '../support/area.ts';
import { transformsWith } from '../support/documents.ts';

const header = (fragment: string) => transformsWith(`header: ${fragment}`);

export const headerVariant: Area = {
  section: '2.7 Header variant',
  sentences: [
    {
      quote: 'name: string, required, RFC 7230 token',
      accepted: { 'a name': header('{name: X-Demo, action: remove}'), 'all the signs a token may have': header(`{name: "a!#$%&'*+-.^_\`|~9", action: remove}`) },
      rejected: {
        'missing': header('‹missing_field›{action: remove}'),
        'empty': header('{name: ‹header_name_invalid›"", action: remove}'),
        'a blank': header('{name: ‹header_name_invalid›"x demo", action: remove}'),
        'a colon': header('{name: ‹header_name_invalid›"x-demo:", action: remove}'),
        'a line end': header('{name: ‹header_name_invalid›"x-demo\\r\\nx-other", action: remove}'),
        'not ASCII': header('{name: ‹header_name_invalid›x-dämo, action: remove}'),
        'a number': header('{name: ‹wrong_type›1, action: remove}'),
      },
    },
    {
      quote: 'action: string, required: `set`, `add`, `remove`',
      accepted: {
        'set': header(`{name: x-demo, action: set, value: '"a"'}`),
        'add': header(`{name: x-demo, action: add, value: '"a"'}`),
        'remove': header('{name: x-demo, action: remove}'),
      },
      rejected: {
        'missing': header('‹missing_field›{name: x-demo}'),
        'an action of other variants': header(`{name: x-demo, action: ‹invalid_enum›prefix, value: '"a"'}`),
        'capitals': header(`{name: x-demo, action: ‹invalid_enum›Set, value: '"a"'}`),
        'empty': header('{name: x-demo, action: ‹invalid_enum›""}'),
        'a list': header('{name: x-demo, action: ‹wrong_type›[set]}'),
      },
    },
    {
      quote: 'value: CEL producing string',
      accepted: { 'a literal': header(`{name: x-demo, action: set, value: '"a"'}`), 'an expression': header(`{name: x-demo, action: set, value: '"a" + workspace.id'}`) },
      rejected: {
        'an integer': header('{name: x-demo, action: set, value: ‹cel_result_type›size(request.path)}'),
        'a boolean': header('{name: x-demo, action: set, value: ‹cel_result_type›request.method == "GET"}'),
        'a word, meant as a text': header('{name: x-demo, action: set, value: ‹undeclared_reference|undeclared reference: identity›identity}'),
        'a number of YAML': header('{name: x-demo, action: set, value: ‹wrong_type›1}'),
        'no CEL': header('{name: x-demo, action: set, value: Bearer ‹cel_syntax›abc}'),
      },
    },
    {
      quote: 'value: required for set/add',
      accepted: { 'set': header(`{name: x-demo, action: set, value: '"a"'}`) },
      rejected: { 'set': header('‹value_required›{name: x-demo, action: set}'), 'add': header('‹value_required›{name: x-demo, action: add}') },
    },
    {
      quote: 'value: rejected for remove',
      accepted: { 'absent': header('{name: x-demo, action: remove}'), 'empty, which is absent': header('{name: x-demo, action: remove, value: ""}') },
      rejected: { 'given': header(`{name: x-demo, action: remove, ‹value_not_allowed›value: '"a"'}`) },
    },
    {
      quote: 'value: `secrets["<literal>"]` allowed',
      accepted: {
        'alone': header(`{name: authorization, action: set, value: 'secrets["api-key"]'}`),
        'inside an expression': header(`{name: authorization, action: set, value: '"Bearer " + secrets["api-key"]'}`),
        'two': header(`{name: authorization, action: set, value: 'secrets["user"] + ":" + secrets["password"]'}`),
      },
      rejected: { 'a key against the identifier rule': header(`{name: authorization, action: set, value: '"Bearer " + secrets["‹secret_key_invalid›api key"]'}`) },
    },
    {
      quote: 'value: dynamic keys rejected',
      accepted: { 'a literal': header(`{name: authorization, action: set, value: 'secrets["api-key"]'}`) },
      rejected: {
        'a variable': header('{name: authorization, action: set, value: "secrets[‹secret_key_not_literal›request.method]"}'),
        'two literals joined': header(`{name: authorization, action: set, value: 'secrets[‹secret_key_not_literal›"a" + "b"]'}`),
        'as a field': header('{name: authorization, action: set, value: ‹secret_key_not_literal›secrets.token}'),
        'passed on': header(`{name: authorization, action: set, value: 'dyn(‹secret_key_not_literal›secrets)["token"]'}`),
        'gone through': header(`{name: authorization, action: set, value: '‹secret_key_not_literal›secrets.exists(k, k == "a") ? "a" : "b"'}`),
      },
    },
    {
      quote: 'Header variant: no other fields',
      accepted: { 'all fields': header(`{name: x-demo, action: set, value: '"a"'}`) },
      rejected: { 'key': header('{name: x-demo, action: remove, ‹unknown_field›key: a}'), 'pattern': header(`{name: x-demo, action: set, value: '"a"', ‹unknown_field›pattern: a}`) },
    },
  ],
};
