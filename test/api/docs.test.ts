import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { columns } from '../../src/events/columns.ts';
import { routeTable } from '../../src/api/routes/table.ts';
import { startSkeleton } from './skeleton.ts';

const { app } = await startSkeleton(t.testdir(), routeTable);
t.teardown(() => app.close());

type Operation = { operationId: string; summary?: string; tags: string[]; security: object[]; parameters?: { name: string; in: string; schema: Record<string, unknown>; required?: boolean }[]; responses: Record<string, { description: string; content: Record<string, { schema: Record<string, unknown> }> }>; 'x-scopes'?: string[] };
type Document = { openapi: string; info: object; paths: Record<string, Record<string, Operation>>; components: { schemas: object; securitySchemes: object } };

const answer = await app.inject({ url: '/v1/openapi.json' });
const document = answer.json<Document>();

t.test('the document lists every route of the table and no other', async (t) => {
  t.equal(answer.statusCode, 200);
  t.match(document.openapi, /^3\.1\./);
  t.same(Object.entries(document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)).sort(), routeTable.map((row) => `${row.method} ${row.path}`).sort());
  for (const row of routeTable) {
    const operation = document.paths[row.path]?.[row.method.toLowerCase()];
    t.ok(operation?.summary, `${row.path}: summary`);
    t.ok(operation?.responses['200']?.description, `${row.path}: answer`);
    t.ok(operation?.responses['default'], `${row.path}: error`);
    t.equal(operation?.security.length, row.scopes === 'public' ? 0 : row.stream === true ? 3 : 2, `${row.path}: credentials`);
    t.same(operation?.parameters?.filter((parameter) => parameter.required === true && parameter.in === 'query') ?? [], [], `${row.path}: every query parameter may be left out`);
    for (const parameter of operation?.parameters ?? []) t.ok(parameter.schema !== undefined && (parameter.in !== 'path' || parameter.required === true), `${row.path}: ${parameter.name}`);
    t.same(operation?.['x-scopes'] ?? [], row.scopes === 'public' ? [] : row.scopes, `${row.path}: scopes`);
    t.same((operation?.parameters ?? []).filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name), [...row.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]), `${row.path}: path parameters`);
  }
  const operationIds = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((operation) => operation.operationId));
  t.equal(new Set(operationIds).size, operationIds.length, 'operation ids are unique');
});

t.test('it documents parameters, defaults and every column', async (t) => {
  const parameters = Object.fromEntries((document.paths['/v1/audit']?.['get']?.parameters ?? []).map((parameter) => [parameter.name, parameter.schema]));
  t.same(Object.keys(parameters).sort(), ['cursor', 'filter', 'from', 'limit', 'order', 'to']);
  t.match(parameters['limit'], { type: 'integer', minimum: 1, maximum: 10_000, default: 100 });
  t.match(parameters['order'], { enum: ['asc', 'desc'], default: 'desc' });
  const activity = Object.fromEntries((document.paths['/v1/workspaces/{id}/activity']?.['get']?.parameters ?? []).map((parameter) => [parameter.name, parameter.schema]));
  t.match(activity['order'], { default: 'asc' });
  const page = document.paths['/v1/audit']?.['get']?.responses['200']?.content['application/json']?.schema as { properties: { events: { items: { properties: object; required: string[] } } } };
  t.same(Object.keys(page.properties.events.items.properties), columns.map((column) => column.name));
});

t.test('every schema in it is sound, and every reference leads somewhere', async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { schema, $ref } = value as { schema?: object; $ref?: string };
    if ($ref !== undefined) t.ok($ref.split('/').slice(1).reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document), `${path}: ${$ref}`);
    if (schema !== undefined && !('$ref' in schema)) t.ok(ajv.validateSchema(schema), `${path}: ${JSON.stringify(ajv.errors)}`);
    for (const [key, child] of Object.entries(value)) visit(child, `${path}/${key}`);
  };
  visit(document.paths, 'paths');
});

t.test('the page is served with its own files, under a policy that lets them run', async (t) => {
  const page = await app.inject({ url: '/docs' });
  t.equal(page.statusCode, 200);
  t.match(page.headers['content-type'], /^text\/html/);
  const policy = String(page.headers['content-security-policy']);
  t.match(policy, /script-src 'self'/);
  t.notMatch(policy, /upgrade-insecure-requests|https:|unsafe-eval/);
  t.notMatch(page.body, /(src|href)="https?:/, 'nothing from elsewhere');
  t.notMatch(page.body, /<script>|<script [^>]*>[^<\s]/, 'no inline script');
  const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
  t.ok(files.length >= 4);
  for (const file of files) t.equal((await app.inject({ url: new URL(file, 'http://x/docs').pathname })).statusCode, 200, file);
  const initializer = await app.inject({ url: '/docs/static/swagger-initializer.js' });
  t.match(initializer.body, './json', 'and loads the document beside it');
  t.same((await app.inject({ url: '/docs/json' })).json<Document>().paths, document.paths, 'the page shows the same document');
});
