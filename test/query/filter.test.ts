import t from 'tap';
import { AppError } from '../../src/kernel/errors.ts';
import { filterCharsMax, filterKey, filterPredicate, filterValuesMax, filtersMax, parseFilters } from '../../src/query/filter.ts';

function problem(texts: string[]): string {
  try {
    parseFilters(texts);
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error') return error.details?.fields?.['filter'] ?? '';
    throw error;
  }
  return 'accepted';
}

t.test('the first = or != splits; commas separate; backslashes escape', (t) => {
  const cases: [string, string, boolean, string[] | undefined][] = [
    ['decision=deny', 'decision', false, ['deny']],
    ['decision!=deny', 'decision', true, ['deny']],
    ['decision!=', 'decision', true, undefined],
    ['path=/a=b!=c', 'path', false, ['/a=b!=c']],
    ['path!==x', 'path', true, ['=x']],
    ['path==', 'path', false, ['=']],
    ['path=!', 'path', false, ['!']],
    ['method=GET,POST', 'method', false, ['GET', 'POST']],
    ['method=GET,GET', 'method', false, ['GET']],
    [String.raw`path=a\,b,c\\d`, 'path', false, ['a,b', String.raw`c\d`]],
    [String.raw`path=\\`, 'path', false, ['\\']],
    ['path= spaces kept ', 'path', false, [' spaces kept ']],
    ["path=' OR 1=1 --", 'path', false, ["' OR 1=1 --"]],
    ['counter=tokens', 'counter', false, ['tokens']],
    ['counter!=', 'counter', true, undefined],
  ];
  for (const [text, column, negated, values] of cases) t.same(parseFilters([text]), [{ column, negated, values }], text);
  t.end();
});

t.test('wrong filters are refused by name of the problem', (t) => {
  t.match(problem(['decision=']), '"decision=" needs a value');
  t.match(problem(['decision']), 'no "=" or "!="');
  t.match(problem(['']), 'no "=" or "!="');
  t.match(problem(['=x']), 'unknown column ""');
  t.match(problem(['!=x']), 'unknown column ""');
  t.match(problem(['!=']), 'unknown column ""');
  t.match(problem(['Decision=deny']), 'unknown column "Decision"');
  t.match(problem([' decision=deny']), 'unknown column " decision"');
  t.match(problem(['user_id=x']), 'unknown column', 'not filterable by contract 4.1');
  t.match(problem(['detail=x']), 'unknown column');
  t.match(problem(['__proto__=x']), 'unknown column');
  t.match(problem(['method=GET,']), 'empty value');
  t.match(problem(['method!=,GET']), 'empty value');
  t.match(problem(['path=a\\']), 'backslash');
  t.match(problem([String.raw`path=a\nb`]), 'backslash');
  t.match(problem(['path=a\0b']), 'no value can have');
  t.match(problem(['path=a\ud800b']), 'no value can have');
  t.match(problem(['decision=deny', 'nope=1', 'path=']), /filter 2: unknown column .*; filter 3: "path=" needs a value/);
  t.end();
});

t.test('number, length and values are bounded', (t) => {
  t.match(problem(Array.from({ length: filtersMax + 1 }, () => 'decision=deny')), `more than ${filtersMax} filters`);
  t.match(problem([`path=${'x'.repeat(filterCharsMax)}`]), 'longer than');
  t.match(problem([`path=${Array.from({ length: filterValuesMax + 1 }, (_, index) => `v${index}`).join(',')}`]), `more than ${filterValuesMax} values`);
  t.equal(problem(Array.from({ length: filtersMax }, () => 'decision=deny')), 'accepted');
  t.ok(problem(Array.from({ length: filtersMax }, (_, index) => `${'y'.repeat(1000)}${index}=1`)).length < 2000, 'an error text does not repeat long input');
  t.end();
});

t.test('filters become a conjunction', (t) => {
  t.equal(filterPredicate([]), true);
  t.same(filterPredicate(parseFilters(['decision=deny'])), { in: 'decision', values: ['deny'] });
  t.same(filterPredicate(parseFilters(['decision!=deny', 'path!='])), { and: [{ not: { in: 'decision', values: ['deny'] } }, { populated: 'path' }] });
  t.end();
});

t.test('the key is the same for filters that mean the same, and differs otherwise', (t) => {
  const key = (...texts: string[]): string => filterKey(parseFilters(texts));
  t.equal(key('method=GET,POST', 'decision=deny'), key('decision=deny', 'method=POST,GET'));
  const different = [key(), key('method=GET'), key('method!=GET'), key('method!='), key('path=GET'), key('method=GET,POST'), key('method=GET', 'method=POST'), key(String.raw`method=GET\,POST`)];
  t.equal(new Set(different).size, different.length);
  t.end();
});
