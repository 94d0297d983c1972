import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DoorContext } from './contract.ts';
import type { Exchange } from './exchange.ts';
import type { Close, PassDeps, PassRequest, PassResult } from './pass.ts';
import { interrupted, pass } from './pass.ts';
import type { Prepared, PrepareDeps } from './prepare.ts';
import { prepare } from './prepare.ts';
import type { Scrubber } from './scrub/scrubber.ts';
import type { Verdict } from './verdict.ts';

export type FlowDeps = PrepareDeps & PassDeps & { readonly scrubberFor: (secrets: readonly string[]) => Scrubber };

/**
 * One request and its answer. Gives a verdict for a request that gets the proxy's own answer, `PassResult` for one that was let through.
 * Crash point: between `admitted` and `close` the request may have reached its upstream; recovery of the journal then writes its row.
 */
export async function requestFlow(request: IncomingMessage, response: ServerResponse, door: DoorContext, exchange: Exchange, close: Close, deps: FlowDeps): Promise<Verdict | PassResult> {
  const prepared = await prepare({ request, door, exchange, askForBody: () => response.writeContinue() }, deps);
  if ('decision' in prepared) return prepared;
  return whileAttended(prepared, response, async (signal) => {
    const toPass = passRequestOf(prepared, signal, deps.scrubberFor);
    await exchange.admitted(interrupted(toPass));
    return pass(toPass, response, exchange.id, close, deps);
  });
}

/** Runs with a signal that ends when the agent has gone or the workspace was deactivated; gives budgets back when the work throws. */
export async function whileAttended<T>({ identified, spending }: Prepared, client: { once(event: 'close', listener: () => void): unknown; off(event: 'close', listener: () => void): unknown; readonly destroyed: boolean }, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  const { gone } = identified.workspace;
  gone.addEventListener('abort', stop);
  client.once('close', stop);
  if (gone.aborted || client.destroyed) stop();
  try {
    return await work(abort.signal);
  } catch (error) {
    await spending.release();
    throw error;
  } finally {
    gone.removeEventListener('abort', stop);
    client.off('close', stop);
  }
}

export function passRequestOf({ identified, canonical, allowed, spending, rewritten, detail }: Prepared, signal: AbortSignal, scrubberFor: FlowDeps['scrubberFor']): PassRequest {
  const { transformed, outgoing, sending } = rewritten;
  return {
    identified, outgoing, spending, detail, signal,
    counters: allowed?.counters ?? [],
    changed: transformed,
    capability: allowed?.rule.capability,
    validationsApplied: allowed?.validations.length ?? 0,
    literal: allowed?.rule.domains.some(({ kind, labels }) => kind !== 'name' && labels[0] === canonical.host) ?? false,
    body: sending.body,
    bodyLength: sending.length,
    sentBodyBytes: sending.sentBytes,
    scrubber: transformed.secretsSent.length > 0 ? scrubberFor(transformed.secretsSent) : undefined,
  };
}
