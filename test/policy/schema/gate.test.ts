import t from 'tap';
import { compileSchema } from '../../../src/policy/schema/compile-schema.ts';
import { gate, schemaLimits } from '../../../src/policy/schema/gate.ts';

const said = (schema: unknown): string[] => gate(schema).map(({ slug, at }) => `${slug} ${at.join('/')}`);
/** Of both: the gate, and what the validator finds afterwards. */
const refusal = (schema: unknown): string[] => {
  const result = compileSchema(schema);
  return 'problems' in result ? result.problems.map(({ slug }) => slug) : [];
};
const nested = (depth: number): unknown => (depth === 0 ? {} : { not: nested(depth - 1) });

t.test('a reference leads to a schema that was walked, or nowhere', async (t) => {
  for (const reference of ['#', '#/', '#/$defs/a', '#/$defs/b/items', '#/allOf/0', '#anchored', '#/$defs/%61', '#/$defs/no~1slash', '#/$defs/yes']) {
    const $defs = { a: {}, b: { items: { $anchor: 'anchored' } }, 'no/slash': {}, yes: true };
    t.same(said({ $defs, allOf: [{ $ref: reference }] }), reference === '#/' ? ['schema_invalid allOf/0/$ref'] : [], reference);
  }
  for (const reference of ['#/$defs', '#/allOf', '#/$defs/c', '#/allOf/1', '#/allOf/-', '#/x-own/a', '#/const', '#/enum/0', '#/default', '#/$defs/a/type', '#none', '#/%', '#/__proto__', '#/constructor', '#/$defs/toString']) {
    t.same(said({ $defs: { a: { type: 'string' } }, 'x-own': { a: {} }, const: {}, enum: [{}], default: {}, allOf: [{ $ref: reference }] }), ['schema_invalid allOf/0/$ref'], reference);
  }
  for (const reference of ['other', 'other#/a', '/a', 'https://json-schema.org/draft/2020-12/schema', 'file:///a', 'urn:a', '', ' #', '//x#']) {
    t.same(said({ items: { $ref: reference } }), ['schema_external_ref items/$ref'], reference);
  }
  t.same(said({ $ref: 7 }), ['schema_invalid $ref']);
  t.same(said({ $id: 'https://example.com/a', $ref: 'https://example.com/a' }), ['schema_external_ref $ref'], 'its own name is no way around');
});

t.test('an anchor that stands twice, or only in data, is refused', async (t) => {
  t.same(refusal({ $ref: '#a', $defs: { x: { $anchor: 'a' }, y: { $anchor: 'a', type: 'string' } } }), ['schema_invalid']);
  t.same(refusal({ $ref: '#a', const: { $anchor: 'a' } }), ['schema_invalid']);
  t.same(refusal({ $ref: '#a', 'x-own': { $anchor: 'a' } }), ['schema_invalid']);
});

t.test('unsupported keywords are told wherever a schema stands', async (t) => {
  for (const keyword of ['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', 'unevaluatedItems', '$vocabulary']) {
    for (const [place, schema] of Object.entries({
      '': { [keyword]: '#' }, 'not/': { not: { [keyword]: '#' } }, 'allOf/0/': { allOf: [{ [keyword]: '#' }] }, 'dependencies/a/': { dependencies: { a: { [keyword]: '#' } } },
      'prefixItems/0/': { prefixItems: [{ [keyword]: '#' }] }, 'dependentSchemas/a/': { dependentSchemas: { a: { [keyword]: '#' } } }, 'contentSchema/': { contentSchema: { [keyword]: '#' } },
      'definitions/a/': { definitions: { a: { [keyword]: '#' } } }, 'propertyNames/': { propertyNames: { [keyword]: '#' } },
    })) t.same(said(schema), [`schema_unsupported ${place}${keyword}`]);
    t.same(said({ properties: { [keyword]: {} }, const: { [keyword]: 1 }, default: { [keyword]: 1 } }), [], 'as a name it is data');
  }
  t.same(said({ $id: 'https://example.com/a', $schema: 'https://json-schema.org/draft/2020-12/schema' }), []);
  t.same(said({ items: { $schema: 'https://json-schema.org/draft/2020-12/schema' } }), ['schema_unsupported items/$schema']);
});

t.test('patterns are RE2\'s', async (t) => {
  for (const pattern of ['(?!a)', '(?<=a)b', '(a)\\1', 'a{1001}', '(', '[z-a]']) {
    t.same(said({ pattern }), ['schema_invalid_regex pattern'], pattern);
    t.same(said({ items: { patternProperties: { [pattern]: {} } } }), [`schema_invalid_regex items/patternProperties/${pattern}`], pattern);
  }
  t.same(said({ properties: { pattern: { pattern: '^(a+)+$' } } }), []);
});

t.test('sizes have bounds, and the first past one is the only problem told', async (t) => {
  t.same(said(nested(schemaLimits.depthMax)), []);
  t.equal(said(nested(schemaLimits.depthMax + 1)).length, 1);
  t.match(said(nested(schemaLimits.depthMax + 1)), [/^schema_too_complex not\/not/]);
  t.same(said({ anyOf: Array.from({ length: schemaLimits.schemasMax - 1 }, () => ({})) }), []);
  t.match(said({ anyOf: Array.from({ length: schemaLimits.schemasMax + 5 }, () => ({ $ref: '#/x' })) }), [/^schema_too_complex/]);
  t.same(said({ required: Array.from({ length: schemaLimits.entriesMax + 1 }, String) }), ['schema_too_complex required']);
  t.equal(gate({ anyOf: Array.from({ length: 200 }, () => ({ $ref: 'x' })) }).length, 50, 'problems are bounded, too');
  let deep: unknown = 1;
  for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
  for (const schema of [{ const: deep }, { enum: [deep] }, { 'x-own': deep }]) t.same(refusal(schema), ['schema_too_complex'], 'what the gate does not look into');
});

t.test('names that every object has are names like others', async (t) => {
  for (const keyword of ['properties', '$defs', 'patternProperties']) {
    t.same(said(JSON.parse(`{"${keyword}": {"__proto__": {"$ref": "x"}}}`)), [`schema_external_ref ${keyword}/__proto__/$ref`]);
  }
  for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
    t.same(said(JSON.parse(`{"${keyword}": {"__proto__": ["a"]}}`)).filter((line) => line.startsWith('schema_unsupported')), [`schema_unsupported ${keyword}/__proto__`], 'the validator would pass it by');
  }
  t.same(said({ constructor: 1, toString: { $ref: 'x' } }), [], 'unknown keywords');
});
