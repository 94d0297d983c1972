import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';

/** Follows `/v1/audit/stream` like a browser's event source does: reconnects when the connection ends, with the id of the last event. */
export function followStream(options: { baseUrl: string; apiKey: string; signal: AbortSignal; received: (id: string) => void; filter?: string }): { connected: Promise<void>; done: Promise<void> } {
  let lastId: string | undefined;
  let open: () => void = () => undefined;
  const connected = new Promise<void>((resolve) => (open = resolve));
  const url = new URL('/v1/audit/stream', options.baseUrl);
  if (options.filter !== undefined) url.searchParams.set('filter', options.filter);

  async function once(): Promise<void> {
    const parser = createParser({
      onEvent: (event) => {
        lastId = event.id;
        if (event.id !== undefined) options.received(event.id);
      },
    });
    const headers = { authorization: `Bearer ${options.apiKey}`, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
    const response = await fetch(url, { headers, signal: options.signal });
    if (response.status !== 200 || response.body === null) throw new Error(`stream answered ${response.status}`);
    open();
    const decoder = new TextDecoder();
    for await (const chunk of response.body) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  }

  async function follow(): Promise<void> {
    while (!options.signal.aborted) {
      try {
        await once();
      } catch {
        // The server was killed or is not back yet; a client of a live stream just tries again.
      }
      if (!options.signal.aborted) await sleep(100);
    }
  }
  return { connected, done: follow() };
}
