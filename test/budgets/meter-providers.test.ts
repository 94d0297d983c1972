import fc from 'fast-check';
import t from 'tap';
import type { Counter } from '../../src/policy/model.ts';
import { bytesOf, countersOf, document, jsonHead, meter, sse, sseHead } from './meter-fixture.ts';
import type { Response } from './meter-fixture.ts';

/** Events as the two kinds of providers send them: named events with cumulative usage, and bare chunks whose last carries the total. */
const named = (events: readonly Readonly<Record<string, unknown>>[], newline = '\n'): string =>
  events.map((event) => [`event: ${String(event['type'])}`, `data: ${JSON.stringify(event)}`, '', ''].join(newline)).join('');
const bare = (chunks: readonly unknown[]): string => chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join('');

const messages = [
  { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null, usage: { input_tokens: 472, output_tokens: 2 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  ...['Grüezi ', '漢字 ', '😀'].map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: null, stop_sequence: null }, usage: { output_tokens: 30 } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 89 } },
  { type: 'message_stop' },
];
const chunk = (choices: readonly unknown[], usage: unknown): unknown => ({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, usage });
const chunks = [
  chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }], null),
  chunk([{ index: 0, delta: { content: 'Grüezi 😀' }, finish_reason: null }], null),
  chunk([{ index: 0, delta: {}, finish_reason: 'stop' }], null),
  chunk([], { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 }),
  '[DONE]',
];

const messageCounters = countersOf(
  sse({ name: 'output', sse_event: 'message_delta', value: 'event.usage.output_tokens', accumulator: 'max', terminal_event_type: 'message_stop', failure_charge: 20 }),
  sse({ name: 'output_last', sse_event: 'message_delta', value: 'event.usage.output_tokens', accumulator: 'last', terminal_cel: 'event.type == "message_stop"' }),
  sse({ name: 'output_wrong', sse_event: 'message_delta', value: 'event.usage.output_tokens', accumulator: 'sum', terminal_event_type: 'message_stop' }),
  sse({ name: 'input', sse_event: 'message_start', value: 'event.message.usage.input_tokens', accumulator: 'max', terminal_event_type: 'message_stop' }),
  sse({ name: 'texts', sse_event: 'content_block_delta', value: 'size(event.delta.text)', accumulator: 'sum', terminal_event_type: 'message_stop' }),
  sse({ name: 'at', sse_event: 'message_stop', value: 'response.size', accumulator: 'last', terminal_event_type: 'message_stop' }),
  { name: 'bytes', source: 'response.bytes', status_codes: ['200'] },
);
const usage = '(has(event.usage) && event.usage != null) ? event.usage.total_tokens : 0';
const chunkCounters = countersOf(
  sse({ name: 'total', value: usage, accumulator: 'last', terminal_sentinel: '[DONE]', failure_charge: 20 }),
  sse({ name: 'total_cel', value: usage, accumulator: 'sum', terminal_cel: 'event.usage != null' }),
  sse({ name: 'strict', value: 'event.usage.total_tokens', accumulator: 'last', terminal_sentinel: '[DONE]', failure_charge: 20 }),
);

t.test('a message stream: usage so far in named events', async (t) => {
  const body = named(messages);
  const { debits, floored } = meter(messageCounters, { headers: sseHead, body });
  t.strictSame(Object.fromEntries(debits), { output: 89n, output_last: 89n, output_wrong: 119n, input: 472n, texts: 11n, at: BigInt(Buffer.byteLength(body)), bytes: BigInt(Buffer.byteLength(body)) });
  t.strictSame([...floored], []);
  const cut = meter(messageCounters, { headers: sseHead, body: named(messages.slice(0, -2)), clean: false });
  t.strictSame([cut.debits.get('output'), cut.debits.get('input')], [30n, 472n]);
  t.strictSame([...new Set(cut.floored.values())], ['terminator_not_observed']);
  const early = meter(messageCounters, { headers: sseHead, body: named(messages.slice(0, 3)), clean: false });
  t.strictSame(early.debits.get('output'), 20n, 'hanging up before the usage costs the failure charge');
});

t.test('completion chunks: the total in the last one', async (t) => {
  const { debits, floored } = meter(chunkCounters, { headers: sseHead, body: bare(chunks) });
  t.strictSame(Object.fromEntries(debits), { total: 29n, total_cel: 29n, strict: 29n });
  t.strictSame(Object.fromEntries(floored), { strict: 'cel_eval_error' }, 'usage: null is no integer');
  const without = meter(chunkCounters, { headers: sseHead, body: bare([...chunks.slice(0, 3), '[DONE]']) });
  t.strictSame([without.debits.get('total'), without.floored.get('total')], [20n, 'extracted_below_failure_charge'], 'a provider that leaves usage out is not free');
  const cut = meter(chunkCounters, { headers: sseHead, body: bare(chunks.slice(0, 4)), clean: false });
  t.strictSame([cut.debits.get('total'), cut.floored.get('total'), cut.floored.get('total_cel')], [29n, 'terminator_not_observed', undefined]);
});

t.test('one document with usage', async (t) => {
  const counters = countersOf(document({ name: 'total', value: 'response.body.usage.input_tokens + response.body.usage.output_tokens' }));
  const { debits } = meter(counters, { headers: jsonHead, body: JSON.stringify({ id: 'msg_1', content: [{ type: 'text', text: '😀' }], usage: { input_tokens: 12, output_tokens: 30 } }) });
  t.strictSame(debits.get('total'), 42n);
});

t.test('however the bytes are split, the result is the same', async (t) => {
  const responses: readonly (readonly [readonly Counter[], Response])[] = [
    [messageCounters, { headers: sseHead, body: named(messages) }],
    [messageCounters, { headers: sseHead, body: `\uFEFF${named(messages, '\r\n')}` }],
    [messageCounters, { headers: sseHead, body: named(messages, '\r'), eventBytesMax: 100 }],
    [chunkCounters, { headers: sseHead, body: bare(chunks) }],
    [chunkCounters, { headers: sseHead, body: bare([...chunks.slice(0, 2), '{"cut', ...chunks.slice(2)]), eventBytesMax: 150 }],
    [countersOf(document({ value: 'size(response.body.s)' })), { headers: jsonHead, body: '{"s": "Grüezi 😀 漢字"}' }],
    [countersOf(document()), { headers: jsonHead, body: '{"n": 123456}', documentBytesMax: 12 }],
  ];
  const text = ({ debits, floored }: ReturnType<typeof meter>): string => [...debits, ...floored].join(' ');
  for (const [counters, response] of responses) {
    const { length } = bytesOf(response.body ?? '');
    const whole = text(meter(counters, response));
    const offsets = Array.from({ length: length + 1 }, (_, index) => index);
    t.strictSame(offsets.filter((cut) => text(meter(counters, response, [cut])) !== whole), [], 'in two');
    t.equal(text(meter(counters, response, Array.from({ length }, (_, index) => index))), whole, 'byte by byte');
    t.doesNotThrow(() => fc.assert(fc.property(fc.array(fc.nat(length), { maxLength: 60 }), (cuts) => text(meter(counters, response, cuts)) === whole), { numRuns: 100 }), 'in many');
  }
});

t.test('no body makes the meter throw, and no debit is negative or over int64', async () => {
  const counters = [...messageCounters, ...chunkCounters.map((one) => ({ ...one, name: `${one.name}_c` })), ...countersOf(document({ name: 'whole' }))];
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(sseHead, jsonHead, {}), fc.boolean(), fc.array(fc.nat(300), { maxLength: 5 }), (noise, headers, clean, cuts) => {
    const body = Buffer.concat([noise.subarray(0, noise.length / 2), Buffer.from(named(messages.slice(5))), noise.subarray(noise.length / 2)]);
    const { debits } = meter(counters, { headers, body, clean }, cuts);
    return [...debits.values()].every((debit) => debit >= 0n && debit < 2n ** 63n);
  }), { numRuns: 500 });
});
