import { httpMethods } from '../model.ts';
import type { JsonSchema } from './json-schema.ts';
import { celSchema, fieldsSchema, identifierSchema } from './json-schema.ts';

const domain: JsonSchema = {
  description: 'A host name with at least two labels, one * per label (*.example.com), an IPv4 address, or an IPv6 address in brackets; with a port where it is not the default one',
  type: 'string',
  pattern: '^\\s*(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9_*-]+(\\.[A-Za-z0-9_*-]+)+\\.?)(:[1-9][0-9]{0,4})?\\s*$',
  examples: ['api.example.com', '*.example.com', '192.0.2.7', '[2001:db8::1]:8080'],
};

const match = fieldsSchema('A condition on top of domains, methods and paths', ['expr'], {
  expr: { ...celSchema('True for requests to admit.'), minLength: 1 },
  requires_body: { description: 'false: decided by method, path, query and headers. true: decided when the body is there, with request.body in scope', type: 'boolean', default: false },
});

/** AllowRule (contract 2.7). */
export const allowRuleSchema: JsonSchema = fieldsSchema('Requests to admit: one of the domains and one of the methods, one of the paths where there are any, and the match', ['domains', 'methods'], {
  name: identifierSchema('Lets transforms name the rule in applies_to, and audit rows show it'),
  domains: { description: 'Hosts', type: 'array', minItems: 1, items: domain },
  methods: { description: 'HTTP methods', type: 'array', minItems: 1, items: { enum: httpMethods } },
  paths: {
    description: 'Path globs: * within a segment, ** across segments. None means any path',
    type: 'array',
    items: { type: 'string', pattern: '^/', maxLength: 1024, examples: ['/v1/messages', '/repos/*/issues', '/v1/**'] },
  },
  allow_insecure: { description: 'Also admit http, not only https', type: 'boolean', default: false },
  match,
  request_format: { description: 'How the request body is read; application/json wherever something looks into it', enum: ['', 'application/json'] },
  request_schema: {
    description: 'JSON Schema of the request body: draft 2020-12 unless $schema says otherwise, $ref within the schema only. Written as YAML, or as the text of a JSON document',
    type: ['object', 'boolean', 'string'],
  },
}, {
  if: { anyOf: [{ required: ['request_schema'] }, { required: ['match'], properties: { match: { required: ['requires_body'], properties: { requires_body: { const: true } } } } }] },
  then: { required: ['request_format'], properties: { request_format: { const: 'application/json' } } },
});
