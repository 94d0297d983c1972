import type { CelBindings } from '../policy/cel/contract.ts';
import type { Counter, Terminator } from '../policy/model.ts';
import { readStrictJson } from '../kernel/strict-json.ts';
import type { ResponseHead } from './contract.ts';
import { Extraction } from './extraction.ts';
import { charged } from './failure-charge.ts';
import type { BodyWatch } from './single-document.ts';
import { createSseReader } from './sse-reader.ts';
import type { SseEvent } from './sse-reader.ts';

type StreamCounter = { readonly counter: Counter; readonly extraction: Extraction; terminated: boolean };

/** `data` of an event, parsed once for all counters: an object, other JSON (nothing to extract from), or no JSON. */
type EventData = { readonly kind: 'object'; readonly event: object } | { readonly kind: 'other' } | { readonly kind: 'unparsable' };

/**
 * Counters over one event stream (contract 2.7). For each event and counter, in this order:
 * 1. `terminal_sentinel`: data equal to the literal ends the stream; it is not JSON and nothing is extracted from it.
 * 2. Where `sse_event` is absent or equals the event's type, `value` is evaluated over the data as a JSON object. Other JSON is passed over;
 *    what is no JSON, or is over the bound, is `parse_failed`. What comes after such an event is still extracted.
 * 3. `terminal_event_type`, or `terminal_cel` over the event whatever its type, ends the stream; the event that ends it counts, as
 *    providers send their usage in it. A `terminal_cel` that cannot be evaluated does not end it: most events lack what it looks for.
 * After its end a stream says no more to the counter, and it no longer matters how the connection ended.
 */
export function watchEventStream(counters: readonly Counter[], head: ResponseHead, eventBytesMax: number): BodyWatch {
  const watched: StreamCounter[] = counters.map((counter) => ({ counter, extraction: new Extraction(counter), terminated: false }));
  const reader = createSseReader(eventBytesMax, (event) => {
    let data: EventData | undefined;
    for (const one of watched) {
      if (one.terminated) continue;
      if (event.data !== undefined && one.counter.terminator?.kind === 'sentinel' && event.data === one.counter.terminator.value) {
        one.terminated = true;
        continue;
      }
      const narrowed = narrows(one.counter, event);
      if (!narrowed && one.counter.terminator?.kind === 'sentinel') continue;
      const needsData = narrowed || one.counter.terminator?.kind === 'cel';
      if (needsData) data ??= dataOf(event);
      const bindings = data?.kind === 'object' ? { response: { ...head, size: event.endBytes }, event: data.event } : undefined;
      if (narrowed && bindings !== undefined) one.extraction.evaluate(bindings);
      else if (narrowed && data?.kind === 'unparsable') one.extraction.fail('parse_failed');
      one.terminated = ends(one.counter.terminator, event, bindings);
    }
  });
  return {
    onChunk: (chunk) => reader.push(chunk),
    finish(clean) {
      reader.end();
      return watched.map(({ counter, extraction, terminated }) => {
        // The checker gives each event stream counter a terminator; without one a clean end is the only sign.
        const ended = counter.terminator === undefined ? clean : terminated;
        return charged(counter, extraction.amount, extraction.failure ?? (ended ? undefined : 'terminator_not_observed'));
      });
    },
  };
}

/** An event whose type is not known may be of any. */
function narrows({ sseEvent }: Counter, { type }: SseEvent): boolean {
  return sseEvent === undefined || type === undefined || type === sseEvent;
}

function dataOf({ data }: SseEvent): EventData {
  const json = data === undefined ? undefined : readStrictJson(data);
  if (json?.ok !== true) return { kind: 'unparsable' };
  return typeof json.value === 'object' && json.value !== null && !Array.isArray(json.value) ? { kind: 'object', event: json.value } : { kind: 'other' };
}

function ends(terminator: Terminator | undefined, event: SseEvent, bindings: CelBindings | undefined): boolean {
  if (terminator?.kind === 'event_type') return event.type === terminator.value;
  if (terminator?.kind !== 'cel' || bindings === undefined) return false;
  try {
    const result = terminator.program.evaluate(bindings);
    return result.ok && result.value;
  } catch {
    // As in extraction.ts: a program answers its failures.
    return false;
  }
}
