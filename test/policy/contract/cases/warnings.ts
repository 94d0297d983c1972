import type { Area } from '../support/area.ts';
import { capabilityWith, countersWith, headersOnly, ruleWith } from '../support/documents.ts';

const count = 'name: calls\nsource: request.count\n';
const post = 'request_format: application/json\nrequest_schema: {type: object}';
const rules = (...list: readonly string[]) => capabilityWith(`allow:\n${list.map((rule) => `  - ${rule}\n`).join('')}`);
const warns = 'a warning does not reject';

export const warnings: Area = {
  section: '2.7 Save-time warnings',
  sentences: [
    {
      quote: '1. A counter with no `workspace`, no `task` and no `max_concurrent` only measures and enforces nothing',
      oneSided: warns,
      accepted: {
        'none of the three': countersWith(`‹!counter_measures_only›${count}`),
        'max_concurrent: 0, which is none': countersWith(`‹!counter_measures_only›${count}max_concurrent: 0`),
        'a response counter': countersWith(`‹!counter_measures_only›${headersOnly.replace(/workspace: .*\n/, '')}`),
        'workspace': countersWith(`${count}workspace: {max: 5}`),
        'task': countersWith(`${count}task: {max: 5}`),
        'max_concurrent': countersWith(`${count}max_concurrent: 5`),
      },
    },
    {
      quote: '2. A rule with `request_schema` whose methods include GET or HEAD',
      oneSided: warns,
      accepted: {
        'GET': ruleWith(`‹!schema_on_bodyless_method›methods: [GET]\n${post}`),
        'HEAD among others': ruleWith(`‹!schema_on_bodyless_method›methods: [POST, HEAD]\n${post}`),
        'POST': ruleWith(`methods: [POST]\n${post}`),
        'DELETE': ruleWith(`methods: [DELETE]\n${post}`),
        'GET without a schema': ruleWith('methods: [GET]'),
      },
      decided: {
        'those requests fall through to sibling rules or no_match': {
          text: rules(`{name: a, domains: [api.example.com], methods: [GET, POST], ${post.replace('\n', ', ')}}`, '{name: b, domains: [api.example.com], methods: [GET], paths: [/b]}'),
          requests: { 'GET https://api.example.com/a': 'no_match', 'GET https://api.example.com/b': 'b', 'POST https://api.example.com/b | application/json | {}': 'a' },
        },
      },
    },
    {
      quote: '3. POST/PUT/PATCH rules without `request_schema` cannot type-check body fields in transforms',
      oneSided: warns,
      accepted: {
        'POST': ruleWith('‹!body_rule_without_schema›methods: [POST]'),
        'PUT': ruleWith('‹!body_rule_without_schema›methods: [GET, PUT]'),
        'PATCH, with a format': ruleWith('‹!body_rule_without_schema›methods: [PATCH]\nrequest_format: application/json'),
        'with a schema': ruleWith(`methods: [POST, PUT, PATCH]\n${post}`),
        'DELETE': ruleWith('methods: [DELETE]'),
        'GET': ruleWith('methods: [GET]'),
      },
    },
    {
      quote: '4. Two rules admitting the same (domain, method, path) triple are ambiguous',
      oneSided: warns,
      accepted: {
        'the same in all three': rules('{name: a, domains: [a.example.com], methods: [GET], paths: [/x], match: {expr: "true"}}', '‹!ambiguous_rules›{name: b, domains: [a.example.com], methods: [GET], paths: [/x]}'),
        'patterns that overlap': rules('{name: a, domains: ["*.example.com"], methods: [GET, HEAD], paths: ["/a/**"], match: {expr: "true"}}', '‹!ambiguous_rules›{name: b, domains: ["api-*.example.com"], methods: [HEAD, PUT], paths: ["/*/b"], request_format: "", match: {expr: "true"}}').replace('HEAD, PUT', 'HEAD, DELETE'),
        'two capabilities': `${rules('{name: a, domains: [a.example.com], methods: [GET], match: {expr: "true"}}')}- name: other\n  type: http\n  allow:\n    - ‹!ambiguous_rules›{name: b, domains: [a.example.com], methods: [GET]}\n`,
        'other domains': rules('{name: a, domains: [a.example.com], methods: [GET]}', '{name: b, domains: [b.example.com], methods: [GET]}'),
        'other methods': rules('{name: a, domains: [a.example.com], methods: [GET]}', '{name: b, domains: [a.example.com], methods: [HEAD]}'),
        'other paths': rules('{name: a, domains: [a.example.com], methods: [GET], paths: ["/a/*"]}', '{name: b, domains: [a.example.com], methods: [GET], paths: ["/a/*/b"]}'),
        'other ports': rules('{name: a, domains: [a.example.com], methods: [GET]}', '{name: b, domains: ["a.example.com:8443"], methods: [GET]}'),
      },
    },
    {
      quote: '4. the policy picks the lexicographically first deterministically',
      oneSided: warns,
      decided: {
        'by the name of the rule, not by its place': { text: rules('{name: b, domains: [a.example.com], methods: [GET]}', '{name: a, domains: [a.example.com], methods: [GET]}'), requests: { 'GET https://a.example.com/': 'a' } },
        'by the name of the capability first': { text: capabilityWith('name: zoo\nallow: [{name: a, domains: [a.example.com], methods: [GET]}]') + capabilityWith('name: ape\nallow: [{name: b, domains: [a.example.com], methods: [GET]}]'), requests: { 'GET https://a.example.com/': 'b' } },
        'capitals come before small letters': { text: rules('{name: a, domains: [a.example.com], methods: [GET]}', '{name: B, domains: [a.example.com], methods: [GET]}'), requests: { 'GET https://a.example.com/': 'B' } },
      },
    },
  ],
};
