import fc from 'fast-check';
import t from 'tap';
import { readPolicyText, readPolicyValue } from '../../../src/policy/read-policy.ts';
import { countersWith } from '../contract/support/documents.ts';
import { checkMarked } from './support/marked.ts';

const int64Max = 2n ** 63n - 1n;
const counter = (field: string, value: string) => `name: down\nsource: response.bytes\nstatus_codes: ["200"]\n${field}: ${value}\n`;
const scope = (value: string) => `name: calls\nsource: request.count\nworkspace: {max: ${value}}\n`;
const maxOf = (text: string) => readPolicyText(countersWith(scope(text))).policy?.document.capabilities[0]?.counters[0]?.workspace?.max;

t.test('integer literals, of which the exact value is kept', async (t) => {
  const read: Readonly<Record<string, bigint>> = { '0': 0n, '1': 1n, '0x10': 16n, '0o17': 15n, '+5': 5n, '-0': 0n, '007': 7n, '9007199254740993': 9007199254740993n, [String(int64Max)]: int64Max };
  for (const [text, value] of Object.entries(read)) t.equal(maxOf(text), value, text);
});

t.test('what is no int64, or negative', async (t) => {
  for (const value of ['9223372036854775808', '-9223372036854775809', '0xffffffffffffffff', '9'.repeat(5000)]) checkMarked(t, value.slice(0, 30), countersWith(scope(`‹invalid_int64|from 0 to 9223372036854775807›${value}`)));
  for (const value of ['-1', '-9223372036854775808']) checkMarked(t, value, countersWith(scope(`‹negative_value|max may not be negative›${value}`)));
  for (const value of ['1.5', '1e3', '1.0', '.inf', '.nan', '"5"', "''", 'true', '[5]', '{a: 5}', '1_000', 'null', '~']) checkMarked(t, value, countersWith(scope(`‹wrong_type|max must be an integer›${value}`)));
});

t.test('each field that holds an amount', async (t) => {
  for (const field of ['reserve_per_request', 'failure_charge', 'max_concurrent']) {
    checkMarked(t, `${field} 0`, countersWith(counter(field, '0')));
    checkMarked(t, `${field} 5`, countersWith(counter(field, '5')));
    checkMarked(t, `${field} -1`, countersWith(counter(field, `‹negative_value|${field} may›-1`)));
    checkMarked(t, `${field} text`, countersWith(counter(field, '‹wrong_type|without quotes›"5"')));
  }
  checkMarked(t, 'the largest reservation', countersWith(counter('reserve_per_request', String(int64Max))));
  checkMarked(t, 'max_concurrent fits 32 bits', countersWith(counter('max_concurrent', '2147483647')));
  checkMarked(t, 'max_concurrent over 32 bits', countersWith(counter('max_concurrent', '‹invalid_int64|from 0 to 2147483647›2147483648')));
});

t.test('any integer is taken exactly when it is from 0 to int64', async () => {
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (amount) => {
    const within = amount >= 0n && amount <= int64Max;
    return maxOf(String(amount)) === (within ? amount : undefined);
  }));
});

t.test('parsed JSON: integers that a double holds exactly', async (t) => {
  const read = (max: unknown) => readPolicyValue([{ name: 'demo', type: 'http', allow: [{ domains: ['api.example.com'], methods: ['GET'] }], budgets: { counters: [{ name: 'calls', source: 'request.count', workspace: { max } }] } }]);
  t.equal(read(5).policy?.document.capabilities[0]?.counters[0]?.workspace?.max, 5n);
  for (const max of [1.5, '5', null, true, 2 ** 53]) t.match(read(max).problems, [{ slug: 'wrong_type', path: 'capabilities[0].budgets.counters[0].workspace.max' }], String(max));
});
