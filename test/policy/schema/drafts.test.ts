import t from 'tap';
import { compileSchema } from '../../../src/policy/schema/compile-schema.ts';
import { draftOf } from '../../../src/policy/schema/drafts.ts';

const verdict = (schema: unknown, body: unknown): boolean | string => {
  const result = compileSchema(schema);
  return 'problems' in result ? (result.problems[0]?.slug ?? '') : result.schema.validate(body).length === 0;
};
const spellings = ['draft/2020-12', 'draft/2019-09', 'draft-07', 'draft-06'].flatMap((draft) => ['http', 'https'].flatMap((scheme) => ['', '#'].map((end) => `${scheme}://json-schema.org/${draft}/schema${end}`)));

t.test('every spelling of a draft that is recognised also compiles', async (t) => {
  t.equal(new Set(spellings.map((uri) => draftOf(uri))).size, 4);
  for (const $schema of spellings) {
    t.equal(verdict({ $schema, type: 'string' }, 'a'), true, $schema);
    t.equal(verdict({ $schema, type: 'string' }, 1), false, $schema);
    t.equal(verdict({ $schema, type: 'strings' }, 1), 'schema_invalid', `${$schema} is held against its own draft`);
  }
  for (const $schema of ['http://json-schema.org/draft-04/schema#', 'https://json-schema.org/draft/next/schema', 'https://json-schema.org/draft-07/schema#/a', '', 7, null, ['x']]) {
    t.equal(verdict({ $schema, type: 'string' }, 'a'), 'schema_unknown_draft', String($schema));
  }
});

t.test('keywords mean what their draft says', async (t) => {
  const [draft2020 = '', draft07 = '', draft06 = ''] = ['https://json-schema.org/draft/2020-12/schema', 'http://json-schema.org/draft-07/schema#', 'http://json-schema.org/draft-06/schema#'];
  t.equal(verdict({ $schema: draft07, items: [{ type: 'string' }], additionalItems: false }, ['a', 'b']), false);
  t.equal(verdict({ $schema: draft2020, prefixItems: [{ type: 'string' }], items: false }, ['a', 'b']), false);
  t.equal(verdict({ $schema: draft2020, items: [{ type: 'string' }] }, ['a']), 'schema_invalid');
  t.equal(verdict({ $schema: draft07, prefixItems: [{ type: 'string' }] }, [1]), true, 'not a keyword then');
  t.equal(verdict({ $schema: draft06, dependencies: { a: ['b'] } }, { a: 1 }), false);
  t.equal(verdict({ $schema: draft2020, dependentRequired: { a: ['b'] } }, { a: 1 }), false);
});

t.test('what the validator knows beyond the drafts is not a keyword', async (t) => {
  for (const schema of [{ $async: true }, { nullable: true }, { id: 'x' }, { $data: '/a' }, { discriminator: { propertyName: 'a' } }, { format: 'email' }]) {
    t.equal(verdict({ ...schema, type: 'string' }, null), false, JSON.stringify(schema));
    t.equal(verdict({ ...schema, type: 'string' }, 'a'), true, JSON.stringify(schema));
    t.equal(verdict({ properties: { a: { ...schema, type: 'string' } } }, { a: null }), false, `${JSON.stringify(schema)} further down`);
  }
  t.equal(verdict({ properties: { $async: { type: 'string' }, nullable: { type: 'string' } } }, { nullable: null }), false, 'as names they stay');
});

t.test('a schema cannot take the names of another', async (t) => {
  for (let round = 0; round < 3; round += 1) {
    const names = Array.from({ length: 300 }, (_, index) => [`k${index}`, { $id: `schema://customhouse/${index}#/$defs/a` }]);
    t.equal(verdict({ title: `taker ${round}`, 'x-own': Object.fromEntries(names) as unknown, examples: [{ $id: `schema://customhouse/${round + 100}` }] }, 1), true);
    t.equal(verdict({ title: `other ${round}`, $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, 1), false);
    t.equal(verdict({ title: `other ${round}`, $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, 'a'), true);
    t.equal(verdict({ $id: 'https://example.com/same', title: `named ${round}`, maxLength: round }, 'aa'), round >= 2, 'two may have the same $id');
  }
});
