import type { EventName, StreamRow } from './row.ts';

/** Headers of a live stream; the last keeps a reverse proxy from buffering it. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

const lineEnd = /[\r\n\0]+/g;

/** `event`, `id` and `data` lines and a blank one (contract 4.5). JSON has no raw line ends, and the id is kept from having any. */
export function eventFrame(name: EventName, row: StreamRow): Buffer {
  let frame = row.frames[name];
  if (frame === undefined) {
    frame = Buffer.concat([Buffer.from(`event: ${name}\nid: ${row.event.id.replace(lineEnd, '')}\ndata: `), row.json, Buffer.from('\n\n')]);
    row.frames[name] = frame;
  }
  return frame;
}

/** A comment line: `: heartbeat`. */
export function commentFrame(text: string): Buffer {
  return Buffer.from(`: ${text.replace(lineEnd, ' ')}\n\n`);
}

/** Tells the client how long to wait before it connects again. */
export function retryFrame(retryMs: number): Buffer {
  return Buffer.from(`retry: ${Math.max(0, Math.trunc(retryMs))}\n\n`);
}
