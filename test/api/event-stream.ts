import { createParser } from 'eventsource-parser';
import type { Query } from './ask.ts';
import { queryText } from './ask.ts';
import type { AuditEvent } from '../../src/events/event.ts';

export type Received = { readonly event: string; readonly id: string; readonly row: AuditEvent };

export type StreamClient = {
  readonly status: number;
  readonly headers: Headers;
  /** JSON of an answer that is no stream. */
  readonly body: unknown;
  readonly events: Received[];
  readonly comments: string[];
  /** Resolves when `count` events are here; rejects when the stream ends before. */
  readonly received: (count: number) => Promise<Received[]>;
  readonly commented: (text: string) => Promise<void>;
  readonly ended: Promise<void>;
  readonly close: () => void;
};

/** A client of a live stream that gathers everything it is sent. */
export async function openEventStream(base: string, path: string, options: { credential?: string; query?: Query; lastEventId?: string } = {}): Promise<StreamClient> {
  const { credential, query = {}, lastEventId } = options;
  const abort = new AbortController();
  const response = await fetch(`${base}${path}${queryText(query)}`, {
    signal: abort.signal,
    headers: {
      accept: 'text/event-stream',
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  });
  const events: Received[] = [];
  const comments: string[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  const body: unknown = isStream ? undefined : await response.json();
  const parser = createParser({
    onEvent: (message) => events.push({ event: message.event ?? '', id: message.id ?? '', row: JSON.parse(message.data) as AuditEvent }),
    onComment: (comment) => comments.push(comment.trim()),
  });
  async function read(): Promise<void> {
    try {
      if (!isStream || response.body === null) return;
      const decoder = new TextDecoder();
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        parser.feed(decoder.decode(chunk, { stream: true }));
        for (const wake of waiting) wake();
      }
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    } finally {
      over = true;
      for (const wake of waiting) wake();
    }
  }
  const ended = read();
  ended.catch(() => undefined);
  async function until(holds: () => boolean, what: string): Promise<void> {
    while (!holds()) {
      if (over) throw new Error(`the stream ended before ${what}; events ${events.length}, comments ${JSON.stringify(comments)}`);
      let wake = (): void => undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
        waiting.add(wake);
      });
      waiting.delete(wake);
    }
  }
  return {
    status: response.status, headers: response.headers, body, events, comments, ended,
    received: async (count) => {
      await until(() => events.length >= count, `${count} events`);
      return events;
    },
    commented: (text) => until(() => comments.some((comment) => comment.includes(text)), JSON.stringify(text)),
    close: () => abort.abort(),
  };
}
