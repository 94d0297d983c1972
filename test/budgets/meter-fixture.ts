import { createMeter } from '../../src/budgets/meter.ts';
import type { MeterResult } from '../../src/budgets/contract.ts';
import type { Counter } from '../../src/policy/model.ts';
import { readPolicyText } from '../../src/policy/read-policy.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Counters as a document gives them, checked and compiled. */
export function countersOf(...fields: readonly Fields[]): readonly Counter[] {
  const document = [{
    name: 'api',
    type: 'http',
    allow: [{ domains: ['api.example.com'], methods: ['POST'] }],
    transforms: [{ header: { name: 'Accept-Encoding', action: 'set', value: '"identity"' } }],
    budgets: { counters: fields },
  }];
  const { policy, problems } = readPolicyText(JSON.stringify(document));
  if (policy === undefined) throw new Error(problems.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  return policy.document.capabilities[0]?.counters ?? [];
}

const bodyFields = { source: 'response', requires_body: true, format: 'application/json', encoding: 'identity', status_codes: ['2xx'] };

/** An SSE counter `c` of `event.n`, summed up, ended by an event of type `end`. */
export function sse(fields: Fields = {}): Fields {
  const ended = Object.keys(fields).some((key) => key.startsWith('terminal_'));
  return { name: 'c', ...bodyFields, framing: 'sse', value: 'event.n', accumulator: 'sum', ...(ended ? {} : { terminal_event_type: 'end' }), ...fields };
}

export function document(fields: Fields = {}): Fields {
  return { name: 'c', ...bodyFields, framing: 'single_document', value: 'response.body.n', accumulator: 'last', ...fields };
}

export type Response = { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Uint8Array; readonly clean?: boolean; readonly documentBytesMax?: number; readonly eventBytesMax?: number };

export const jsonHead = { 'content-type': 'application/json' };
export const sseHead = { 'content-type': 'text/event-stream; charset=utf-8' };

export function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** Meters a response that came in pieces cut at `cuts` (offsets in any order). */
export function meter(counters: readonly Counter[], response: Response, cuts: readonly number[] = []): MeterResult {
  const { status = 200, headers = {}, body = '', clean = true, documentBytesMax = 10_000, eventBytesMax = 1_000 } = response;
  const watching = createMeter({ counters, head: { status, headers: new Map(Object.entries(headers)) }, limits: { documentBytesMax, eventBytesMax } });
  const bytes = bytesOf(body);
  const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
  for (const [index, from] of at.slice(0, -1).entries()) {
    // Each piece in memory of its own that is overwritten afterwards, as a socket's buffer would be.
    const piece = Uint8Array.from(bytes.subarray(from, at[index + 1]));
    watching.onChunk(piece);
    piece.fill(0xff);
  }
  return watching.finish(clean);
}

/** `[debit, reason]` of the one counter; undefined when it says nothing. */
export function outcome(result: MeterResult, name = 'c'): readonly [bigint | undefined, string | undefined] | undefined {
  return result.debits.has(name) || result.floored.has(name) ? [result.debits.get(name), result.floored.get(name)] : undefined;
}
