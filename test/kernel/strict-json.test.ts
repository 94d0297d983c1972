import fc from 'fast-check';
import t from 'tap';
import { readStrictJson } from '../../src/kernel/strict-json.ts';

t.test('reads what JSON.parse reads', async (t) => {
  fc.assert(fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
    const text = JSON.stringify(value, null, indent);
    const read = readStrictJson(text);
    return read.ok ? JSON.stringify(read.value) === JSON.stringify(JSON.parse(text)) : !text.isWellFormed() || /\\ud[89a-f]/i.test(text);
  }), { numRuns: 2_000 });
  t.match(readStrictJson(' {"a" : [1, -0.5e+2, true, false, null, "\\u00e9\\n\\ud83d\\ude00/\\/"]} '), { ok: true, value: { a: [1, -50, true, false, null, 'é\n😀//'] } });
});

t.test('accepts and refuses the same grammar as JSON.parse', async () => {
  const pieces = fc.constantFrom('{', '}', '[', ']', ':', ',', '"a"', '"b"', '1', '-', '0', '01', '1.', '.5', '1e5', '1e', 'true', 'nul', ' ', '\n', '\u00a0', '"\\x"', '"\\u12"', '"\u0001"', "'a'", '+1', 'NaN', '\ufeff');
  fc.assert(fc.property(fc.array(pieces, { maxLength: 9 }), (parts) => {
    const text = parts.join('');
    let native = true;
    try { JSON.parse(text); } catch { native = false; }
    const ours = readStrictJson(text);
    return ours.ok ? native : !native || ours.reason === 'duplicate_key';
  }), { numRuns: 20_000 });
});

t.test('keys are plain names, and escapes in them are kept apart', async (t) => {
  const read = readStrictJson('{"__proto__": {"polluted": 1}, "constructor": 2, "\\n": 3, "\\\\n": 4}');
  t.ok(read.ok);
  if (!read.ok) return;
  const value = read.value as Record<string, unknown>;
  t.strictSame(Object.keys(value), ['__proto__', 'constructor', '\n', '\\n']);
  t.equal(Object.getPrototypeOf(value), Object.prototype);
  t.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

const refused: readonly (readonly [text: string, reason: string, offset: number])[] = [
  ['{"a": 1, "a": 2}', 'duplicate_key', 9],
  ['{"a": 1, "\\u0061": 2}', 'duplicate_key', 9],
  ['{"__proto__": 1, "__proto__": 2}', 'duplicate_key', 17],
  ['["\\ud800"]', 'lone_surrogate', 9],
  ['["\ud800"]', 'lone_surrogate', 4],
  ['', 'syntax', 0],
  ['{} {}', 'syntax', 3],
  ['{"a": 1,}', 'syntax', 8],
  ['\ufeff{}', 'syntax', 0],
];
for (const [text, reason, offset] of refused) {
  t.test(`refuses ${JSON.stringify(text)}`, async (t) => { t.strictSame(readStrictJson(text), { ok: false, reason, offset }); });
}

t.test('depth and keys are bounded', async (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  t.equal(readStrictJson(nested(129)).ok, true);
  t.match(readStrictJson(nested(130)), { ok: false, reason: 'too_deep' });
  t.match(readStrictJson(nested(1_000_000)), { ok: false, reason: 'too_deep' });
  const wide = (keys: number) => JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, 0])));
  t.equal(readStrictJson(wide(10), { depthMax: 5, keysMax: 10 }).ok, true);
  t.match(readStrictJson(wide(11), { depthMax: 5, keysMax: 10 }), { ok: false, reason: 'too_many_keys' });
});

t.test('numbers can be kept as they were written', async (t) => {
  const text = '{"id":12345678901234567890,"a":1.0,"b":[1e400,-0,0.1,3],"c":{"d":5e-1}}';
  const read = readStrictJson(text, { depthMax: 9, keysMax: 9, rawNumbers: true });
  t.ok(read.ok);
  if (read.ok) t.equal(JSON.stringify(read.value), text);
});
