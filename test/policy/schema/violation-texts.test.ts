import t from 'tap';
import { compileSchema } from '../../../src/policy/schema/compile-schema.ts';
import type { CompiledSchema } from '../../../src/policy/schema/contract.ts';

function compiled(schema: unknown): CompiledSchema {
  const result = compileSchema(schema);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.schema;
}
const secret = 'sk-body-4111';

t.test('no violation quotes a value of the body', async (t) => {
  const cases: readonly (readonly [schema: object, body: unknown])[] = [
    [{ type: 'integer' }, secret], [{ const: 1 }, secret], [{ enum: ['a'] }, secret], [{ maxLength: 1 }, secret], [{ minLength: 99 }, secret], [{ pattern: '^a$' }, secret], [{ not: {} }, secret],
    [{ oneOf: [{ type: 'string' }, {}] }, secret], [{ anyOf: [false, { const: 1 }] }, secret], [{ if: true, then: false }, secret], [{ $ref: '#/$defs/a', $defs: { a: false } }, secret],
    [{ multipleOf: 7 }, 41_112], [{ maximum: 1 }, 41_111], [{ minimum: 99_999 }, 41_111], [{ uniqueItems: true }, [secret, secret]], [{ contains: { const: 1 } }, [secret]], [{ prefixItems: [{}], items: false }, [1, secret]],
    [{ additionalProperties: false }, { [secret]: 1 }], [{ propertyNames: { maxLength: 1 } }, { [secret]: 1 }], [{ propertyNames: { pattern: '^a$' } }, { [secret]: 1 }], [{ unevaluatedProperties: false }, { [secret]: 1 }],
    [{ maxProperties: 0 }, { [secret]: secret }], [{ dependentRequired: { a: ['b'] } }, { a: secret }], [{ required: ['a'] }, { [secret]: secret }], [{ properties: { a: { type: 'null' } } }, { a: secret }],
  ];
  for (const [schema, body] of cases) {
    const violations = compiled(schema).validate(body);
    t.ok(violations.length > 0, JSON.stringify(schema));
    t.notMatch(JSON.stringify(violations), /4111/, JSON.stringify(schema));
    t.ok(violations.every((violation) => Object.keys(violation).every((key) => ['instancePath', 'keyword', 'message'].includes(key))), 'nothing of the validator beside them');
  }
});

t.test('a violation is short, however long the names are', async (t) => {
  const [violation] = compiled({ additionalProperties: { type: 'string' } }).validate({ ['n'.repeat(10_000)]: 1 });
  t.equal(violation?.instancePath.length, 256);
  const [missing] = compiled({ required: ['m'.repeat(10_000)] }).validate({});
  t.equal(missing?.message.length, 256);
});

t.test('what a schema says of one body is not kept for the next', async (t) => {
  const schema = compiled({ type: 'string', title: 'kept' });
  const first = schema.validate(1);
  t.same(schema.validate('a'), []);
  t.match(first, [{ keyword: 'type' }]);
});

t.test('equal texts share one schema, until 500 others have come', async (t) => {
  const text = { type: 'object', title: 'first of many' };
  const first = compiled(text);
  t.equal(compiled(structuredClone(text)), first);
  t.not(compiled({ ...text, type: 'string' }), first);
  for (let index = 0; index < 500; index += 1) compiled({ title: `other ${index}` });
  const later = compiled(text);
  t.not(later, first, 'the number kept has a bound');
  t.match(first.validate(1), [{ keyword: 'type' }], 'who holds it can go on using it');
  t.match(later.validate(1), [{ keyword: 'type' }]);
});
