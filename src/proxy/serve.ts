import { uuidv7 } from '../kernel/ids.ts';
import type { Answer } from './answer.ts';
import { denialAnswer, failureAnswer, unrecordedAnswer } from './answer.ts';
import { Exchange } from './exchange.ts';
import type { SeenRequest } from './exchange.ts';
import { UnidentifiedError } from './identify.ts';
import type { Close, PassResult } from './pass.ts';
import type { Recorder } from './recorder.ts';
import type { Outcome, Verdict } from './verdict.ts';
import { deny, platformAttribution } from './verdict.ts';

/** A request to the proxy itself, which it answers. */
export type OwnResult = { readonly kind: 'own'; readonly outcome: Outcome; readonly answer: Answer };

/** Decides one request. It may close the exchange itself, before the last byte of an answer it sends. */
export type Work = (exchange: Exchange, close: Close) => Verdict | OwnResult | Promise<Verdict | PassResult | OwnResult>;

/** Runs one request to its row and gives the answer that the proxy has to send, undefined when one was sent. Never rejects. */
export type Serve = (request: SeenRequest, work: Work) => Promise<Answer | undefined>;

export type ServeDeps = {
  readonly record: Recorder;
  /** Requests open at a time; further ones are answered 503 and count as undecided, so that a stuck disk cannot fill the memory. */
  readonly openMax: number;
  readonly onDecided: (outcome: Outcome) => void;
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

  async function closed(exchange: Exchange, outcome: Outcome): Promise<boolean> {
    try {
      await exchange.close(outcome);
      onDecided(outcome);
      return true;
    } catch (error) {
      onUnrecorded(error);
      return false;
    }
  }

  async function serve(request: SeenRequest, work: Work): Promise<Answer | undefined> {
    if (open >= openMax) {
      onUnrecorded(new TooManyOpenError(openMax));
      return unrecordedAnswer(uuidv7());
    }
    open += 1;
    const exchange = new Exchange(request, record);
    let result: Verdict | PassResult | OwnResult = deny('internal_error', platformAttribution);
    let recorded = true;
    try {
      result = await work(exchange, (outcome) => closed(exchange, outcome));
    } catch (error) {
      onGateError(error);
      result = deny('internal_error', error instanceof UnidentifiedError ? error.attribution : platformAttribution);
    } finally {
      // Where an exchange ends that did not end while its answer was sent: no request leaves without its row.
      if (!exchange.closed) recorded = await closed(exchange, outcomeOf(result));
      open -= 1;
    }
    if (!('decision' in result) && result.kind === 'sent') return undefined;
    if (!recorded) return unrecordedAnswer(exchange.id);
    if ('decision' in result) return denialAnswer(result, exchange.id);
    return result.kind === 'own' ? result.answer : failureAnswer(result.status, result.failure, exchange.id);
  }
  return { serve, open: () => open };
}

function outcomeOf(result: Verdict | PassResult | OwnResult): Outcome {
  if ('decision' in result) return result;
  if (result.kind !== 'sent') return result.outcome;
  throw new Error('an answer was sent without a row');
}
