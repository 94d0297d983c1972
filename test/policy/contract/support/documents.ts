import { hasKey } from './marks.ts';

/** A whole document around one fragment, so that a case shows what it is about. The fragment comes first in its map. */

const rule = '{name: one, domains: [api.example.com], methods: [GET]}';

/** A document with this capability; `name`, `type` and `allow` are added when the fragment has none. */
export function capabilityWith(fragment: string): string {
  return item('', fragment, ['name: demo', 'type: http', `allow: [${rule}]`]);
}

/** A document with this allow rule; `domains` and `methods` are added when the fragment has none. */
export function ruleWith(fragment: string): string {
  return `- name: demo\n  type: http\n  allow:\n${item('    ', fragment, ['domains: [api.example.com]', 'methods: [GET]'])}`;
}

/** Rules that transforms of cases target: `typed` has a schema, `untyped` only a format, `plain` neither. */
const transformRules = `- name: demo
  type: http
  allow:
    - {name: typed, domains: [api.example.com], methods: [POST], paths: [/typed], request_format: application/json, request_schema: {type: object, properties: {model: {type: string}, size: {type: integer}}, additionalProperties: false}}
    - {name: untyped, domains: [api.example.com], methods: [POST], paths: [/untyped], request_format: application/json}
    - {name: plain, domains: [api.example.com], methods: [GET], paths: [/plain]}
`;

/** A document with these transforms, over the rules `typed`, `untyped` and `plain`. */
export function transformsWith(...fragments: readonly string[]): string {
  return `${transformRules}  transforms:\n${fragments.map((fragment) => item('    ', fragment, [])).join('')}`;
}

const uncompressed = `  transforms:
    - header: {name: Accept-Encoding, action: set, value: '"identity"'}
`;

/** A document with these counters, and with the Accept-Encoding transform that counters of response bodies need. */
export function countersWith(...fragments: readonly string[]): string {
  return `- name: demo\n  type: http\n  allow: [${rule}]\n${uncompressed}  budgets:\n    counters:\n${fragments.map((fragment) => item('      ', fragment, [])).join('')}`;
}

/** Fields of a body counter over an event stream, for cases about one further field. */
export const sse = `name: tokens
source: response
requires_body: true
framing: sse
format: application/json
encoding: identity
value: event.tokens
accumulator: sum
status_codes: ["200"]
workspace: {max: 100, ttl: 1h}
`;

/** Fields of a body counter over one JSON document. */
export const single = sse.replace('framing: sse', 'framing: single_document').replace('event.tokens', 'response.body.tokens');

/** Fields of a counter that reads no body. */
export const headersOnly = `name: calls
source: response
requires_body: false
value: response.size
accumulator: sum
status_codes: ["200"]
workspace: {max: 100, ttl: 1h}
`;

function item(indent: string, fragment: string, defaults: readonly string[]): string {
  const lines = fragment.replace(/^\n/, '').trimEnd().split('\n');
  for (const line of defaults) if (!hasKey(lines.join('\n'), line.slice(0, line.indexOf(':')))) lines.push(line);
  return lines.map((line, index) => (line === '' ? '\n' : `${indent}${index === 0 ? '- ' : '  '}${line}\n`)).join('');
}
