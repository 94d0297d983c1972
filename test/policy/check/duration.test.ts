import fc from 'fast-check';
import t from 'tap';
import { durationHint, parseDuration } from '../../../src/policy/check/duration.ts';

const second = 1_000_000_000n;
const hour = 3600n * second;

const read: Readonly<Record<string, bigint>> = {
  '5m': 300n * second,
  '1h': hour,
  '24h': 24n * hour,
  '1h30m': hour + 1800n * second,
  '1.5h': hour + 1800n * second,
  '.5s': second / 2n,
  '1.s': second,
  '300ms': 300_000_000n,
  '1us': 1000n,
  '1µs': 1000n,
  '1μs': 1000n,
  '7ns': 7n,
  '0.9ns': 0n,
  '1m1m': 120n * second,
  '1ms1m': 60n * second + 1_000_000n,
  '+5m': 300n * second,
  '-5m': -300n * second,
  '0': 0n,
  '-0': 0n,
  '0s': 0n,
  '9223372036854775807ns': 2n ** 63n - 1n,
  '2562047h': 2_562_047n * hour,
};

const refused: readonly string[] = [
  '', ' ', '5', '5 m', ' 5m', '5m ', '5M', '1H', 'm', '.', '.m', '-', '+', '--5m', '5m-', '1,5h', '1e3s', '0x5s', '1d', '2w', '1y', '5min', 'PT5M', '00', '1h 30m', '1h30', '٣m', '5m\n', 'NaNs',
  '9223372036854775808ns', '2562048h', '99999999999999999999h', `${'1'.repeat(100)}s`, '1s'.repeat(51), 'Infinityh',
];

t.test('durations as Go has them', async (t) => {
  for (const [text, nanoseconds] of Object.entries(read)) t.equal(parseDuration(text), nanoseconds, JSON.stringify(text));
});

t.test('everything else is none', async (t) => {
  for (const text of refused) t.equal(parseDuration(text), undefined, JSON.stringify(text.slice(0, 40)));
});

t.test('hints', async (t) => {
  const hints: Readonly<Record<string, string>> = {
    '1d': 'the largest unit is h: 24h', '7 days': 'the largest unit is h: 168h', '2w': 'the largest unit is h: 336h',
    '300': 'a unit is missing: 300s, 300m or 300h', '5 minutes': 'write 5m', '5min': 'write 5m', '1H': 'write 1h', '30 Sec': 'write 30s',
    '1 month': 'for example 5m, 1h, 24h', '5 millis': 'for example 5m, 1h, 24h', 'soon': 'for example 5m, 1h, 24h', [`${'9'.repeat(200_000)}d`]: 'for example 5m, 1h, 24h',
  };
  for (const [text, hint] of Object.entries(hints)) t.equal(durationHint(text), hint, JSON.stringify(text.slice(0, 40)));
});

const unit = fc.constantFrom(['ns', 1n], ['us', 1000n], ['µs', 1000n], ['ms', 1_000_000n], ['s', second], ['m', 60n * second], ['h', hour]) as fc.Arbitrary<[string, bigint]>;

t.test('a list of amounts is their sum', async () => {
  const part = fc.record({ count: fc.bigInt({ min: 0n, max: 100_000n }), unit });
  fc.assert(fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
    const text = parts.map(({ count, unit: [name] }) => `${count}${name}`).join('');
    return parseDuration(text) === parts.reduce((sum, { count, unit: [, size] }) => sum + count * size, 0n);
  }));
});

t.test('a fraction is that part of its unit, to the nanosecond', async () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 0, max: 1000 }), (nanoseconds, seconds) => {
    return parseDuration(`${seconds}.${String(nanoseconds).padStart(9, '0')}s`) === BigInt(seconds) * second + BigInt(nanoseconds);
  }));
});

t.test('any text is a duration within int64 or none, and a hint that is a duration can be read', async () => {
  const near = fc.array(fc.constantFrom('1', '5', '0', '.', 'n', 'u', 'm', 's', 'h', 'd', 'w', '-', '+', ' ', 'µ'), { maxLength: 8 }).map((letters) => letters.join(''));
  fc.assert(fc.property(fc.oneof(fc.string(), near), (text) => {
    const nanoseconds = parseDuration(text);
    if (nanoseconds !== undefined) return nanoseconds < 2n ** 63n && nanoseconds > -(2n ** 63n);
    const proposed = /(?:write|is h:) (\S+)$/.exec(durationHint(text))?.[1];
    return proposed === undefined || parseDuration(proposed) !== undefined;
  }), { numRuns: 1000 });
});
