import t from 'tap';
import { schemaType } from '../../../src/policy/cel/schema-type.ts';
import { typeText } from '../../../src/policy/cel/types.ts';
import { bindings, problemsOf, programOf } from './compiled.ts';

const message = { type: 'object', properties: { role: { type: 'string' }, child: { $ref: '#/$defs/message' }, 'x-y': { type: 'integer' } } };
const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    model: { type: 'string' },
    max_tokens: { type: 'integer' },
    temperature: { type: 'number' },
    stream: { type: 'boolean' },
    stop: { type: ['string', 'null'] },
    messages: { type: 'array', items: { $ref: '#/$defs/message' } },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    open: { type: 'object', properties: { a: { type: 'integer' } } },
    pair: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'integer' } },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    nothing: { type: 'null' },
    tree: { $ref: '#' },
  },
  $defs: { message },
};
const place = { requestBody: { schema } } as const;

t.test('fields have the types of the schema', async (t) => {
  for (const source of [
    'request.body.model.startsWith("m")',
    'request.body.max_tokens + 1 > 2',
    'request.body.temperature * 2.0 <= 2.0',
    'request.body.temperature < 1',
    'request.body.stream',
    'request.body.stop == "x" || request.body.stop == 1',
    'request.body.messages[0].child.child.role == "a"',
    'request.body.messages.all(m, m.role == "user" && m["x-y"] == 1)',
    'request.body.messages[0].anything.goes == 1',
    'request.body.labels.x == "y"',
    'request.body.open.a == 1 && request.body.open.b == "c"',
    'request.body.pair[0] == "a" || request.body.pair[1] == 1',
    'request.body.either == 1 || request.body.either == "a"',
    'request.body.nothing == null',
    'request.body.tree.tree.model == "m"',
    'request.body["model"] == "m"',
    '"model" in request.body && size(request.body) > 0 && request.body.all(k, k != "")',
    'request.body == {"model": 1}',
    '[request.body, {"a": 1}].size() == 2',
    'request.body.tree == request.body',
  ]) {
    t.same(problemsOf(source, place), [], source);
  }
});

t.test('uses that the schema does not allow are problems', async (t) => {
  const cases = [
    ['request.body.modle == "x"', 'undeclared_reference', 'undeclared reference: request.body.modle', 0],
    ['true || has(request.body.modle)', 'undeclared_reference', 'undeclared reference: request.body.modle', 12],
    ['request.body.tree.tree.modle == "x"', 'undeclared_reference', 'undeclared reference: request.body.tree.tree.modle', 0],
    ['request.body.model == 1', 'cel_type', "found no matching overload for '_==_' applied to '(string, int)'", 19],
    ['request.body.max_tokens == "1"', 'cel_type', "found no matching overload for '_==_' applied to '(int, string)'", 24],
    ['request.body.temperature == 1', 'cel_type', "found no matching overload for '_==_' applied to '(double, int)'", 25],
    ['request.body.messages[0].child.role == 5', 'cel_type', "found no matching overload for '_==_' applied to '(string, int)'", 36],
    ['request.body.messages.all(m, m.role)', 'cel_type', 'the condition of all() has to be bool, not string', 21],
    ['request.body.labels.x == 1', 'cel_type', "found no matching overload for '_==_' applied to '(string, int)'", 22],
    ['request.body.model.x == 1', 'cel_type', 'type string does not support field selection', 18],
    ['request.body + 1 == 2', 'cel_type', "found no matching overload for '_+_' applied to '(object, int)'", 13],
  ] as const;
  for (const [source, slug, text, offset] of cases) t.match(problemsOf(source, place), [{ slug, message: text, offset }], source);
  t.equal(problemsOf('request.body.modle == "x"', place)[0]?.hint, 'did you mean model?');
});

t.test('numbers are double where the schema says number, int elsewhere', async (t) => {
  t.same(programOf('request.body.temperature * 2.0 == 2.0', place).evaluate(bindings), { ok: true, value: true });
  t.same(programOf('request.body.max_tokens + 1 == 101', place).evaluate(bindings), { ok: true, value: true });
  t.same(programOf('request.body.temperature + 1 == 2').evaluate(bindings), { ok: true, value: true }, 'without a schema integral numbers are int');
  t.same(programOf('type(request.body.list[0]) == double', { requestBody: { schema: { type: 'object', properties: { list: { type: 'array', items: { type: 'number' } } } } } }).evaluate({ request: { ...bindings.request!, body: { list: [1] } } }), { ok: true, value: true });
});

t.test('what is not certain is dyn, and nothing makes it fail or run on', async (t) => {
  const typeOf = (value: unknown): string => typeText(schemaType(value));
  for (const value of [true, false, null, 5, 'x', [], {}, { type: 7 }, { type: [] }, { $ref: 'http://x/y' }, { $ref: '#/nope/%zz' }, { $ref: '#/a' }, { $ref: '#anchor' }]) t.equal(typeOf(value), 'dyn', JSON.stringify(value));
  t.equal(typeOf({ $ref: '#/a', a: { $ref: '#/b' }, b: { $ref: '#/a' } }), 'dyn', 'references in a circle');
  t.equal(typeOf({ type: 'array', items: { $ref: '#' } }), 'list(dyn)', 'a list of itself');
  t.equal(typeOf({ type: ['integer'] }), 'int');
  t.equal(typeOf({ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }), 'string');
  t.equal(typeOf(JSON.parse('{"type":"object","additionalProperties":false,"properties":{"__proto__":{"type":"string"}}}')), 'object');
  let deep: unknown = { type: 'string' };
  for (let level = 0; level < 3_000; level += 1) deep = { type: 'object', properties: { a: deep } };
  t.equal(typeOf(deep), 'object');
  const wide = { type: 'object', properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, { type: 'string' }])) };
  t.equal(typeOf(wide), 'object');
});

t.test('a property named like something of JavaScript is only what the schema says', async (t) => {
  t.match(problemsOf('request.body.constructor == "x"', place), [{ message: 'undeclared reference: request.body.constructor' }]);
  t.match(problemsOf('request.body.__proto__ == "x"', place), [{ message: 'undeclared reference: request.body.__proto__' }]);
});
