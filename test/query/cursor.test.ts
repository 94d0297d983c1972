import t from 'tap';
import fc from 'fast-check';
import { uuidv7 } from '../../src/kernel/ids.ts';
import type { CursorBinding, Order, RowKey } from '../../src/query/cursor.ts';
import { decodeCursor, encodeCursor } from '../../src/query/cursor.ts';

const binding: CursorBinding = { orgId: 'org', visibility: 'v', filters: '[]', from: 1, to: undefined };
const key: RowKey = { timestamp: 1_795_000_000_123_456, sourceSeq: 42, id: uuidv7() };
const invalid = { code: 'invalid_cursor', status: 400 };

const keys = fc.record({
  timestamp: fc.integer({ min: 0, max: 7_258_118_399_999_999 }),
  sourceSeq: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  id: fc.uuid({ version: 7 }),
});

t.test('what was encoded is decoded', async (t) => {
  fc.assert(fc.property(keys, fc.constantFrom<Order>('asc', 'desc'), (key, order) => {
    t.same(decodeCursor(binding, order, encodeCursor(binding, order, key)), key);
  }));
});

t.test('with anything else than it was given out for it is refused', (t) => {
  const cursor = encodeCursor(binding, 'desc', key);
  const others: CursorBinding[] = [{ ...binding, orgId: 'other' }, { ...binding, visibility: 'w' }, { ...binding, filters: '[1]' }, { ...binding, from: 2 }, { ...binding, from: undefined }, { ...binding, to: 1 }];
  for (const other of others) t.throws(() => decodeCursor(other, 'desc', cursor), invalid);
  t.throws(() => decodeCursor(binding, 'asc', cursor), invalid);
  t.same(decodeCursor({ ...binding }, 'desc', cursor), key);
  t.end();
});

t.test('every single changed, missing or added character is noticed', (t) => {
  const cursor = encodeCursor(binding, 'desc', key);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. \n%\0é';
  let refused = 0;
  for (let at = 0; at < cursor.length; at += 1) {
    for (const char of alphabet) {
      if (char === cursor[at]) continue;
      t.throws(() => decodeCursor(binding, 'desc', cursor.slice(0, at) + char + cursor.slice(at + 1)), invalid, `${char} at ${at}`);
      refused += 1;
    }
    t.throws(() => decodeCursor(binding, 'desc', cursor.slice(0, at)), invalid);
    t.throws(() => decodeCursor(binding, 'desc', `${cursor.slice(0, at)}A${cursor.slice(at)}`), invalid);
  }
  t.ok(refused > 3000);
  t.end();
});

t.test('any text is either refused or one of ours', (t) => {
  fc.assert(fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.uint8Array({ minLength: 46, maxLength: 46 }).map((bytes) => Buffer.from(bytes).toString('base64url'))), (text) => {
    try {
      decodeCursor(binding, 'desc', text);
      return false;
    } catch (error) {
      return (error as { code?: unknown }).code === 'invalid_cursor';
    }
  }), { numRuns: 2000 });
  t.end();
});

t.test('a cursor with a true digest but no possible row is refused', (t) => {
  for (const bad of [{ ...key, timestamp: -1 }, { ...key, timestamp: 7_258_118_400_000_000 }, { ...key, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }]) {
    t.throws(() => decodeCursor(binding, 'desc', encodeCursor(binding, 'desc', bad)), invalid);
  }
  t.end();
});
