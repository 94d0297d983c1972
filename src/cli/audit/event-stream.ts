import { setTimeout as sleep } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { ApiTarget } from '../target.ts';
import type { Params } from './api-call.ts';
import { apiUrl, authorization, refusal, unreachable } from './api-call.ts';
import { CommandFailure, exitCodes } from './failure.ts';

export type StreamedEvent = { readonly id: string; readonly data: string };

export type StreamOptions = {
  readonly lastEventId?: string | undefined;
  readonly signal: AbortSignal;
  /** Called when a broken or refused connection is tried again. */
  readonly onRetry: (why: string, pauseMs: number) => void;
};

/** The server sends something every 15 seconds (contract 4.5); a connection that is silent for this long is dead. */
const silenceMs = 60_000;
const retryMsMin = 250;
const retryMsMax = 15_000;
const eventCharactersMax = 8 * 1_048_576;

type Place = { lastEventId: string | undefined };

/** One connection, from `place` on, which it keeps up to date. Ends when the server closes it; throws CommandFailure when it cannot be made or breaks. */
async function* connection(target: ApiTarget, path: string, params: Params, place: Place, signal: AbortSignal): AsyncGenerator<StreamedEvent> {
  const { lastEventId } = place;
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const alive = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
  };
  try {
    const response = await fetch(apiUrl(target, path, params), {
      headers: { ...authorization(target), accept: 'text/event-stream', ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
      redirect: 'error',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok || response.body === null) throw refusal(response.status, await response.text());
    const watched = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ transform(bytes, controller) { alive(); controller.enqueue(bytes); } }));
    const events = watched.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream({ maxBufferSize: eventCharactersMax }));
    for await (const event of events) {
      yield { id: event.id ?? '', data: event.data };
      // After the yield: an event counts as seen when it has been dealt with.
      if (event.id !== undefined && event.id !== '') place.lastEventId = event.id;
    }
  } catch (error) {
    throw error instanceof CommandFailure ? error : unreachable(target, error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Events of a live stream (contract 4.5) until `signal` is aborted. A stream that ends or breaks is opened again behind the last event
 * seen, so none is lost and none comes twice. Throws CommandFailure when the API refuses it (4xx).
 */
export async function* followStream(target: ApiTarget, path: string, params: Params, { lastEventId, signal, onRetry }: StreamOptions): AsyncGenerator<StreamedEvent> {
  const place: Place = { lastEventId };
  let pauseMs = retryMsMin;
  while (!signal.aborted) {
    try {
      for await (const event of connection(target, path, params, place, signal)) {
        pauseMs = retryMsMin;
        yield event;
      }
      // Closed in good order, as every five minutes: come back, but not in a tight loop.
      await sleep(retryMsMin, undefined, { signal }).catch(() => undefined);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof CommandFailure) || error.exitCode !== exitCodes.unavailable) throw error;
      onRetry(error.message, pauseMs);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, retryMsMax);
    }
  }
}
