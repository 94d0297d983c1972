import { readStrictJson } from '../kernel/strict-json.ts';
import type { Counter } from '../policy/model.ts';
import { ByteBuffer } from './byte-buffer.ts';
import type { ResponseHead } from './contract.ts';
import { Extraction } from './extraction.ts';
import { charged } from './failure-charge.ts';
import type { CounterResult } from './failure-charge.ts';

export type BodyWatch = {
  onChunk(chunk: Uint8Array): void;
  /** One result for each counter, in their order. `sizeBytes` is the whole body's. */
  finish(clean: boolean, sizeBytes: number): readonly CounterResult[];
};

/** Counters over one JSON document, kept once for all of them up to `documentBytesMax`; a longer one is `parse_failed`. */
export function watchDocument(counters: readonly Counter[], head: ResponseHead, documentBytesMax: number): BodyWatch {
  let body: ByteBuffer | undefined = new ByteBuffer(documentBytesMax);
  return {
    onChunk(chunk) {
      body?.append(chunk);
      // Nothing is made of the beginning of a document: its memory goes.
      if (body !== undefined && body.seen > documentBytesMax) body = undefined;
    },
    finish(clean, size) {
      const document = body === undefined ? undefined : parsed(body.bytes);
      // An object or array that was cut does not parse; a number that was cut does, as a smaller one.
      const usable = document !== undefined && (clean || (typeof document.value === 'object' && document.value !== null));
      return counters.map((counter) => {
        const extraction = new Extraction(counter);
        if (usable) extraction.evaluate({ response: { ...head, size, body: document.value } });
        else extraction.fail('parse_failed');
        return charged(counter, extraction.amount, extraction.failure);
      });
    },
  };
}

function parsed(bytes: Uint8Array): { readonly value: unknown } | undefined {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8, so not JSON (RFC 8259).
    return undefined;
  }
  const json = readStrictJson(text);
  return json.ok ? { value: json.value } : undefined;
}
