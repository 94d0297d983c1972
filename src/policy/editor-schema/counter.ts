import type { JsonSchema } from './json-schema.ts';
import { absent, celSchema, fieldsSchema, given, identifierSchema, when } from './json-schema.ts';

const amount = (description: string): JsonSchema => ({ description, type: 'integer', minimum: 0 });

const scope = (description: string): JsonSchema => fieldsSchema(description, ['max'], {
  max: amount('The ceiling; 0 is unlimited'),
  ttl: {
    description: 'How long a window lasts, from its first request on. Left out: it never resets',
    type: 'string',
    pattern: '^(\\+?(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)?$',
    examples: ['5m', '1h', '24h'],
  },
});

const terminators = ['terminal_event_type', 'terminal_sentinel', 'terminal_cel'] as const;
const document = ['framing', 'format', 'encoding'] as const;
const pairs = terminators.flatMap((one, index) => terminators.slice(index + 1).map((other) => [one, other] as const));

/** The per-source table of contract 2.7. */
const bySource: readonly JsonSchema[] = [
  when('source', ['request.count', 'request.bytes'], absent('value', 'requires_body', 'sse_event', 'reserve_per_request', 'failure_charge', ...document, ...terminators)),
  when('source', ['response.bytes'], { allOf: [given('status_codes'), absent('value', 'requires_body', 'sse_event', ...document, ...terminators)] }),
  when('source', ['response'], {
    allOf: [
      given('value', 'status_codes', 'accumulator'),
      when('requires_body', [true], { allOf: [given(...document), when('framing', ['sse'], { oneOf: terminators.map((key) => given(key)) }, absent('sse_event'))] }, absent('sse_event', ...document, ...terminators)),
    ],
  }),
];

/** Budget counter (contract 2.7). */
export const counterSchema: JsonSchema = fieldsSchema('Counts usage, and holds it below the ceilings of a workspace and a task', ['name', 'source'], {
  name: identifierSchema('Unique within the capability'),
  source: { description: 'What is counted: requests, bytes of request bodies, bytes of responses, or a value read from responses', enum: ['request.count', 'request.bytes', 'response.bytes', 'response'] },
  value: celSchema('The number to count, for source response: from response.status and response.headers, from response.body, or from event.'),
  requires_body: { description: 'For source response: whether value reads the body', type: 'boolean', default: false },
  framing: { description: 'How the body is cut: one document, or server-sent events', enum: ['', 'single_document', 'sse'] },
  format: { description: 'What a document or an event holds', enum: ['', 'application/json'] },
  encoding: { description: 'Bodies are read uncompressed', enum: ['', 'identity'] },
  sse_event: { description: 'Look only at server-sent events of this type', type: 'string' },
  status_codes: {
    description: 'Responses that count: exact codes, ranges, families',
    type: 'array',
    items: { type: 'string', pattern: '^([1-5][0-9]{2}(-[1-5][0-9]{2})?|[1-5]xx)$', examples: ['200', '200-299', '2xx'] },
  },
  accumulator: { description: 'How the values of one response make one: max for running totals, sum for parts, last for replacements', enum: ['', 'max', 'sum', 'last'] },
  reserve_per_request: amount('Set aside when a request starts, given back when its real amount is known'),
  failure_charge: amount('Least debit when a stream ends without its terminator; at most the max of each scope'),
  max_concurrent: { description: 'Requests that may hold a reservation at a time; 0 is unlimited', type: 'integer', minimum: 0, maximum: 2147483647, default: 0 },
  workspace: scope('Ceiling of the workspace'),
  task: scope('Ceiling of a task, at most that of the workspace'),
  terminal_event_type: { description: 'Type of the server-sent event that ends a stream', type: 'string' },
  terminal_sentinel: { description: 'Text that marks the end of a stream', type: 'string', examples: ['[DONE]'] },
  terminal_cel: celSchema('True for the event that ends a stream.'),
}, { allOf: [...bySource, ...pairs.map(([one, other]) => ({ not: { allOf: [given(one), given(other)] } }))] });
