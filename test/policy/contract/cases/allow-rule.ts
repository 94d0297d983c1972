import type { Area } from '../support/area.ts';
import { capabilityWith, ruleWith, transformsWith } from '../support/documents.ts';

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'];

export const allowRule: Area = {
  section: '2.7 AllowRule',
  sentences: [
    {
      quote: 'name: string, not required; lets transforms target the rule via `applies_to`',
      accepted: {
        'a name': ruleWith('name: one'),
        'a name that a transform targets': transformsWith('applies_to: [plain]\nheader: {name: x-demo, action: remove}'),
      },
      rejected: { 'a number': ruleWith('name: ‹wrong_type›1'), 'null': ruleWith('name: ‹wrong_type›null') },
    },
    {
      quote: 'name: anonymous rules are valid but cannot be referenced',
      accepted: { 'no name': ruleWith('methods: [GET]'), 'two rules without a name': capabilityWith('allow: [{domains: [a.example.com], methods: [GET]}, {domains: [b.example.com], methods: [GET]}]') },
      rejected: {
        'referenced by what others call it': capabilityWith("allow: [{domains: [a.example.com], methods: [GET]}]\ntransforms:\n  - {applies_to: [‹applies_to_unknown›'allow[0]'], header: {name: x-demo, action: remove}}"),
        'referenced by an empty name': capabilityWith("allow: [{domains: [a.example.com], methods: [GET]}]\ntransforms:\n  - {applies_to: [‹applies_to_unknown›''], header: {name: x-demo, action: remove}}"),
      },
      decided: {
        'an anonymous rule admits': { text: ruleWith('methods: [GET]'), requests: { 'GET https://api.example.com/': 'allow[0]' } },
      },
    },
    {
      quote: 'domains: string list, required',
      accepted: { 'one': ruleWith('domains: [api.example.com]'), 'two': ruleWith('domains: [a.example.com, b.example.com]') },
      rejected: {
        'missing': capabilityWith('allow:\n  - ‹missing_field›methods: [GET]'),
        'empty': ruleWith('domains: ‹empty_list›[]'),
        'a text': ruleWith('domains: ‹wrong_type›api.example.com'),
        'a number inside': ruleWith('domains: [api.example.com, ‹wrong_type›10.2]'),
        'null inside': ruleWith('domains: [‹wrong_type›null]'),
        'a list inside': ruleWith('domains: [‹wrong_type›[api.example.com]]'),
      },
    },
    {
      quote: 'methods: string list, required',
      accepted: { 'one': ruleWith('methods: [GET]') },
      rejected: {
        'missing': capabilityWith('allow:\n  - ‹missing_field›domains: [api.example.com]'),
        'empty': ruleWith('methods: ‹empty_list›[]'),
        'a text': ruleWith('methods: ‹wrong_type›GET'),
        'a boolean inside': ruleWith('methods: [‹wrong_type›true]'),
      },
    },
    {
      quote: `methods: each one of ${methods.join(', ')}`,
      accepted: { ...Object.fromEntries(methods.map((method) => [method, ruleWith(`methods: [${method}]`)])), 'all of them': ruleWith(`methods: [${methods.join(', ')}]`) },
      rejected: {
        'small letters': ruleWith('methods: [‹invalid_enum›get]'),
        'an unknown method': ruleWith('methods: [GET, ‹invalid_enum›LIST]'),
        'TRACE': ruleWith('methods: [‹invalid_enum›TRACE]'),
        'CONNECT': ruleWith('methods: [‹invalid_enum›CONNECT]'),
        'a star': ruleWith('methods: [‹invalid_enum›"*"]'),
        'blanks around': ruleWith('methods: [‹invalid_enum›" GET"]'),
        'each of two': ruleWith('methods: [‹invalid_enum›get, ‹invalid_enum›put]'),
      },
      decided: {
        'only the methods listed': { text: ruleWith('name: one\nmethods: [GET, HEAD]'), requests: { 'GET https://api.example.com/': 'one', 'HEAD https://api.example.com/': 'one', 'DELETE https://api.example.com/': 'no_match' } },
      },
    },
    {
      quote: 'allow_insecure: bool, not required',
      accepted: { 'true': ruleWith('allow_insecure: true'), 'false': ruleWith('allow_insecure: false') },
      rejected: {
        'a text': ruleWith('allow_insecure: ‹wrong_type›"true"'),
        'a number': ruleWith('allow_insecure: ‹wrong_type›1'),
        'null': ruleWith('allow_insecure: ‹wrong_type›null'),
      },
    },
    {
      quote: 'allow_insecure: default false (HTTPS required); true admits non-HTTPS',
      oneSided: 'says what a request needs; see the decisions',
      decided: {
        'absent': { text: ruleWith('name: one'), requests: { 'GET https://api.example.com/': 'one', 'GET http://api.example.com/': 'no_match' } },
        'false': { text: ruleWith('name: one\nallow_insecure: false'), requests: { 'GET https://api.example.com/': 'one', 'GET http://api.example.com/': 'no_match' } },
        'true': { text: ruleWith('name: one\nallow_insecure: true'), requests: { 'GET https://api.example.com/': 'one', 'GET http://api.example.com/': 'one' } },
      },
    },
    {
      quote: 'AllowRule: no other fields',
      accepted: { 'all fields': ruleWith('name: one\nmethods: [POST]\npaths: [/v1]\nallow_insecure: false\nmatch: {expr: "true", requires_body: false}\nrequest_format: application/json\nrequest_schema: {type: object}') },
      rejected: {
        'a misspelt field': ruleWith('‹unknown_field›domain: [api.example.com]'),
        'a foreign field': ruleWith('‹unknown_field›action: allow'),
        'a name that every object has': ruleWith('‹unknown_field›toString: x'),
      },
    },
  ],
};
