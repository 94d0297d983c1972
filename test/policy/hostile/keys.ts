import { parse } from 'yaml';
import type { HostileCase } from './case.ts';

const document = `- name: demo
  type: http
  allow:
    - name: one
      domains: [api.example.com]
      methods: [POST]
      request_format: application/json
      request_schema: {type: object}
      match: {expr: "true", requires_body: true}
  transforms:
    - header: {name: Accept-Encoding, action: set, value: '"identity"'}
    - path: {action: prefix, value: '"/a"'}
    - query: {action: remove, key: a}
    - body: {action: merge, value: '{"a": 1}'}
    - auth: {credential: a, provider: github}
  budgets:
    counters:
      - name: calls
        source: request.count
        workspace: {max: 5}
        task: {max: 5}
`;

const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf', '__defineGetter__', 'get', 'entries', 'then'];

/** Where a map of the document has a place for one more key. */
function mapsOf(value: unknown, steps: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, child]) => (key === 'request_schema' ? [] : mapsOf(child, [...steps, Array.isArray(value) ? Number(key) : key])));
  return Array.isArray(value) ? inner : [steps, ...inner];
}

/** The document with a key added to one map, as an own property whatever its name. */
function withKey(steps: readonly (string | number)[], name: string): unknown {
  const value: unknown = parse(document);
  let map = value as Record<string | number, unknown>;
  for (const step of steps) map = map[step] as Record<string | number, unknown>;
  Object.defineProperty(map, name, { value: { polluted: true }, enumerable: true, configurable: true, writable: true });
  return value;
}

/** Names that every object has, as a key of every map: unknown fields like any other. */
export const keyCases: readonly HostileCase[] = [
  { name: 'none of them', value: () => parse(document) as unknown, expects: ['valid'] },
  ...names.flatMap((name) => mapsOf(parse(document)).flatMap((steps) => [
    { name: `${name} at ${steps.join('.')}`, value: () => withKey(steps, name), expects: ['unknown_field'] as const },
    { name: `${name} at ${steps.join('.')}, as text`, text: () => JSON.stringify(withKey(steps, name)), expects: ['unknown_field'] as const },
  ])),
];
