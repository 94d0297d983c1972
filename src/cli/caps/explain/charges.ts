import type { Reservation } from '../../../budgets/contract.ts';
import type { Counter, Scope, StatusRange } from '../../../policy/model.ts';
import type { OutgoingRequest } from '../../../transforms/contract.ts';

/** How a counter moves. `now` is taken before the request leaves; with `reserved`, what the response says takes its place. */
export type Charge = { readonly counter: Counter; readonly effect: 'charged' | 'reserved'; readonly now: bigint; readonly later: string };

export function chargeOf({ counter, amount }: Reservation, sent: OutgoingRequest, bodyBytes: number | undefined): Charge {
  switch (counter.source) {
    case 'request.count': return { counter, effect: 'charged', now: amount, later: '' };
    case 'request.bytes': return { counter, effect: 'charged', now: amount, later: bytesText(sent, bodyBytes) };
    case 'response.bytes': return { counter, effect: 'reserved', now: amount, later: `bytes of the body of a ${statusText(counter.statusCodes)} answer${failureText(counter)}` };
    case 'response': return { counter, effect: 'reserved', now: amount, later: `${accumulatorText(counter)} of a ${statusText(counter.statusCodes)} answer${failureText(counter)}` };
  }
}

/** In the end the bytes that were sent count, and transforms may have changed the body. */
function bytesText({ body }: OutgoingRequest, bodyBytes: number | undefined): string {
  if (bodyBytes === undefined) return 'the bytes of the body, once they are sent';
  const sentBytes = body.kind === 'buffered' ? Buffer.byteLength(body.text) : bodyBytes;
  return sentBytes === bodyBytes ? '' : `the ${sentBytes} bytes that are sent after the transforms`;
}

function accumulatorText({ accumulator, value, framing, requiresBody, sseEvent }: Counter): string {
  const source = `\`${(value?.source ?? '').replace(/\s+/g, ' ').trim()}\``;
  if (framing === 'sse') return `${accumulator === 'sum' ? 'sum' : accumulator === 'max' ? 'largest' : 'last'} of ${source} over the ${sseEvent === undefined ? '' : `${sseEvent} `}events`;
  return requiresBody ? `${source} from the JSON body` : `${source} from the head`;
}

function failureText({ failureCharge }: Counter): string {
  return failureCharge > 0n ? `, at least ${failureCharge} when it is cut off or cannot be read` : '';
}

export function statusTexts(ranges: readonly StatusRange[]): readonly string[] {
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`));
}

function statusText(ranges: readonly StatusRange[]): string {
  return statusTexts(ranges).join('/');
}

/** `workspace 4000 per 1h, task 20`: the ceilings, or that there is none. */
export function ceilingText({ workspace, task, maxConcurrent }: Counter): string {
  const texts = [
    ...[['workspace', workspace] as const, ['task', task] as const].flatMap(([name, scope]) => (scope === undefined ? [] : [`${name} ${scopeText(scope)}`])),
    ...(maxConcurrent > 0 ? [`${maxConcurrent} at a time`] : []),
  ];
  return texts.length === 0 ? 'measures only' : texts.join(', ');
}

function scopeText({ max, ttlMs }: Scope): string {
  const most = max === 0n ? 'unlimited' : `at most ${max}`;
  return ttlMs === undefined ? most : `${most} per ${durationText(ttlMs)}`;
}

const units = [['h', 3_600_000], ['m', 60_000], ['s', 1_000], ['ms', 1]] as const;

/** As a policy writes it: 24h, 1h30m. */
function durationText(durationMs: number): string {
  let left = durationMs;
  return units.flatMap(([unit, unitMs]) => {
    const count = Math.floor(left / unitMs);
    left -= count * unitMs;
    return count > 0 ? [`${count}${unit}`] : [];
  }).join('');
}
