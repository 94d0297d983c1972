import fc from 'fast-check';
import t from 'tap';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { countersWith } from '../contract/support/documents.ts';
import { checkMarked } from './support/marked.ts';

const counter = (codes: string) => countersWith(`name: down\nsource: response.bytes\nstatus_codes: ${codes}\n`);
const rangesOf = (codes: readonly string[]) => readPolicyText(counter(JSON.stringify(codes))).policy?.document.capabilities[0]?.counters[0]?.statusCodes;

t.test('exact, range and family', async (t) => {
  const read: Readonly<Record<string, { from: number; to: number }>> = {
    '200': { from: 200, to: 200 }, '100': { from: 100, to: 100 }, '599': { from: 599, to: 599 },
    '200-299': { from: 200, to: 299 }, '404-404': { from: 404, to: 404 }, '100-599': { from: 100, to: 599 },
    '1xx': { from: 100, to: 199 }, '2xx': { from: 200, to: 299 }, '5xx': { from: 500, to: 599 },
  };
  for (const [code, range] of Object.entries(read)) t.strictSame(rangesOf([code]), [range], code);
  t.strictSame(rangesOf(['404', '2xx', '200']), [{ from: 404, to: 404 }, { from: 200, to: 299 }, { from: 200, to: 200 }], 'as written');
  checkMarked(t, 'a family needs no quotes', counter('[2xx]'));
});

t.test('everything else', async (t) => {
  const bad: Readonly<Record<string, string>> = {
    '': 'not an exact code', '99': '100 to 599', '099': '100 to 599', '0200': '100 to 599', '600': '100 to 599', '1000': '100 to 599', '2': '100 to 599', '200-': '"200", "200-299" or "2xx"', '-200': '"200", "200-299" or "2xx"',
    '200-600': '100 to 599', '99-200': '100 to 599', '20-30': '100 to 599', '299-200': '"200-299"', '200-299-300': 'not an exact code', '0xx': '1xx to 5xx', '6xx': '1xx to 5xx',
    '2XX': '"2xx"', '2Xx': '"2xx"', '2x': 'not an exact code', '2xxx': 'not an exact code', 'xxx': 'not an exact code', '20x': 'not an exact code', '2xx-3xx': 'not an exact code',
    '200 - 299': '"200-299"', ' 200': '"200"', '200–299': '"200-299"', '200..299': '"200-299"', '200,201': 'not an exact code', '+200': 'not an exact code', '2e2': 'not an exact code', '٢٠٠': 'not an exact code', 'ok': 'not an exact code', '*': 'not an exact code',
    '200\n': '"200"',
  };
  for (const [code, says] of Object.entries(bad)) checkMarked(t, JSON.stringify(code), counter(`["404", ‹invalid_status_code|${says}›${JSON.stringify(code)}]`));
});

t.test('other types, each at its place', async (t) => {
  checkMarked(t, 'numbers', counter('[‹wrong_type|quotes›200, "404", ‹wrong_type|quotes›500]'));
  checkMarked(t, 'null, a list, a map', counter('[‹wrong_type›null, ‹wrong_type›["200"], ‹wrong_type›{a: b}]'));
  checkMarked(t, 'no list', counter('‹wrong_type|must be a list›"200"'));
  checkMarked(t, 'an empty one', counter('‹field_required_for_source|status_codes›[]'));
  checkMarked(t, 'all wrong ones at once', counter('[‹invalid_status_code›"1", ‹invalid_status_code›"2", "200"]'));
});

const code = fc.integer({ min: 0, max: 999 });

t.test('a range is taken exactly when it is within 100 to 599 and not empty', async () => {
  fc.assert(fc.property(code, code, (from, to) => {
    const ranges = rangesOf([`${from}-${to}`]);
    const valid = from >= 100 && to <= 599 && from <= to;
    return valid ? ranges?.[0]?.from === from && ranges[0].to === to : ranges === undefined;
  }));
});

t.test('any text is one range within 100 to 599, or refused', async () => {
  const near = fc.array(fc.constantFrom('0', '1', '2', '5', '9', 'x', 'X', '-', ' ', '.'), { maxLength: 8 }).map((signs) => signs.join(''));
  fc.assert(fc.property(fc.oneof(near, fc.string({ unit: 'grapheme' })), (text) => {
    const ranges = rangesOf([text]);
    return ranges === undefined || (ranges.length === 1 && ranges.every(({ from, to }) => from >= 100 && to <= 599 && from <= to));
  }), { numRuns: 500 });
});
