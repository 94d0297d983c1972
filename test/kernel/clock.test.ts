import fc from 'fast-check';
import t from 'tap';
import { formatTimestamp, nowMicros, parseTimestamp } from '../../src/kernel/clock.ts';

/** The last microsecond of 2199. */
const lastMicros = Date.UTC(2200, 0, 1) * 1000 - 1;

t.test('nowMicros ascends strictly and stays with the wall clock', async (t) => {
  let before = nowMicros();
  for (let n = 0; n < 200_000; n += 1) {
    const now = nowMicros();
    if (now <= before) return t.fail(`${now} after ${before}`);
    before = now;
  }
  t.ok(Number.isSafeInteger(before), 'whole microseconds');
  t.ok(Math.abs(before / 1000 - Date.now()) < 60_000, 'within a minute of Date.now()');
  return t.end();
});

t.test('format and parse are inverse to the microsecond, and the text sorts as the time does', async (t) => {
  const micros = fc.integer({ min: 0, max: lastMicros });
  fc.assert(fc.property(micros, (time) => parseTimestamp(formatTimestamp(time)) === time), { numRuns: 2000 });
  fc.assert(fc.property(micros, micros, (a, b) => (a < b) === (formatTimestamp(a) < formatTimestamp(b))), { numRuns: 2000 });
  t.equal(formatTimestamp(0), '1970-01-01T00:00:00.000000Z');
  t.equal(formatTimestamp(1_795_168_800_123_456), '2026-11-20T10:00:00.123456Z');
  t.equal(formatTimestamp(1_795_168_800_000_001), '2026-11-20T10:00:00.000001Z', 'within the same second as the one before');
  t.equal(formatTimestamp(lastMicros), '2199-12-31T23:59:59.999999Z');
});

t.test('fractions of one to nine digits; what is finer than a microsecond is cut', async (t) => {
  const second = parseTimestamp('2026-11-20T10:00:00Z') ?? Number.NaN;
  const digits = '123456789';
  const expected = [100_000, 120_000, 123_000, 123_400, 123_450, 123_456, 123_456, 123_456, 123_456];
  for (const [index, micros] of expected.entries()) {
    t.equal(parseTimestamp(`2026-11-20T10:00:00.${digits.slice(0, index + 1)}Z`), second + micros, `${index + 1} digits`);
  }
  t.equal(parseTimestamp('2026-11-20T10:00:00.999999999Z'), second + 999_999, 'cut, not rounded into the next second');
  t.equal(parseTimestamp('2026-11-20T10:00:00.1234567890Z'), undefined, 'ten digits');
  t.equal(parseTimestamp('2026-11-20T10:00:00.Z'), undefined, 'no digit');
  t.equal(parseTimestamp('2026-11-20T10:00:00,5Z'), undefined, 'a comma');
});

t.test('offsets are applied', async (t) => {
  const noon = parseTimestamp('2026-11-20T12:00:00Z');
  for (const same of ['2026-11-20T13:30:00+01:30', '2026-11-20T04:00:00-08:00', '2026-11-21T11:59:00+23:59', '2026-11-20T12:00:00+00:00', '2026-11-20T12:00:00-00:00', '2026-11-20t12:00:00z']) {
    t.equal(parseTimestamp(same), noon, same);
  }
  const offsets = fc.tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }));
  fc.assert(fc.property(fc.integer({ min: 2 * 86_400_000_000, max: lastMicros - 2 * 86_400_000_000 }), offsets, (time, [sign, hours, minutes]) => {
    const zone = `${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
    const shift = (sign === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000_000;
    return parseTimestamp(formatTimestamp(time + shift).replace('Z', zone)) === time;
  }));
});

t.test('days that exist', async (t) => {
  for (const day of ['2024-02-29', '2000-02-29', '2026-01-31', '2026-12-31', '1970-01-01', '2199-12-31']) t.type(parseTimestamp(`${day}T00:00:00Z`), 'number', day);
});

t.test('everything else is refused', async (t) => {
  const refused = {
    'February 30': '2026-02-30T00:00:00Z', 'February 29 of a common year': '2026-02-29T00:00:00Z', 'February 29 of 2100': '2100-02-29T00:00:00Z',
    'April 31': '2026-04-31T00:00:00Z', 'month 0': '2026-00-10T00:00:00Z', 'month 13': '2026-13-10T00:00:00Z', 'day 0': '2026-01-00T00:00:00Z', 'day 32': '2026-01-32T00:00:00Z',
    'hour 24': '2026-01-01T24:00:00Z', 'minute 60': '2026-01-01T00:60:00Z', 'a leap second': '2016-12-31T23:59:60Z', 'second 61': '2016-12-31T23:59:61Z',
    'no zone': '2026-01-01T00:00:00', 'a zone without colon': '2026-01-01T00:00:00+0100', 'a zone of hours': '2026-01-01T00:00:00+01', 'zone hour 24': '2026-01-01T00:00:00+24:00',
    'zone minute 60': '2026-01-01T00:00:00+01:60', 'a zone by name': '2026-01-01T00:00:00 UTC', 'a minus that is not ASCII': '2026-01-01T00:00:00−01:00',
    'a space for the T': '2026-01-01 00:00:00Z', 'a date': '2026-01-01', 'no seconds': '2026-01-01T00:00Z', 'one digit': '2026-1-01T00:00:00Z', 'no separators': '20260101T000000Z',
    'a week date': '2026-W01-1T00:00:00Z', 'an ordinal date': '2026-001T00:00:00Z', 'Unix seconds': '1795168800', 'a signed year': '+002026-01-01T00:00:00Z',
    'before 1970': '1969-12-31T23:59:59.999999Z', 'before 1970 by its zone': '1970-01-01T00:00:00+00:01', 'after 2199': '2200-01-01T00:00:00Z', 'after 2199 by its zone': '2199-12-31T23:59:59-00:01',
    'year 70, which Date.UTC takes for 1970': '0070-01-01T00:00:00Z', 'year 99': '0099-01-01T00:00:00Z', 'year 0': '0000-01-01T00:00:00Z', 'year 9999': '9999-12-31T23:59:59Z',
    'a line end': '2026-01-01T00:00:00Z\n', 'a blank before': ' 2026-01-01T00:00:00Z', 'Arabic digits': '٢٠٢٦-01-01T00:00:00Z', 'nothing': '', 'words': 'yesterday',
  };
  for (const [name, text] of Object.entries(refused)) t.equal(parseTimestamp(text), undefined, name);
  fc.assert(fc.property(fc.string(), (text) => parseTimestamp(text) === undefined));
});
