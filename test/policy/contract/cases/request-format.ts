import type { Area } from '../support/area.ts';
import { capabilityWith, ruleWith } from '../support/documents.ts';

const rule = 'domains: [api.example.com], methods: [POST]';

export const requestFormat: Area = {
  section: '2.7 AllowRule, request_format',
  sentences: [
    {
      quote: 'request_format: `""` (no body parsing) or `application/json`',
      accepted: { 'empty': ruleWith('request_format: ""'), 'json': ruleWith('request_format: application/json'), 'absent': ruleWith('name: one') },
      rejected: {
        'another media type': ruleWith('request_format: ‹invalid_enum›text/plain'),
        'a short name': ruleWith('request_format: ‹invalid_enum›json'),
        'a parameter': ruleWith('request_format: ‹invalid_enum›application/json; charset=utf-8'),
        'capitals': ruleWith('request_format: ‹invalid_enum›Application/JSON'),
        'a boolean': ruleWith('request_format: ‹wrong_type›true'),
      },
      decided: {
        'no body parsing': { text: ruleWith('name: one\nmethods: [POST]'), requests: { 'POST https://api.example.com/ | text/plain | {': 'one', 'POST https://api.example.com/': 'one' } },
        'a content type that disagrees': {
          text: ruleWith('name: one\nmethods: [POST]\nrequest_format: application/json'),
          requests: {
            'POST https://api.example.com/ | application/json | {}': 'one',
            'POST https://api.example.com/ | Application/JSON; charset="UTF-8" | {}': 'one',
            'POST https://api.example.com/ | application/json; charset=utf-16 | {}': 'format_mismatch',
            'POST https://api.example.com/ | text/plain | {}': 'format_mismatch',
            'POST https://api.example.com/ | application/json+x | {}': 'format_mismatch',
          },
        },
      },
    },
    {
      quote: 'request_format: required when any body-inspecting feature is present: schema',
      accepted: { 'given': ruleWith('methods: [POST]\nrequest_format: application/json\nrequest_schema: {type: object}') },
      rejected: {
        'absent': ruleWith('methods: [POST]\nrequest_schema: ‹request_format_required›{type: object}'),
        'empty': ruleWith('methods: [POST]\nrequest_format: ""\nrequest_schema: ‹request_format_required›{type: object}'),
      },
    },
    {
      quote: 'request_format: required when any body-inspecting feature is present: body-matching CEL',
      accepted: { 'given': ruleWith('methods: [POST]\nrequest_format: application/json\nmatch: {expr: has(request.body.a), requires_body: true}') },
      rejected: { 'absent': ruleWith('methods: [POST]\nmatch: {expr: has(request.body.a), requires_body: ‹request_format_required›true}') },
    },
    {
      quote: 'request_format: required when any body-inspecting feature is present: body transforms',
      accepted: { 'given': capabilityWith(`allow: [{${rule}, request_format: application/json}]\ntransforms:\n  - body: {action: merge, value: '{"a": 1}'}`) },
      rejected: { 'absent': capabilityWith(`allow: [{${rule}}]\ntransforms:\n  - body: ‹request_format_required›{action: merge, value: '{"a": 1}'}`) },
    },
  ],
};
