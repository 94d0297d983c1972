import type { DocumentNode, ListNode } from '../document/node.ts';
import type { AllowRule } from '../model.ts';
import { httpMethods } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { checkDomain } from './domain.ts';
import type { Fields, Shape, StringField } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { checkIdentifier } from './identifier.ts';
import { checkPathGlob } from './path-glob.ts';
import { checkRequestSchema } from './request-schema.ts';
import { checkMatch } from './rule-match.ts';
import { enumOf, stringsOf } from './strings.ts';

const shape: Shape = { name: 'string', domains: 'list', methods: 'list', paths: 'list', allow_insecure: 'boolean', match: 'map', request_format: 'string', request_schema: 'any' };

type Place = { readonly capability: string; readonly index: number };

/** One rule of `allow` (contract 2.7, AllowRule). Undefined when any part of it is wrong; everything wrong is reported. */
export function checkAllowRule(node: DocumentNode, { capability, index }: Place, reporter: Reporter): AllowRule | undefined {
  const fields = openFields(node, 'an allow rule', shape, reporter);
  if (fields === undefined) return undefined;
  const complete = fields.needs('domains', 'methods');
  const nameField = fields.string('name');
  const named = nameField === undefined ? !fields.has('name') : checkIdentifier(nameField, 'rule name', reporter);
  const name = nameField?.value;
  const id = name ?? `allow[${index}]`;
  const allowInsecure = fields.has('allow_insecure') ? fields.boolean('allow_insecure') : false;

  const domains = checkEntries(fields, 'domains', 'a domain', (field) => checkDomain(field, { allowInsecure: allowInsecure ?? true }, reporter), reporter);
  const methods = checkEntries(fields, 'methods', 'a method', (field) => enumOf(field, 'a method', httpMethods, reporter), reporter);
  const paths = checkEntries(fields, 'paths', 'a path', (field) => checkPathGlob(field, reporter), reporter);

  const format = checkFormat(fields, id, reporter);
  const schemaNode = fields.any('request_schema');
  const schema = schemaNode === undefined ? undefined : (checkRequestSchema(schemaNode, reporter) ?? 'broken');
  const matchNode = fields.map('match');
  const match = matchNode === undefined ? undefined : checkMatch(matchNode, schema, reporter);

  const whole = complete && named && format !== undefined && schema !== 'broken' && (match !== undefined || !fields.has('match'));
  if (!whole || allowInsecure === undefined || domains === undefined || methods === undefined || paths === undefined) return undefined;
  return Object.freeze({
    path: node.path, position: node.position, capability, name, id, index,
    domains, methods: Object.freeze([...new Set(methods)]), paths, allowInsecure, match, requestFormat: format, schema,
  });
}

/** The entries of a list, checked one by one. Undefined when the list or one of them is wrong: without its bad path, a rule would admit any. */
function checkEntries<T extends object | string>(fields: Fields, key: 'domains' | 'methods' | 'paths', what: string, check: (field: StringField) => T | undefined, reporter: Reporter): readonly T[] | undefined {
  const list: ListNode | undefined = fields.list(key);
  if (list === undefined) return fields.has(key) ? undefined : Object.freeze([]);
  if (list.items.length === 0 && key !== 'paths') {
    reporter.problem('empty_list', list, `${key} needs at least one entry`);
    return undefined;
  }
  const checked = stringsOf(list, what, reporter).map(check);
  const sound = checked.filter((entry): entry is T => entry !== undefined);
  return sound.length === list.items.length ? Object.freeze(sound) : undefined;
}

/** `request_format`, and whether what looks into the body has the one it needs. Undefined when wrong. */
function checkFormat(fields: Fields, id: string, reporter: Reporter): AllowRule['requestFormat'] | undefined {
  const field = fields.string('request_format');
  if (field === undefined && fields.has('request_format')) return undefined;
  const format = field === undefined ? '' : enumOf(field, 'request_format', ['', 'application/json'] as const, reporter);
  if (format !== '') return format;
  const reading = readers(fields);
  for (const { node, what } of reading) reporter.problem('request_format_required', node, `${what} looks into the body: rule ${shown(id)} needs request_format: application/json`);
  return reading.length === 0 ? format : undefined;
}

/** What in the rule looks into bodies, as it is written: it may have problems of its own. */
function readers(fields: Fields): readonly { readonly node: DocumentNode; readonly what: string }[] {
  const schema = fields.any('request_schema');
  const requiresBody = fields.map('match')?.get('requires_body');
  return [
    ...(schema === undefined ? [] : [{ node: schema, what: 'request_schema' }]),
    ...(requiresBody?.kind === 'scalar' && requiresBody.value === true ? [{ node: requiresBody, what: 'match with requires_body: true' }] : []),
  ];
}
