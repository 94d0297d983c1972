import type { Area } from '../support/area.ts';
import { ruleWith } from '../support/documents.ts';

const schema = (fragment: string) => ruleWith(`name: one\nmethods: [POST]\nrequest_format: application/json\nrequest_schema: ${fragment}`);

export const requestSchema: Area = {
  section: '2.7 AllowRule, request_schema',
  sentences: [
    {
      quote: 'request_schema: JSON Schema',
      accepted: { 'an object': schema('{type: object}'), 'true': schema('true'), 'an unknown keyword': schema('{type: object, x-owner: billing}') },
      rejected: {
        'no such type': schema('{type: ‹schema_invalid›objekt}'),
        'a keyword with a value of another kind': schema('{type: object, required: ‹schema_invalid›name}'),
        'a list': schema('‹schema_invalid›[]'),
        'a number': schema('‹schema_invalid›5'),
        'null': schema('‹schema_invalid›null'),
        'a keyword deep inside': schema('{properties: {a: {items: {minimum: ‹schema_invalid›low}}}}'),
      },
    },
    {
      quote: 'request_schema: validates the request body',
      oneSided: 'says what a request needs; see the decisions',
      decided: {
        'the body': {
          text: schema('{type: object, required: [a], properties: {a: {type: integer, maximum: 9}}}'),
          requests: {
            'POST https://api.example.com/ | application/json | {"a": 9}': 'one',
            'POST https://api.example.com/ | application/json | {"a": 10}': 'schema_violation',
            'POST https://api.example.com/ | application/json | {}': 'schema_violation',
            'POST https://api.example.com/ | application/json | [1]': 'schema_violation',
            'POST https://api.example.com/ | application/json | {"a": 9': 'invalid_json',
            'POST https://api.example.com/ | text/plain | {"a": 9}': 'format_mismatch',
          },
        },
        'a required name that every object has': {
          text: schema('{type: object, required: [toString]}'),
          requests: { 'POST https://api.example.com/ | application/json | {}': 'schema_violation', 'POST https://api.example.com/ | application/json | {"toString": 1}': 'one' },
        },
      },
    },
    {
      quote: 'request_schema: requires `request_format: application/json`',
      accepted: { 'given': schema('{type: object}') },
      rejected: { 'absent': ruleWith('methods: [POST]\nrequest_schema: ‹request_format_required›{type: object}') },
    },
    {
      quote: 'request_schema: draft 2020-12 is the default draft',
      accepted: { 'prefixItems': schema('{type: array, prefixItems: [{type: string}]}'), '$defs and dependentRequired': schema('{$defs: {a: {type: string}}, dependentRequired: {a: [b]}}') },
      rejected: { 'items as a list, which is of an older draft': schema('{type: array, items: ‹schema_invalid›[{type: string}]}') },
      decided: {
        'prefixItems counts': { text: schema('{prefixItems: [{type: string}]}'), requests: { 'POST https://api.example.com/ | application/json | ["a"]': 'one', 'POST https://api.example.com/ | application/json | [1]': 'schema_violation' } },
      },
    },
    {
      quote: 'request_schema: unless `$schema` is set',
      accepted: {
        '2020-12': schema('{$schema: "https://json-schema.org/draft/2020-12/schema"}'),
        '2019-09': schema('{$schema: "https://json-schema.org/draft/2019-09/schema", items: [{type: string}]}'),
        'draft-07': schema('{$schema: "http://json-schema.org/draft-07/schema#", items: [{type: string}]}'),
        'draft-06': schema('{$schema: "http://json-schema.org/draft-06/schema#"}'),
      },
      rejected: {
        'a draft nobody knows': schema('{$schema: ‹schema_unknown_draft›"https://json-schema.org/draft/2031-01/schema"}'),
        'an address elsewhere': schema('{$schema: ‹schema_unknown_draft›"https://example.com/schema"}'),
        'a number': schema('{$schema: ‹schema_unknown_draft›7}'),
      },
    },
    {
      quote: 'request_schema: internal `$ref` works',
      accepted: { 'to $defs': schema('{$ref: "#/$defs/a", $defs: {a: {type: string}}}'), 'to itself': schema('{properties: {child: {$ref: "#"}}}'), 'to an anchor': schema('{$ref: "#a", $defs: {x: {$anchor: a, type: string}}}') },
      rejected: { 'to nothing': schema('{properties: {a: {$ref: ‹schema_invalid›"#/$defs/b"}}, $defs: {a: {type: string}}}') },
      decided: {
        'it is followed': { text: schema('{properties: {a: {$ref: "#/$defs/a"}}, $defs: {a: {type: string}}}'), requests: { 'POST https://api.example.com/ | application/json | {"a": "x"}': 'one', 'POST https://api.example.com/ | application/json | {"a": 1}': 'schema_violation' } },
      },
    },
    {
      quote: 'request_schema: external `$ref` is rejected',
      accepted: { 'a property named $ref': schema('{properties: {$ref: {type: string}}}'), 'a value that looks like one': schema('{const: {$ref: "https://example.com/a.json"}}') },
      rejected: {
        'https': schema('{$ref: ‹schema_external_ref›"https://example.com/a.json"}'),
        'a file': schema('{properties: {a: {$ref: ‹schema_external_ref›"file:///etc/a.json"}}}'),
        'relative': schema('{items: {$ref: ‹schema_external_ref›"other.json#/a"}}'),
        'the draft itself': schema('{$ref: ‹schema_external_ref›"https://json-schema.org/draft/2020-12/schema"}'),
        'each of two': schema('{anyOf: [{$ref: ‹schema_external_ref›"a.json"}, {$ref: ‹schema_external_ref›"b.json"}]}'),
      },
    },
    {
      quote: 'request_schema: authored as YAML or as a JSON literal',
      accepted: {
        'block YAML': schema('\n  type: object\n  properties:\n    a: {type: string}'),
        'JSON in place': schema('{"type": "object", "properties": {"a": {"type": "string"}}}'),
        'JSON as a text': schema(`'{"type": "object"}'`),
        'JSON as a block': schema('|\n  {"type": "object",\n   "required": ["a"]}'),
      },
      rejected: {
        'a text that is no JSON': schema(`'{"type": "object"‹schema_invalid›'`),
        'a text that holds YAML': schema('‹schema_invalid›"type: object"'),
        'a text that holds a JSON list': schema('‹schema_invalid›"[]"'),
      },
      decided: {
        'a text counts': { text: schema(`'{"required": ["a"]}'`), requests: { 'POST https://api.example.com/ | application/json | {"a": 1}': 'one', 'POST https://api.example.com/ | application/json | {}': 'schema_violation' } },
      },
    },
    {
      quote: 'request_schema: what cannot be validated safely and exactly is rejected',
      accepted: { 'an RE2 pattern': schema('{pattern: "^a+$"}'), 'unevaluatedProperties': schema('{allOf: [{properties: {a: {}}}], unevaluatedProperties: false}') },
      rejected: {
        'look-ahead': schema('{pattern: ‹schema_invalid_regex›"^(?=a)"}'),
        'a back-reference': schema('{properties: {a: {pattern: ‹schema_invalid_regex›"(a)\\\\1"}}}'),
        'patternProperties': schema('{patternProperties: {‹schema_invalid_regex›"(?!a)": {}}}'),
        '$dynamicRef': schema('{$dynamicRef: ‹schema_unsupported›"#a"}'),
        'unevaluatedItems': schema('{unevaluatedItems: ‹schema_unsupported›false}'),
        'a nested $id': schema('{properties: {a: {$id: ‹schema_unsupported›"https://example.com/a"}}}'),
        'too deep': schema(`‹schema_too_complex›'${'{"not":'.repeat(70)}true${'}'.repeat(70)}'`),
      },
    },
  ],
};
