import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Meter } from '../budgets/contract.ts';
import type { AnswerHead } from './response-headers.ts';
import type { Scrubber } from './scrub/scrubber.ts';
import type { UpstreamAnswer } from './upstream-port.ts';

export type StreamEnd = 'complete' | 'upstream_cut' | 'aborted';

/**
 * Streams an answer to the agent, all but its end: a last piece is held back, or for a chunked body its terminator, so that the caller can
 * write the row before `finish` lets it go (design 1, promise 2). Nothing else is delayed, and a slow agent slows the upstream down.
 */
export async function sendAnswer(
  response: ServerResponse,
  answer: UpstreamAnswer,
  { head, bodyless, meter, scrubber, signal }: { readonly head: AnswerHead; readonly bodyless: boolean; readonly meter: Meter; readonly scrubber: Scrubber | undefined; readonly signal: AbortSignal },
): Promise<{ readonly end: StreamEnd; readonly bodyBytes: number; readonly finish: () => void }> {
  response.sendDate = false;
  response.writeHead(answer.status, head.headers);
  if (bodyless) {
    answer.body.resume();
    return { end: 'complete', bodyBytes: 0, finish: () => response.end() };
  }
  const filter = scrubber?.body();
  let bodyBytes = 0;
  let held: Buffer | undefined;
  // An event stream may stay silent for long after its head.
  if (head.length === undefined) response.flushHeaders();
  const take = (chunk: Buffer): boolean => {
    bodyBytes += chunk.length;
    meter.onChunk(chunk);
    const out = filter === undefined ? chunk : filter.push(chunk);
    if (held !== undefined) response.write(held);
    held = undefined;
    if (head.length !== undefined && bodyBytes >= head.length) held = out;
    else return out.length === 0 || response.write(out);
    return true;
  };
  if (!await readToEnd(answer.body, take, () => once(response, 'drain', { signal }))) {
    // Also a body that ended because we ended it: the signal says whether the agent, the workspace or the upstream was first.
    return { end: signal.aborted ? 'aborted' : 'upstream_cut', bodyBytes, finish: () => response.destroy() };
  }
  const rest = filter?.end();
  const last = held === undefined ? rest : rest === undefined ? held : Buffer.concat([held, rest]);
  const trailers = answer.trailers();
  return {
    end: 'complete',
    bodyBytes,
    finish() {
      if (trailers.length > 0 && head.length === undefined) response.addTrailers(trailers.map(([name, value]): [string, string] => [name, scrubber === undefined ? value : scrubber.header(value)]));
      response.end(last);
    },
  };
}

/**
 * Gives each piece to `take`, and stops reading until `drained` where it answers false. Resolves with whether the body came whole; one that
 * did not is destroyed. Listeners instead of an async iterator, which costs more than the rest of a short answer.
 */
function readToEnd(body: Readable, take: (chunk: Buffer) => boolean, drained: () => Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const fail = (): void => {
      body.destroy();
      resolve(false);
    };
    if (body.destroyed) return fail();
    body.once('error', fail);
    body.once('close', fail);
    body.once('end', () => resolve(true));
    body.on('data', (chunk: Buffer) => {
      try {
        if (take(chunk)) return;
      } catch {
        return fail();
      }
      body.pause();
      drained().then(() => body.resume(), fail);
    });
  });
}
