import t from 'tap';
import { compileSchema } from '../../../src/policy/schema/compile-schema.ts';
import type { CompiledSchema } from '../../../src/policy/schema/contract.ts';

function compiled(schema: unknown): CompiledSchema {
  const result = compileSchema(schema);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.schema;
}
const problems = (schema: unknown): string[] => {
  const result = compileSchema(schema);
  return 'problems' in result ? result.problems.map(({ slug, at }) => `${slug} ${at.join('/')}`) : [];
};
const accepts = (schema: unknown, body: string): boolean => compiled(schema).validate(JSON.parse(body)).length === 0;
const nested = (depth: number): unknown => (depth === 0 ? {} : { not: nested(depth - 1) });

t.test('what may not reach the validator is told with its place', async (t) => {
  for (const [schema, ...expected] of [
    [{ $ref: 'https://example.com/x.json' }, 'schema_external_ref $ref'],
    [{ properties: { a: { $ref: 'other.json#/a' } } }, 'schema_external_ref properties/a/$ref'],
    [{ properties: { a: { $ref: '#/$defs/none' } }, $defs: {} }, 'schema_invalid properties/a/$ref'],
    [{ $ref: '#none' }, 'schema_invalid $ref'],
    [{ $ref: '#/%zz' }, 'schema_invalid $ref'],
    [{ items: { $dynamicRef: '#a' } }, 'schema_unsupported items/$dynamicRef'],
    [{ unevaluatedItems: false }, 'schema_unsupported unevaluatedItems'],
    [{ properties: { a: { $id: 'x' } } }, 'schema_unsupported properties/a/$id'],
    [{ properties: { a: { pattern: '(?=a)' } } }, 'schema_invalid_regex properties/a/pattern'],
    [{ patternProperties: { '(a': {} } }, 'schema_invalid_regex patternProperties/(a'],
    [{ type: 'texts' }, 'schema_invalid type'],
    [{ $schema: 'https://example.com/mine' }, 'schema_unknown_draft $schema'],
    [{ if: true, else: {}, unevaluatedProperties: false }, 'schema_unsupported else'],
    [7, 'schema_invalid '],
    [{ properties: { a: 7 } }, 'schema_invalid properties/a'],
    [{ $customhouseStep: true }, 'schema_unsupported $customhouseStep'],
  ] as [unknown, ...string[]][]) t.strictSame(problems(schema), expected, JSON.stringify(schema));
  t.match(problems(nested(60)), [/^schema_too_complex/]);
  t.match(problems({ anyOf: Array.from({ length: 6_000 }, () => ({})) }), [/^schema_too_complex/]);
  t.match(problems({ enum: Array.from({ length: 30_000 }, (_, index) => index) }), ['schema_too_complex enum']);
});

t.test('names that only look like keywords are data', async (t) => {
  const schema = { properties: { $ref: { type: 'string' }, pattern: { const: { $ref: 'https://example.com' } } }, enum: [{ $ref: 'x' }, { $ref: 'y', pattern: { $ref: 'https://example.com' } }] };
  t.ok(accepts(schema, '{"$ref": "x"}'));
  t.notOk(accepts(schema, '{"$ref": "z"}'));
});

t.test('references inside of the schema', async (t) => {
  t.ok(accepts({ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }, '"x"'));
  t.notOk(accepts({ $ref: '#a', $defs: { x: { $anchor: 'a', type: 'string' } } }, '1'));
  const list = { $anchor: 'node', type: 'object', properties: { next: { $ref: '#node' }, value: { type: 'integer' } }, additionalProperties: false };
  t.ok(accepts(list, '{"value": 1, "next": {"value": 2, "next": {}}}'));
  t.notOk(accepts(list, '{"next": {"next": {"value": "x"}}}'));
});

t.test('drafts by $schema', async (t) => {
  const tuple = (uri?: string): unknown => ({ ...(uri === undefined ? {} : { $schema: uri }), items: [{ type: 'string' }] });
  t.equal(compiled(tuple('http://json-schema.org/draft-07/schema#')).draft, '07');
  t.notOk(accepts(tuple('http://json-schema.org/draft-07/schema#'), '[1]'));
  t.match(problems(tuple()), ['schema_invalid items'], 'no list of items in 2020-12');
});

t.test('properties of every object are not what a body has', async (t) => {
  t.notOk(accepts({ required: ['toString'] }, '{}'));
  t.notOk(accepts({ additionalProperties: false }, '{"__proto__": 1}'));
  t.notOk(accepts(JSON.parse('{"properties": {"__proto__": {"type": "string"}}}'), '{"__proto__": 1}'));
  t.ok(accepts(JSON.parse('{"properties": {"__proto__": {"type": "string"}, "a": {}}, "additionalProperties": false}'), '{"__proto__": "x", "a": 1}'));
  t.notOk(accepts({ properties: { constructor: { type: 'string' } } }, '{"constructor": 1}'));
});

t.test('a validation ends: references that fan out or go in circles are a violation', async (t) => {
  const $defs: Record<string, unknown> = { d0: { type: 'integer' } };
  for (let depth = 1; depth < 40; depth += 1) $defs[`d${depth}`] = { allOf: [{ $ref: `#/$defs/d${depth - 1}` }, { $ref: `#/$defs/d${depth - 1}` }] };
  t.match(compiled({ $ref: '#/$defs/d39', $defs }).validate(1), [{ keyword: '$ref', message: /too many steps/ }]);
  t.match(compiled({ $ref: '#' }).validate(1), [{ keyword: '$ref' }]);
  t.ok(accepts({ $ref: '#/$defs/d5', $defs: { ...$defs } }, '1'), 'the next validation starts anew');
});

t.test('a violation says where and what, not what was there', async (t) => {
  const [violation] = compiled({ properties: { card: { type: 'string', maxLength: 4 } } }).validate({ card: '4111-1111' });
  t.match(violation, { instancePath: '/card', keyword: 'maxLength' });
  t.notMatch(JSON.stringify(compiled({ additionalProperties: false }).validate({ 'secret-name': 1 })), /secret-name/);
  t.equal(compiled({ items: { type: 'string' } }).validate(Array.from({ length: 500 }, () => 1)).length <= 20, true);
});

t.test('equal schemas are one', async (t) => {
  t.equal(compiled({ type: 'object', title: 'once' }), compiled({ type: 'object', title: 'once' }));
  t.ok(Object.isFrozen(compiled({ type: 'object' })));
});
