import { uuidv7 } from '../kernel/ids.ts';
import type { Answer } from './answer.ts';
import { denialAnswer, unrecordedAnswer } from './answer.ts';
import { Exchange } from './exchange.ts';
import type { SeenRequest } from './exchange.ts';
import type { Recorder } from './recorder.ts';
import type { Verdict } from './verdict.ts';
import { deny, platformAttribution } from './verdict.ts';

/** Decides one request, writes its row and gives the answer; never rejects. */
export type Serve = (request: SeenRequest, decide: () => Verdict | Promise<Verdict>) => Promise<Answer>;

export type ServeDeps = {
  readonly record: Recorder;
  /** Requests open at a time; further ones are answered 503 and count as undecided, so that a stuck disk cannot fill the memory. */
  readonly openMax: number;
  readonly onDecided: (verdict: Verdict) => void;
  /** The request was answered 503 because its row could not be written, or too many were open. */
  readonly onUnrecorded: (error: unknown) => void;
  /** The gate failed: the request is denied as `internal_error`. */
  readonly onGateError: (error: unknown) => void;
};

export class TooManyOpenError extends Error {
  constructor(max: number) {
    super(`${max} requests are open already`);
    this.name = 'TooManyOpenError';
  }
}

export function createServe({ record, openMax, onDecided, onUnrecorded, onGateError }: ServeDeps): { readonly serve: Serve; readonly open: () => number } {
  let open = 0;

  async function closed(exchange: Exchange, verdict: Verdict): Promise<boolean> {
    try {
      await exchange.close(verdict);
      onDecided(verdict);
      return true;
    } catch (error) {
      onUnrecorded(error);
      return false;
    }
  }

  async function serve(request: SeenRequest, decide: () => Verdict | Promise<Verdict>): Promise<Answer> {
    if (open >= openMax) {
      onUnrecorded(new TooManyOpenError(openMax));
      return unrecordedAnswer(uuidv7());
    }
    open += 1;
    const exchange = new Exchange(request, record);
    let verdict = deny('internal_error', platformAttribution);
    let recorded = false;
    try {
      verdict = await decide();
    } catch (error) {
      onGateError(error);
    } finally {
      // The only place where an exchange ends. The answer is made after it, so no byte of it leaves before the row is written.
      recorded = await closed(exchange, verdict);
      open -= 1;
    }
    return recorded ? denialAnswer(verdict, exchange.id) : unrecordedAnswer(exchange.id);
  }
  return { serve, open: () => open };
}
