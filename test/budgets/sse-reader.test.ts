import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import t from 'tap';
import { createSseReader } from '../../src/budgets/sse-reader.ts';
import type { SseEvent } from '../../src/budgets/sse-reader.ts';

function read(bytes: Uint8Array, cuts: readonly number[] = [], eventBytesMax = 1_000_000): SseEvent[] {
  const events: SseEvent[] = [];
  const reader = createSseReader(eventBytesMax, (event) => events.push(event));
  const at = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (const [index, from] of at.slice(0, -1).entries()) reader.push(Uint8Array.from(bytes.subarray(from, at[index + 1])));
  reader.end();
  return events;
}
const shown = (text: string, eventBytesMax?: number): unknown[] => read(Buffer.from(text), [], eventBytesMax).map(({ type, data }) => [type, data]);

t.test('the grammar of text/event-stream', async (t) => {
  const table: readonly (readonly [string, string, readonly unknown[]])[] = [
    ['one', 'data: a\n\n', [['message', 'a']]],
    ['no space, two spaces', 'data:a\n\ndata:  a\n\n', [['message', 'a'], ['message', ' a']]],
    ['CRLF', 'event: e\r\ndata: a\r\n\r\n', [['e', 'a']]],
    ['CR alone', 'event: e\rdata: a\r\r', [['e', 'a']]],
    ['all mixed', 'data: a\rdata: b\ndata: c\r\n\r\rdata: d\n\r\n', [['message', 'a\nb\nc'], ['message', 'd']]],
    ['several lines', 'data: a\ndata\ndata:\ndata: b\n\n', [['message', 'a\n\n\nb']]],
    ['empty data is an event, no data is none', 'data\n\nevent: x\n\nid: 1\n\n', [['message', '']]],
    ['a type does not outlive its event', 'event: x\n\ndata: a\n\n', [['message', 'a']]],
    ['the last type counts, also an empty one', 'event: x\nevent: y\ndata: a\n\nevent: x\nevent\ndata: b\n\n', [['y', 'a'], ['message', 'b']]],
    ['comments, ids, retries, unknown fields', ': hi\nid: 1\nretry: 5\nfoo: bar\ndata: a\n:\n\n', [['message', 'a']]],
    ['names are compared exactly', 'Data: a\n data: b\ndata : c\ndatas: d\ndata: e\n\n', [['message', 'e']]],
    ['colons in data', 'data: {"a":1}\n\n', [['message', '{"a":1}']]],
    ['a BOM at the start only', '\uFEFFdata: a\n\n\uFEFFdata: b\n\ndata: \uFEFFc\n\n', [['message', 'a'], ['message', '\uFEFFc']]],
    ['a BOM alone on a line', '\uFEFF\ndata: a\n\n', [['message', 'a']]],
    ['an event without its blank line is none', 'data: a\n\ndata: b\n', [['message', 'a']]],
    ['nor one in the middle of a line', 'data: a\n\ndata: b', [['message', 'a']]],
    ['NUL is a character', 'data: a\0b\n\n', [['message', 'a\0b']]],
    ['LF after CR of the blank line', 'data: a\r\n\r\ndata: b\r\n\r\n', [['message', 'a'], ['message', 'b']]],
    ['blank lines only', '\n\r\n\r\r\n', []],
  ];
  for (const [what, text, expected] of table) t.strictSame(shown(text), expected, what);
  t.strictSame(read(Buffer.from([...Buffer.from('data: '), 0xc3, 10, 10])).map(({ data }) => data), ['\uFFFD'], 'bytes that are no UTF-8 are replaced');
});

t.test('what is over the bound is read over, and said', async (t) => {
  const x = (count: number): string => 'x'.repeat(count);
  t.strictSame(shown(`data:${x(15)}\n\n`, 20), [['message', x(15)]], 'as long as may be');
  t.strictSame(shown(`data:${x(16)}\n\ndata: b\n\n`, 20), [['message', undefined], ['message', 'b']], 'one byte more');
  t.strictSame(shown(`data: ${x(4)}\ndata:${x(4)}\n\n`, 20), [['message', `${x(4)}\n${x(4)}`]], 'over two lines');
  t.strictSame(shown(`data: ${x(4)}\ndata: ${x(4)}\n\n`, 20), [['message', undefined]], 'over two lines, one byte more');
  t.strictSame(shown(`data:${x(16)}\nevent: e\n\n`, 20), [['e', undefined]], 'its type is still heard');
  t.strictSame(shown(`event:${x(15)}\ndata: b\n\n`, 20), [[undefined, undefined]], 'unless that is what is too long');
  t.strictSame(shown(`:${x(100)}\nid:${x(100)}\ndatax:${x(100)}\ndata: b\n\n`, 20), [['message', 'b']], 'other lines may be as long as they like');
  t.strictSame(shown(`data:${x(16)}`, 20), [[undefined, undefined]], 'a line that never ends');
  t.strictSame(shown(`event: e\ndata:${x(16)}\n`, 20), [['e', undefined]], 'an event that never ends');
  t.strictSame(shown(`data:${x(15)}`, 20), []);
  t.strictSame(shown(`:${x(100)}`, 20), []);
  t.strictSame(shown(`\uFEFFdata:${x(15)}\n\n`, 20), [['message', x(15)]], 'a BOM does not count');
  const cut = Buffer.from('\uFEFFevents\ndata\n\n');
  t.strictSame(read(cut, Array.from(cut.keys()), 5), read(cut, [], 5), 'a bound shorter than the name of a field');
});

t.test('an endless line, byte by byte, keeps no more than the bound', async (t) => {
  const eventBytesMax = 64 * 1024;
  const events: SseEvent[] = [];
  const reader = createSseReader(eventBytesMax, (event) => events.push(event));
  reader.push(Buffer.from('data: '));
  const before = process.memoryUsage().arrayBuffers;
  const chunk = Buffer.alloc(7, 'x');
  for (let sent = 0; sent < 4_000_000; sent += chunk.length) reader.push(chunk);
  t.ok(process.memoryUsage().arrayBuffers - before < 8 * eventBytesMax);
  reader.push(Buffer.from('\n\ndata: b\n\n'));
  t.strictSame(events.map(({ data }) => data), [undefined, 'b']);
});

/** Texts of the pieces that matter to the grammar, in any order. */
const pieces = fc.array(fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('data', 'event', ':', ' ', '\n', '\r', '\r\n', '\n\n', 'data: ', 'event: ', 'id: ', 'retry: 10', 'x', '\uFEFF', 'é', '漢', '😀', '[DONE]', '{"n":1}') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
), { maxLength: 60 }).map((parts) => parts.join(''));

t.test('any split of the bytes gives the same events, with and without a bound', async () => {
  fc.assert(fc.property(pieces, fc.array(fc.nat(400), { maxLength: 40 }), fc.constantFrom(1_000_000, 12, 5), (text, wanted, bound) => {
    const bytes = Buffer.from(text);
    const cuts = wanted.map((cut) => Math.min(cut, bytes.length));
    const whole = JSON.stringify(read(bytes, [], bound));
    const bytewise = JSON.stringify(read(bytes, Array.from(bytes.keys()), bound));
    return JSON.stringify(read(bytes, cuts, bound)) === whole && bytewise === whole;
  }), { numRuns: 5_000 });
});

t.test('the same events as eventsource-parser reads', async () => {
  fc.assert(fc.property(pieces, (text) => {
    const theirs: unknown[] = [];
    const parser = createParser({ onEvent: ({ event, data }) => theirs.push([event ?? 'message', data]) });
    // Buffer.from replaces lone surrogates, and that parser takes the characters ï»¿ for a BOM as well.
    const sent = Buffer.from(text).toString();
    fc.pre(!sent.startsWith('ï»¿'));
    parser.feed(sent);
    return JSON.stringify(shown(text)) === JSON.stringify(theirs);
  }), { numRuns: 5_000 });
});
