import type { Counter } from '../policy/model.ts';
import type { Meter, ResponseHead } from './contract.ts';
import { watchEventStream } from './event-stream.ts';
import { Extraction } from './extraction.ts';
import { charged, meterResult } from './failure-charge.ts';
import type { CounterResult } from './failure-charge.ts';
import { headMismatch } from './head-mismatch.ts';
import { watchDocument } from './single-document.ts';
import type { BodyWatch } from './single-document.ts';
import { matchesStatus } from './status-filter.ts';

export type MeterDeps = {
  /** Of the capability, all of them; those over the request are passed by. */
  readonly counters: readonly Counter[];
  /** Of the final response as it came from the upstream. */
  readonly head: ResponseHead;
  readonly limits: { readonly documentBytesMax: number; readonly eventBytesMax: number };
};

type Group = { readonly counters: readonly Counter[]; readonly watch: BodyWatch };

/**
 * Meters one response for all its counters (contract 2.7, 6.5). Bytes are those of the body on the wire, before any decoding. Nothing an
 * upstream sends makes it throw. The order of reasons is in failure-charge.ts, what counts in a stream in event-stream.ts.
 * A counter of the headers phase is evaluated at the end all the same, because `response.size` is not known earlier; the body is only
 * asked for where its expression names `size`.
 */
export function createMeter({ counters, head, limits }: MeterDeps): Meter {
  const matching = counters.filter((counter) => (counter.source === 'response' || counter.source === 'response.bytes') && matchesStatus(counter, head.status));
  const overBody = matching.filter((counter) => counter.source === 'response' && counter.requiresBody);
  const mismatches = new Map(overBody.map((counter) => [counter, headMismatch(counter, head)]));
  const readable = overBody.filter((counter) => mismatches.get(counter) === undefined);
  const documents = readable.filter(({ framing }) => framing !== 'sse');
  const streams = readable.filter(({ framing }) => framing === 'sse');
  const groups: readonly Group[] = [
    ...(documents.length === 0 ? [] : [{ counters: documents, watch: watchDocument(documents, head, limits.documentBytesMax) }]),
    ...(streams.length === 0 ? [] : [{ counters: streams, watch: watchEventStream(streams, head, limits.eventBytesMax) }]),
  ];
  const countsBytes = matching.some((counter) => counter.source === 'response.bytes' || (!counter.requiresBody && namesSize(counter)));
  let sizeBytes = 0;

  const withoutBody = (counter: Counter): CounterResult => {
    if (counter.source === 'response.bytes') return charged(counter, BigInt(sizeBytes), undefined);
    const mismatch = mismatches.get(counter);
    if (mismatch !== undefined) return charged(counter, 0n, mismatch);
    const extraction = new Extraction(counter);
    extraction.evaluate({ response: { ...head, size: sizeBytes } });
    return charged(counter, extraction.amount, extraction.failure);
  };

  return {
    headersOnly: groups.length === 0 && !countsBytes,
    onChunk(chunk) {
      sizeBytes += chunk.length;
      for (const { watch } of groups) watch.onChunk(chunk);
    },
    finish(clean) {
      const found = new Map<Counter, CounterResult>();
      for (const { counters: watched, watch } of groups) {
        for (const [index, result] of watch.finish(clean, sizeBytes).entries()) {
          const counter = watched[index];
          if (counter !== undefined) found.set(counter, result);
        }
      }
      return meterResult(matching.map((counter) => ({ counter, result: found.get(counter) ?? withoutBody(counter) })));
    },
  };
}

/** May say yes too often (a header called `size`); then the body is counted for nothing. */
function namesSize({ value }: Counter): boolean {
  return value?.source.includes('size') === true;
}
