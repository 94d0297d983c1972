import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { parse } from 'yaml';
import { editorSchema } from '../../src/policy/editor-schema/document.ts';

const examplesDir = join(import.meta.dirname, '../../examples/caps');
// strictTypes alone would complain of "minLength and minItems, whatever the type".
const ajv = new Ajv2020({ allErrors: true, strictSchema: true, strictTypes: false, strictRequired: false });
const accepts = ajv.compile(editorSchema);
const errors = (): string => JSON.stringify(accepts.errors?.map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`));

type Doc = Record<string, unknown>;
const rule = (more: Doc = {}): Doc => ({ domains: ['api.example.com'], methods: ['GET'], ...more });
const capability = (more: Doc = {}): Doc => ({ name: 'c', type: 'http', allow: [rule()], ...more });
const withRule = (more: Doc): Doc[] => [capability({ allow: [rule(more)] })];
const withTransform = (transform: Doc): Doc[] => [capability({ transforms: [transform] })];
const withCounter = (counter: Doc): Doc[] => [capability({ budgets: { counters: [counter] } })];
const sse: Doc = { name: 'n', source: 'response', requires_body: true, framing: 'sse', format: 'application/json', encoding: 'identity', value: 'event.n', status_codes: ['2xx'], accumulator: 'max' };

t.test('it is a schema of draft 2020-12, and each example fits it', async (t) => {
  t.ok(ajv.validateSchema(editorSchema), JSON.stringify(ajv.errors));
  const examples = readdirSync(examplesDir).filter((name) => /(?<!\.cases)\.yaml$/.test(name));
  t.ok(examples.length >= 6);
  for (const name of examples) t.ok(accepts(parse(readFileSync(join(examplesDir, name), 'utf8'), { version: '1.2' })), `${name} ${errors()}`);
});

t.test('accepted', async (t) => {
  const documents: Record<string, unknown> = {
    'nothing': [],
    'domains as people write them': withRule({ domains: [' API.example.com. ', '*.a-*.example.com', '10.0.0.1:8080', '[::1]', '[2001:DB8::1]:8443', 'example.com.:443'] }),
    'schema as YAML': withRule({ request_format: 'application/json', request_schema: { type: 'object' } }),
    'schema as JSON text': withRule({ request_format: 'application/json', request_schema: '{"type": "object"}' }),
    'no format where nothing reads the body': withRule({ request_format: '', match: { expr: 'true', requires_body: false } }),
    'remove with an empty value': withTransform({ header: { name: 'X', action: 'remove', value: '' } }),
    'empty direction': withTransform({ direction: '', query: { action: 'set', key: 'k', value: '"v"' } }),
    'prefix with an empty pattern': withTransform({ path: { action: 'prefix', value: '"/v1"', pattern: '' } }),
    'auth with requires_body false': withTransform({ requires_body: false, auth: { credential: 'any name at all', provider: 'openai' } }),
    'empty fields on a request counter': withCounter({ name: 'n', source: 'request.count', value: '', requires_body: false, framing: '', reserve_per_request: 0, max_concurrent: 3 }),
    'response headers': withCounter({ name: 'n', source: 'response', value: 'int(response.headers["x"])', status_codes: ['200', '201-299', '4xx'], accumulator: 'last', failure_charge: 1, workspace: { max: 5, ttl: '1h30m' } }),
    'one document': withCounter({ ...sse, framing: 'single_document', value: 'response.body.n', terminal_sentinel: '[DONE]' }),
    'sse with each terminator': [capability({ budgets: { counters: [{ ...sse, terminal_event_type: 'e' }, { ...sse, terminal_sentinel: '[DONE]', terminal_cel: '' }, { ...sse, sse_event: 'x', terminal_cel: 'true' }] } })],
  };
  for (const [name, document] of Object.entries(documents)) t.ok(accepts(document), `${name} ${errors()}`);
});

t.test('rejected', async (t) => {
  const documents: Record<string, unknown> = {
    'a map': { capabilities: [] },
    'an unknown field': [capability({ trnasforms: [] })],
    'no rules': [capability({ allow: [] })],
    'a leading underscore': [capability({ name: '_c' })],
    'another type': [capability({ type: 'tcp' })],
    'null': [capability({ transforms: null })],
    'one label': withRule({ domains: ['example'] }),
    'a bare *': withRule({ domains: ['*'] }),
    'a scheme': withRule({ domains: ['https://api.example.com'] }),
    'IPv6 without brackets': withRule({ domains: ['2001:db8::1'] }),
    'a lower-case method': withRule({ methods: ['get'] }),
    'a path that is not absolute': withRule({ paths: ['v1/*'] }),
    'a schema without format': withRule({ request_schema: { type: 'object' } }),
    'a body match without format': withRule({ match: { expr: 'true', requires_body: true } }),
    'no variant': withTransform({ name: 't' }),
    'two variants': withTransform({ query: { action: 'remove', key: 'k' }, header: { name: 'X', action: 'remove' } }),
    'direction response': withTransform({ direction: 'response', query: { action: 'remove', key: 'k' } }),
    'set without value': withTransform({ header: { name: 'X', action: 'set' } }),
    'remove with value': withTransform({ query: { action: 'remove', key: 'k', value: '"v"' } }),
    'replace without pattern': withTransform({ path: { action: 'replace', value: '"/"' } }),
    'merge with key': withTransform({ body: { action: 'merge', key: 'k', value: '{}' } }),
    'prefix without key': withTransform({ body: { action: 'prefix', value: '"x"' } }),
    'auth with requires_body': withTransform({ requires_body: true, auth: { credential: 'c', provider: 'openai' } }),
    'an unknown provider': withTransform({ auth: { credential: 'c', provider: 'nobody' } }),
    'a value on a request counter': withCounter({ name: 'n', source: 'request.count', value: '1' }),
    'a reservation on a request counter': withCounter({ name: 'n', source: 'request.bytes', reserve_per_request: 5 }),
    'response.bytes without status codes': withCounter({ name: 'n', source: 'response.bytes' }),
    'response without accumulator': withCounter({ name: 'n', source: 'response', value: 'response.status', status_codes: ['2xx'] }),
    'framing without a body': withCounter({ name: 'n', source: 'response', value: 'response.status', status_codes: ['2xx'], accumulator: 'max', framing: 'sse' }),
    'a body without framing': withCounter({ ...sse, framing: '' }),
    'sse without terminator': withCounter(sse),
    'two terminators': withCounter({ ...sse, terminal_sentinel: 'x', terminal_cel: 'true' }),
    'sse_event on one document': withCounter({ ...sse, framing: 'single_document', sse_event: 'x' }),
    'status code 600': withCounter({ ...sse, terminal_cel: 'true', status_codes: ['600'] }),
    'a negative max': withCounter({ name: 'n', source: 'request.count', workspace: { max: -1 } }),
    'a ttl in days': withCounter({ name: 'n', source: 'request.count', workspace: { max: 1, ttl: '1d' } }),
    'a scope without max': withCounter({ name: 'n', source: 'request.count', task: { ttl: '1h' } }),
  };
  for (const [name, document] of Object.entries(documents)) t.notOk(accepts(document), name);
});
