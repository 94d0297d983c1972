import { authProviderSlugs } from '../../kernel/auth-providers.ts';
import { nearest } from '../document/nearest.ts';
import type { MapNode } from '../document/node.ts';
import type { TransformVariant } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { compileRe2 } from '../re2.ts';
import type { Fields, StringField } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { enumOf } from './strings.ts';
import type { ValueContext } from './transform-value.ts';
import { compileValue } from './transform-value.ts';

export type VariantKind = TransformVariant['kind'];

type Check = (node: MapNode, context: ValueContext, reporter: Reporter) => TransformVariant | undefined;

/** One variant of a transform (contract 2.7), by kind. */
export function checkVariant(kind: VariantKind, node: MapNode, context: ValueContext, reporter: Reporter): TransformVariant | undefined {
  return checks[kind](node, context, reporter);
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** The proxy writes these itself; a transform on them fails as `apply_error`. */
const managed: ReadonlySet<string> = new Set([
  'host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te', 'trailer', 'upgrade', 'expect',
  'proxy-authorization', 'proxy-authenticate', 'proxy-connection', 'x-capability-token',
]);

const header: Check = (node, context, reporter) => {
  const fields = openFields(node, 'a header transform', { name: 'string', action: 'string', value: 'string' }, reporter);
  if (fields === undefined) return undefined;
  fields.needs('name', 'action');
  const name = fields.string('name');
  const valid = name !== undefined && token.test(name.value);
  if (name !== undefined && !valid) reporter.problem('header_name_invalid', name, `${shown(name.value)} is not a header name`, { hint: 'letters, digits and - (an RFC 7230 token)' });
  if (valid && managed.has(name.value.toLowerCase())) reporter.warning('header_managed_by_proxy', name, `the proxy writes ${name.value} itself: the transform will fail to apply`);
  const action = actionOf(fields, ['set', 'add', 'remove'] as const, reporter);
  const value = valueOf(fields, action === undefined ? undefined : action === 'remove' ? 'rejected' : 'required', reporter);
  const program = value === undefined ? undefined : compileValue(value, { phase: 'header', result: 'string' }, context, reporter);
  if (!valid || action === undefined) return undefined;
  if (action === 'remove') return { kind: 'header', name: name.value, action };
  return program === undefined ? undefined : { kind: 'header', name: name.value, action, value: program };
};

const path: Check = (node, context, reporter) => {
  const fields = openFields(node, 'a path transform', { action: 'string', pattern: 'string', value: 'string' }, reporter);
  if (fields === undefined) return undefined;
  fields.needs('action');
  const action = actionOf(fields, ['replace', 'prefix'] as const, reporter);
  const value = valueOf(fields, 'required', reporter);
  const program = value === undefined ? undefined : compileValue(value, { phase: 'path', result: 'string' }, context, reporter);
  const pattern = fields.string('pattern');
  // With prefix the pattern has to go, whatever it says.
  const compiled = pattern === undefined || pattern.value === '' || action === 'prefix' ? undefined : compileRe2(pattern.value);
  if (compiled !== undefined && 'error' in compiled && pattern !== undefined) reporter.problem('invalid_regex', pattern, `not an RE2 pattern: ${compiled.error}`, { hint: 'RE2 has no look-around and no back-references' });
  if (action === 'replace' && (pattern?.value === '' || !fields.has('pattern'))) reporter.problem('pattern_required', pattern ?? node, 'a path transform with action replace needs a pattern');
  if (action === 'prefix' && pattern !== undefined && pattern.value !== '') reporter.problem('pattern_not_allowed', fields.placeOf('pattern'), 'a path transform with action prefix takes no pattern');
  if (program === undefined) return undefined;
  if (action === 'prefix') return { kind: 'path', action, value: program };
  return action === 'replace' && compiled !== undefined && 're2' in compiled ? { kind: 'path', action, pattern: compiled.re2.source, value: program } : undefined;
};

const query: Check = (node, context, reporter) => {
  const fields = openFields(node, 'a query transform', { action: 'string', key: 'string', value: 'string' }, reporter);
  if (fields === undefined) return undefined;
  fields.needs('action', 'key');
  const action = actionOf(fields, ['set', 'remove'] as const, reporter);
  const key = keyOf(fields, reporter);
  const value = valueOf(fields, action === undefined ? undefined : action === 'remove' ? 'rejected' : 'required', reporter);
  const program = value === undefined ? undefined : compileValue(value, { phase: 'query', result: 'string' }, context, reporter);
  if (key === undefined || action === undefined) return undefined;
  if (action === 'remove') return { kind: 'query', key, action };
  return program === undefined ? undefined : { kind: 'query', key, action, value: program };
};

const body: Check = (node, context, reporter) => {
  const fields = openFields(node, 'a body transform', { action: 'string', key: 'string', value: 'string' }, reporter);
  if (fields === undefined) return undefined;
  fields.needs('action');
  const action = actionOf(fields, ['merge', 'prefix'] as const, reporter);
  const value = valueOf(fields, 'required', reporter);
  if (action === 'merge') {
    if (fields.has('key') && fields.string('key')?.value !== '') reporter.problem('key_not_allowed', fields.placeOf('key'), 'a body transform with action merge takes no key');
    const program = value === undefined ? undefined : compileValue(value, { phase: 'body', result: 'string_map' }, context, reporter);
    return program === undefined ? undefined : { kind: 'body', action, value: program };
  }
  if (action === undefined) return undefined;
  if (!fields.has('key')) reporter.problem('key_required', node, 'a body transform with action prefix needs a key');
  const key = keyOf(fields, reporter);
  const program = value === undefined ? undefined : compileValue(value, { phase: 'body', result: 'string' }, context, reporter);
  return key === undefined || program === undefined ? undefined : { kind: 'body', action, key, value: program };
};

const credentialCharactersMax = 256;

const auth: Check = (node, _context, reporter) => {
  const fields = openFields(node, 'an auth transform', { credential: 'string', provider: 'string' }, reporter);
  if (fields === undefined) return undefined;
  fields.needs('credential', 'provider');
  const credential = fields.string('credential');
  const named = credential !== undefined && credential.value.length <= credentialCharactersMax && /^[^\p{Cc}]+$/u.test(credential.value);
  if (credential !== undefined && !named) reporter.problem('invalid_identifier', credential, 'credential must be the name of a credential', { hint: `1 to ${credentialCharactersMax} characters, no control characters` });
  const provider = fields.string('provider');
  const slug = provider === undefined ? undefined : authProviderSlugs.find((known) => known === provider.value);
  if (provider !== undefined && slug === undefined) {
    reporter.problem('unknown_provider', provider, `${shown(provider.value)} is not a known auth provider`, { hint: providerHint(provider.value) });
  }
  return named && slug !== undefined ? { kind: 'auth', credential: credential.value, provider: slug } : undefined;
};

const checks: Readonly<Record<VariantKind, Check>> = { header, path, query, body, auth };

/** In the order of the contract. */
export const variantKinds = Object.keys(checks) as readonly VariantKind[];

function providerHint(text: string): string {
  const near = nearest(text, authProviderSlugs);
  return near === undefined ? `known providers: ${authProviderSlugs.join(', ')}` : `did you mean ${near}?`;
}

function actionOf<T extends string>(fields: Fields, actions: readonly T[], reporter: Reporter): T | undefined {
  const field = fields.string('action');
  return field === undefined ? undefined : enumOf(field, 'action', actions, reporter);
}

/** The value's field where there is one to compile. An empty one counts as absent. */
function valueOf(fields: Fields, wanted: 'required' | 'rejected' | undefined, reporter: Reporter): StringField | undefined {
  const field = fields.string('value');
  const present = fields.has('value') && field?.value !== '';
  if (wanted === 'required' && !present) reporter.problem('value_required', field ?? fields.node, 'this action needs a value');
  if (wanted === 'rejected' && present) reporter.problem('value_not_allowed', fields.placeOf('value'), 'action remove takes no value');
  return wanted === 'rejected' || !present ? undefined : field;
}

function keyOf(fields: Fields, reporter: Reporter): string | undefined {
  const field = fields.string('key');
  if (field === undefined) return undefined;
  if (field.value !== '') return field.value;
  reporter.problem('key_required', field, 'key is empty');
  return undefined;
}
