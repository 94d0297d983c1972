import type { Area } from '../support/area.ts';
import { capabilityWith, countersWith, headersOnly, ruleWith, transformsWith } from '../support/documents.ts';

const name64 = `n${'a'.repeat(63)}`;
const name65 = `n${'a'.repeat(64)}`;

export const document: Area = {
  section: '2.7',
  sentences: [
    {
      quote: 'The document is a YAML list of capabilities',
      accepted: {
        'one capability': capabilityWith('name: demo'),
        'two capabilities': capabilityWith('name: first') + capabilityWith('name: second'),
        'a list in flow style, which is JSON': '[{"name": "demo", "type": "http", "allow": [{"domains": ["api.example.com"], "methods": ["GET"]}]}]\n',
        'no capability at all, which denies everything': '[]\n',
      },
      rejected: {
        'a map': '‹document_not_list›capabilities:\n  - name: demo\n',
        'a text': '‹document_not_list›demo\n',
        'null': '‹document_not_list›null\n',
        'a capability that is a text': '- ‹wrong_type›demo\n',
        'a capability that is a list': '- ‹wrong_type›[demo]\n',
      },
    },
    {
      quote: 'The document is a YAML list of capabilities (YAML itself)',
      textOnly: true,
      accepted: {
        'comments, an end mark, and a directive': `%YAML 1.2\n---\n# a comment\n${capabilityWith('name: demo # another')}...\n`,
        'quoted keys': '- "name": demo\n  "type": http\n  "allow": [{"domains": [api.example.com], methods: [GET]}]\n',
        'a key named like a member of every object': ruleWith('request_format: application/json\nmethods: [POST]\nrequest_schema: {properties: {constructor: {type: string}, __proto__: {type: string}}}'),
      },
      rejected: {
        'a key twice': '- name: demo\n  ‹duplicate_key›name: other\n  type: http\n  allow: [{domains: [api.example.com], methods: [GET]}]\n',
        'a key twice, three times': '- name: demo\n  ‹duplicate_key›name: other\n  ‹duplicate_key›name: third\n  type: http\n  allow: [{domains: [api.example.com], methods: [GET]}]\n',
        'a number as key': '- name: demo\n  ‹key_not_string›1: other\n  type: http\n  allow: [{domains: [api.example.com], methods: [GET]}]\n',
        'a tag': '- name: ‹unknown_tag›!!js/function demo\n  type: http\n  allow: [{domains: [api.example.com], methods: [GET]}]\n',
        'two documents': `${capabilityWith('name: demo')}‹multiple_documents›---\n${capabilityWith('name: other')}`,
        'a merge key': '- ‹unknown_field›<<: {name: demo}\n  name: demo\n  type: http\n  allow: [{domains: [api.example.com], methods: [GET]}]\n',
        'yes is a text in YAML 1.2': ruleWith('allow_insecure: ‹wrong_type›yes'),
        'yes is a text in YAML 1.2, whatever a directive says': `%YAML 1.1\n---\n${ruleWith('allow_insecure: ‹wrong_type›yes')}`,
      },
    },
    {
      quote: 'CEL expressions compile when the document is saved; a type error or an undeclared variable is rejected at save time',
      accepted: { 'an expression that compiles': ruleWith('match: {expr: request.method == "GET"}') },
      rejected: {
        'an undeclared variable': ruleWith('match: {expr: ‹undeclared_reference|undeclared reference: foo›foo == 1}'),
        'a declared variable misspelt': ruleWith('match: {expr: ‹undeclared_reference|undeclared reference: request.metod›request.metod == "GET"}'),
        'the variable in the middle, over two lines': ruleWith('match:\n  expr: |-\n    request.method == "GET"\n      && ‹undeclared_reference|undeclared reference: user›user == "x"'),
        'inside has()': ruleWith('match: {expr: has(‹undeclared_reference|undeclared reference: foo›foo.bar)}'),
        'two of them at once': ruleWith('match: {expr: ‹undeclared_reference|undeclared reference: foo›foo == ‹undeclared_reference|undeclared reference: bar›bar}'),
        'an unknown function': ruleWith('match: {expr: ‹undeclared_reference|undeclared reference: now›now() == request.method}'),
        'a comparison of different types': ruleWith('match: {expr: request.method ‹cel_type›== 1}'),
        'no CEL': ruleWith('match: {expr: request.method == "GET" ‹cel_syntax›&&& true}'),
        'an integer beyond 64 bits': ruleWith('match: {expr: size(request.path) < ‹cel_integer_range›9223372036854775808}'),
        'a pattern that RE2 does not know': ruleWith(`match: {expr: 'request.path.matches(‹cel_invalid_regex›"^(?=/v1)")'}`),
      },
    },
    {
      quote: 'Identifier rule: letter first, then letters, digits, underscore or dash',
      accepted: {
        'a letter': capabilityWith('name: a'),
        'capitals': capabilityWith('name: Z'),
        'all kinds of characters': capabilityWith('name: a_B-9_'),
      },
      rejected: {
        'a digit first': capabilityWith('name: ‹invalid_identifier›9a'),
        'a dash first': capabilityWith('name: ‹invalid_identifier›-a'),
        'a dot': capabilityWith('name: ‹invalid_identifier›a.b'),
        'a blank': capabilityWith('name: ‹invalid_identifier›a b'),
        'a letter of another script': capabilityWith('name: ‹invalid_identifier›naïve'),
        'a line end after a good name': capabilityWith('name: ‹invalid_identifier›"demo\\n"'),
      },
    },
    {
      quote: 'Identifier rule: 1 to 64 characters',
      accepted: { '64 characters': capabilityWith(`name: ${name64}`) },
      rejected: { '65 characters': capabilityWith(`name: ‹invalid_identifier›${name65}`), 'none': capabilityWith('name: ‹invalid_identifier›""') },
    },
    {
      quote: 'Identifier rule, for the names of capabilities, allow rules, transforms, counters and secret keys',
      accepted: {
        'capability': capabilityWith('name: demo-1'),
        'allow rule': ruleWith('name: demo-1'),
        'transform': transformsWith('name: demo-1\nheader: {name: x-demo, action: remove}'),
        'counter': countersWith(headersOnly.replace('calls', 'demo-1')),
        'secret key': transformsWith(`header: {name: x-demo, action: set, value: 'secrets["demo-1"]'}`),
      },
      rejected: {
        'capability': capabilityWith('name: ‹invalid_identifier›1-demo'),
        'allow rule': ruleWith('name: ‹invalid_identifier›1-demo'),
        'transform': transformsWith('name: ‹invalid_identifier›1-demo\nheader: {name: x-demo, action: remove}'),
        'counter': countersWith(headersOnly.replace('calls', '‹invalid_identifier›1-demo')),
        'secret key': transformsWith(`header: {name: x-demo, action: set, value: 'secrets["‹secret_key_invalid›1-demo"]'}`),
      },
    },
    {
      quote: 'A leading underscore is rejected because it is reserved for platform use',
      accepted: { 'an underscore later': capabilityWith('name: a_demo') },
      rejected: {
        'capability': capabilityWith('name: ‹reserved_identifier›_demo'),
        'allow rule': ruleWith('name: ‹reserved_identifier›_demo'),
        'transform': transformsWith('name: ‹reserved_identifier›_demo\nheader: {name: x-demo, action: remove}'),
        'counter': countersWith(headersOnly.replace('calls', '‹reserved_identifier›_demo')),
        'secret key': transformsWith(`header: {name: x-demo, action: set, value: 'secrets["‹secret_key_invalid›_demo"]'}`),
      },
    },
  ],
};
