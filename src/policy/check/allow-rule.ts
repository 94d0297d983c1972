import { plainValue } from '../document/build.ts';
import { parseJson } from '../../kernel/json.ts';
import type { DocumentNode } from '../document/node.ts';
import type { AllowRule, HttpMethod } from '../model.ts';
import { httpMethods } from '../model.ts';
import type { Reporter } from '../problem.ts';
import type { CompiledSchema } from '../schema/contract.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import { checkDomain } from './domain.ts';
import { compileExpression } from './expression.ts';
import type { Fields, Shape } from './fields.ts';
import { openFields } from './fields.ts';
import { checkIdentifier } from './identifier.ts';
import { checkPathGlob } from './path-glob.ts';
import { enumOf, stringsOf } from './strings.ts';

const shape: Shape = { name: 'string', domains: 'list', methods: 'list', paths: 'list', allow_insecure: 'boolean', match: 'map', request_format: 'string', request_schema: 'any' };

/** One rule of `allow` (contract 2.7, AllowRule). Undefined when any part of it is wrong; everything wrong is reported. */
export function checkAllowRule(node: DocumentNode, place: { readonly capability: string; readonly index: number }, reporter: Reporter): AllowRule | undefined {
  const fields = openFields(node, 'an allow rule', shape, reporter);
  if (fields === undefined) return undefined;
  const complete = fields.require('domains', 'methods');
  const nameField = fields.string('name');
  const named = nameField === undefined ? !fields.has('name') : checkIdentifier(nameField, 'rule name', reporter);
  const allowInsecure = fields.boolean('allow_insecure') ?? false;

  const domains = entries(fields, 'domains', reporter).map((field) => checkDomain(field, { allowInsecure }, reporter));
  const methods = entries(fields, 'methods', reporter).map((field) => enumOf<HttpMethod>(field, 'a method', httpMethods, reporter));
  const paths = stringsOf(fields.list('paths'), 'a path', reporter).map((field) => checkPathGlob(field, reporter));

  const schema = checkSchema(fields, reporter);
  const formatField = fields.string('request_format');
  const format = formatField === undefined ? '' : enumOf(formatField, 'request_format', ['', 'application/json'] as const, reporter);
  const match = checkMatch(fields, schema, reporter);
  if (format === '') {
    if (fields.has('request_schema')) needsFormat(fields, 'request_schema', reporter);
    if (match !== undefined && match !== 'broken' && match.requiresBody) needsFormat(fields, 'match', reporter);
  }

  const whole = complete && named && domains.length > 0 && methods.length > 0 && sound(fields, domains, methods, paths);
  if (!whole || format === undefined || schema === 'broken' || match === 'broken') return undefined;
  const name = nameField?.value;
  return Object.freeze({
    path: node.path, position: node.position, capability: place.capability, name, id: name ?? `allow[${place.index}]`, index: place.index,
    domains: Object.freeze(domains.filter((domain) => domain !== undefined)),
    methods: Object.freeze([...new Set(methods.filter((method) => method !== undefined))]),
    paths: Object.freeze(paths.filter((path) => path !== undefined)),
    allowInsecure, match, requestFormat: format, schema,
  });
}

/** No part was dropped for being wrong: a rule without its bad path would admit any path. */
function sound(fields: Fields, domains: readonly unknown[], methods: readonly unknown[], paths: readonly unknown[]): boolean {
  const all = (key: string, checked: readonly unknown[]): boolean => {
    const list = fields.list(key);
    return (list === undefined ? !fields.has(key) : list.items.length === checked.length) && !checked.includes(undefined);
  };
  return all('domains', domains) && all('methods', methods) && all('paths', paths) && ['allow_insecure', 'match', 'request_format'].every((key) => fields.has(key) === (fields.any(key) !== undefined));
}

function entries(fields: Fields, key: 'domains' | 'methods', reporter: Reporter): ReturnType<typeof stringsOf> {
  const list = fields.list(key);
  if (list?.items.length === 0) reporter.problem('empty_list', list, `${key} needs at least one entry`);
  return stringsOf(list, key === 'domains' ? 'a domain' : 'a method', reporter);
}

function needsFormat(fields: Fields, feature: 'request_schema' | 'match', reporter: Reporter): void {
  reporter.problem('request_format_required', fields.placeOf(feature), `${feature === 'match' ? 'match with requires_body: true' : feature} reads the body: the rule needs request_format: application/json`);
}

/** YAML, or the text of a JSON literal. */
function checkSchema(fields: Fields, reporter: Reporter): CompiledSchema | undefined | 'broken' {
  const node = fields.any('request_schema');
  if (node === undefined) return undefined;
  let value = plainValue(node);
  if (typeof value === 'string') {
    try {
      value = parseJson(value);
    } catch {
      reporter.problem('schema_invalid', node, 'request_schema is neither a map nor the text of a JSON document');
      return 'broken';
    }
  }
  const compiled = compileSchema(value);
  if ('schema' in compiled) return compiled.schema;
  for (const { slug, message, hint, at } of compiled.problems) reporter.problem(slug, nodeAt(node, at), message, hint === undefined ? {} : { hint });
  return 'broken';
}

/** The node at a place inside the schema, or the nearest one above it that exists in the document. */
function nodeAt(node: DocumentNode, at: readonly (string | number)[]): DocumentNode {
  let current = node;
  for (const key of at) {
    const next = current.kind === 'map' ? current.get(String(key)) : current.kind === 'list' ? current.items[Number(key)] : undefined;
    if (next === undefined) return current;
    current = next;
  }
  return current;
}

function checkMatch(fields: Fields, schema: CompiledSchema | undefined | 'broken', reporter: Reporter): AllowRule['match'] | 'broken' {
  const node = fields.map('match');
  if (node === undefined) return undefined;
  const match = openFields(node, 'match', { expr: 'string', requires_body: 'boolean' }, reporter);
  const complete = match?.require('expr') === true;
  const expr = match?.string('expr');
  const requiresBody = match?.boolean('requires_body') ?? false;
  const typed = match?.has('requires_body') === true && match.boolean('requires_body') === undefined;
  if (!complete || expr === undefined || typed) return 'broken';
  const requestBody = !requiresBody ? 'absent' : schema === undefined || schema === 'broken' ? 'dyn' : { schema: schema.source };
  const program = compileExpression(expr, { phase: requiresBody ? 'match_body' : 'match_admission', result: 'bool', requestBody }, reporter, { 'request.body': 'set requires_body: true' });
  return program === undefined ? 'broken' : Object.freeze({ program, requiresBody });
}
