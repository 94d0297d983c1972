import t from 'tap';
import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { compileSchema } from '../../../src/policy/schema/compile-schema.ts';
import type { CompiledSchema } from '../../../src/policy/schema/contract.ts';

function compiled(schema: unknown): CompiledSchema {
  const result = compileSchema(schema);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.schema;
}
const keywords = (schema: unknown, body: unknown): string[] => compiled(schema).validate(body).map(({ keyword }) => keyword);
const tooMany = [{ instancePath: '', keyword: '$ref', message: 'the schema takes too many steps for this body' }];

/** Forty levels, each referring twice to the one below: 2^40 visits without a bound. */
function fanOut(prefix: string, combine: (reference: object) => object): Record<string, unknown> {
  const levels: Record<string, unknown> = { d0: { type: 'integer' } };
  for (let depth = 1; depth < 40; depth += 1) levels[`d${depth}`] = combine({ $ref: `${prefix}/d${depth - 1}` });
  return levels;
}

t.test('references that fan out end with a violation, wherever the schemas stand', async (t) => {
  const all = (one: object): object => ({ allOf: [one, { ...one }] });
  for (const [name, schema] of Object.entries({
    '$defs': { $ref: '#/$defs/d39', $defs: fanOut('#/$defs', all) },
    'definitions of draft 07': { $schema: 'http://json-schema.org/draft-07/schema#', $ref: '#/definitions/d39', definitions: fanOut('#/definitions', all) },
    'contentSchema': { $ref: '#/contentSchema/$defs/d39', contentSchema: { $defs: fanOut('#/contentSchema/$defs', all) } },
    'properties': { $ref: '#/properties/d39', properties: fanOut('#/properties', all) },
    'oneOf': { $ref: '#/$defs/d39', $defs: fanOut('#/$defs', (one) => ({ oneOf: [one, { ...one }] })) },
    'if and then': { $ref: '#/$defs/d39', $defs: fanOut('#/$defs', (one) => ({ if: one, then: { ...one } })) },
    'not': { $ref: '#/$defs/d39', $defs: fanOut('#/$defs', (one) => ({ not: { not: one }, ...one })) },
  })) t.same(compiled(schema).validate(1), tooMany, name);
});

t.test('recursion: as deep as the body, and never without end', async (t) => {
  const tree = { $anchor: 'tree', properties: { children: { items: { $ref: '#tree' } }, name: { type: 'string' } }, required: ['name'] };
  t.same(keywords(tree, { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] }), []);
  t.same(compiled(tree).validate({ name: 'a', children: [{ name: 'b', children: [{}] }] })[0]?.instancePath, '/children/0/children/0');
  for (const schema of [{ $ref: '#' }, { allOf: [{ $ref: '#' }] }, { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, { not: { $ref: '#' } }]) {
    t.match(compiled(schema).validate({}), [{ instancePath: '', keyword: '$ref', message: /without end|too many steps/ }]);
  }
  let body: unknown = [];
  for (let depth = 0; depth < 50_000; depth += 1) body = [body];
  for (const schema of [{ items: { $ref: '#' } }, { uniqueItems: true }, { enum: [[1]] }]) t.match(compiled(schema).validate(body), [{ keyword: '$ref', message: /without end/ }]);
});

t.test('uniqueItems and enum take a large body, and one that nests them ends', async (t) => {
  const items = Array.from({ length: 200_000 }, (_, index) => ({ index }));
  t.same(keywords({ uniqueItems: true }, items), []);
  t.same(keywords({ uniqueItems: true }, [...items, { index: 7 }]), ['uniqueItems']);
  t.same(keywords({ items: { enum: Array.from({ length: 10_000 }, (_, index) => ({ index })) } }, items), ['enum']);
  let nested: unknown = Array.from({ length: 200_000 }, (_, index) => index);
  for (let depth = 0; depth < 100; depth += 1) nested = [nested];
  t.same(compiled({ uniqueItems: true, items: { $ref: '#' } }).validate(nested), tooMany);
});

t.test('uniqueItems and enum compare JSON values', async (t) => {
  const two = (a: unknown, b: unknown): boolean => keywords({ uniqueItems: true }, [a, b]).length > 0;
  t.ok(two({ a: 1, b: [2] }, { b: [2], a: 1 }));
  t.ok(two(0, -0));
  for (const [a, b] of [[1, true], [0, false], [1, '1'], [null, 'null'], [[1], [[1]]], [{}, []], ['a,b', ['a', 'b']], [{ a: 'b' }, '{"a":"b"}'], [{ 'a":1,"b': 1 }, { a: 1, b: 1 }]]) t.notOk(two(a, b), JSON.stringify([a, b]));
  t.notOk(two(JSON.parse('{"__proto__": 1}'), {}));
  t.same(keywords({ uniqueItems: false }, [1, 1]), []);
  t.same(keywords({ uniqueItems: true }, 'aa'), []);
  // Through JSON.parse(JSON.stringify()): only what a body can hold.
  const value = fc.jsonValue({ maxDepth: 3 }).map((one) => JSON.parse(JSON.stringify(one)) as unknown);
  fc.assert(fc.property(value, value, (a, b) => {
    t.equal(two(a, b), isDeepStrictEqual(a, b));
    t.equal(keywords({ enum: [a] }, b).length === 0, isDeepStrictEqual(a, b));
    t.ok(two(a, structuredClone(a)));
  }), { numRuns: 150 });
});

t.test('only own properties count', async (t) => {
  for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
    t.same(keywords({ required: [name] }, {}), ['required'], name);
    t.same(keywords({ required: [name] }, JSON.parse(`{"${name}": 1}`)), [], name);
    t.same(keywords({ additionalProperties: false }, JSON.parse(`{"${name}": 1}`)), ['additionalProperties'], name);
    t.same(keywords(JSON.parse(`{"properties": {"${name}": {"type": "string"}}}`), JSON.parse(`{"${name}": 1}`)), ['type'], name);
    t.same(keywords(JSON.parse(`{"properties": {"${name}": {"type": "string"}}}`), {}), [], name);
    t.same(keywords({ maxProperties: 0 }, JSON.parse(`{"${name}": 1}`)), ['maxProperties'], name);
  }
});
