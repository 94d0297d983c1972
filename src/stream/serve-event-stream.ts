import type { Subscription } from './hub.ts';
import { createSseWriter } from './sse-writer.ts';
import type { SseWriter, SseWriterOptions } from './sse-writer.ts';

export type ServeOptions = Omit<SseWriterOptions, 'onClosed'> & {
  readonly subscription: Subscription;
  readonly onClosed?: SseWriterOptions['onClosed'];
};

/**
 * Joins a subscription to a response whose headers are written. The order that loses nothing: `hub.subscribe` (an error can still become
 * a status), then the headers, then this. The client's going ends the subscription, the subscription's end ends the response.
 */
export function serveEventStream({ subscription, onClosed, ...options }: ServeOptions): SseWriter {
  const writer = createSseWriter({
    ...options,
    onClosed(reason) {
      subscription.unsubscribe();
      onClosed?.(reason);
    },
  });
  // Also sends the headers on their way, so that a client knows it is connected before the first row.
  writer.comment(subscription.origin === 'unknown_event_id' ? 'Last-Event-ID is unknown here: starting with rows committed from now on' : 'connected');
  subscription.start(writer);
  return writer;
}
