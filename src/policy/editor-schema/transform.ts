import { authProviderSlugs } from '../../kernel/auth-providers.ts';
import type { JsonSchema } from './json-schema.ts';
import { absent, celSchema, fieldsSchema, given, identifierSchema, when } from './json-schema.ts';

const value = (description: string): JsonSchema => celSchema(description);
const key = (description: string): JsonSchema => ({ description, type: 'string', maxLength: 256 });

const header = fieldsSchema('Sets, adds or removes a request header', ['name', 'action'], {
  name: { description: 'Header name (RFC 7230 token)', type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$" },
  action: { description: 'set replaces or creates, add allows several, remove', enum: ['set', 'add', 'remove'] },
  value: value('The header\'s text; secrets["name"] is available.'),
}, when('action', ['set', 'add'], given('value'), absent('value')));

const path = fieldsSchema('Changes the path of the request', ['action', 'value'], {
  action: { description: 'replace substitutes what the pattern matches, prefix puts text in front', enum: ['replace', 'prefix'] },
  pattern: { description: 'RE2 pattern of what to replace', type: 'string', maxLength: 1000 },
  value: { ...value('The new text, literally: no back-references, and no secrets, as paths are logged.'), minLength: 1 },
}, when('action', ['replace'], given('pattern'), absent('pattern')));

const query = fieldsSchema('Sets or removes a query parameter', ['action', 'key'], {
  action: { enum: ['set', 'remove'] },
  key: { ...key('Parameter name'), minLength: 1 },
  value: value('The parameter\'s text; URL-encoding is applied.'),
}, when('action', ['set'], given('value'), absent('value')));

const body = fieldsSchema('Changes the JSON body; each rule it applies to needs request_format: application/json', ['action', 'value'], {
  action: { description: 'merge merges a map into the body, deeply; prefix puts text in front of a field', enum: ['merge', 'prefix'] },
  key: key('The field to prefix'),
  value: { ...value('For merge a map, for prefix a string.'), minLength: 1 },
}, when('action', ['prefix'], given('key'), absent('key')));

const auth = fieldsSchema('Adds a credential of the org, in the way its provider takes it', ['credential', 'provider'], {
  credential: { description: 'Name of the credential', type: 'string', minLength: 1, maxLength: 256 },
  provider: { description: 'Who the credential is for', enum: authProviderSlugs },
});

const variants = ['header', 'path', 'query', 'body', 'auth'] as const;

/** TransformRule (contract 2.7). */
export const transformSchema: JsonSchema = fieldsSchema('Changes requests on their way out: exactly one of header, path, query, body, auth', [], {
  name: identifierSchema('Shown in audit rows'),
  direction: { description: 'Requests only', enum: ['', 'request'] },
  applies_to: { description: 'Names of allow rules of this capability; none means all of its rules', type: 'array', items: { type: 'string' } },
  requires_body: { description: 'Makes request.body available to a header, path or query value; each rule it applies to needs a request_schema then', type: 'boolean', default: false },
  header, path, query, body, auth,
}, {
  oneOf: variants.map((variant) => ({ required: [variant] })),
  if: { required: ['auth'] },
  then: absent('requires_body'),
});
