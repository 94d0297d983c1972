import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Phase } from '../events/enumerations.ts';
import { createMeter } from '../budgets/meter.ts';
import type { Counter } from '../policy/model.ts';
import type { OutgoingRequest } from '../transforms/contract.ts';
import type { UpstreamFailure } from './contract.ts';
import type { Identified } from './identify.ts';
import { answerHead, isBodyless } from './response-headers.ts';
import { isReadableAnswer } from './scrub/readable-answer.ts';
import type { Scrubber } from './scrub/scrubber.ts';
import type { StreamEnd } from './send-answer.ts';
import { sendAnswer } from './send-answer.ts';
import type { Spending } from './spending.ts';
import type { UpstreamFailed, UpstreamSend } from './upstream-port.ts';
import type { Changed, Outcome, Passed, Spent } from './verdict.ts';
import { deny } from './verdict.ts';

export type PassRequest = {
  readonly identified: Identified;
  readonly outgoing: OutgoingRequest;
  readonly counters: readonly Counter[];
  readonly spending: Spending;
  readonly changed: Changed;
  readonly capability: string | undefined;
  readonly validationsApplied: number;
  readonly literal: boolean;
  readonly body: Readable | Buffer | undefined;
  readonly bodyLength: number | undefined;
  /** Bytes of the request's body that left the proxy so far. */
  readonly sentBodyBytes: () => number;
  /** Masks secrets that were sent in what comes back. Undefined when none was sent. */
  readonly scrubber: Scrubber | undefined;
  readonly detail: Readonly<Record<string, unknown>>;
  /** Aborted when the agent goes, or the workspace does. */
  readonly signal: AbortSignal;
};

export type PassDeps = {
  readonly send: UpstreamSend;
  readonly limits: { readonly documentBytesMax: number; readonly eventBytesMax: number };
};

/** Writes the row; false when it could not be written. */
export type Close = (outcome: Outcome) => Promise<boolean>;

/** Status of the proxy's own answer for an upstream that gave none. */
const failureStatus: Readonly<Partial<Record<UpstreamFailure, number>>> = { connect_timeout: 504, headers_timeout: 504, body_timeout: 504 };

/** What became of a request that was let through: an answer was sent, or the proxy has to give one of its own. */
export type PassResult = { readonly kind: 'sent' } | { readonly kind: 'failed'; readonly outcome: Outcome; readonly status: number; readonly failure: string };

/** Sends a decided and rewritten request upstream and its answer back; settles its budgets and writes its row before the last byte. */
export async function pass(request: PassRequest, response: ServerResponse, requestId: string, close: Close, { send, limits }: PassDeps): Promise<PassResult> {
  const { outgoing, spending, scrubber, signal, identified } = request;
  const answer = await send(outgoing, { body: request.body, bodyLength: request.bodyLength, literal: request.literal, signal });
  if ('failure' in answer) return unanswered(request, answer);
  if (scrubber !== undefined && !isBodyless(outgoing.method, answer.status) && !isReadableAnswer(answer.headers)) {
    // What cannot be read cannot be scrubbed: a compressed reflection would hand the secret to the agent.
    answer.body.destroy();
    return failed(request, await spending.settleUnanswered(request.sentBodyBytes()), 'unreadable_encoding');
  }
  const head = answerHead(answer.headers, requestId, scrubber?.header ?? ((value) => value));
  const meter = createMeter({ counters: request.counters, head: { status: answer.status, headers: head.headerMap }, limits });
  const sent = await sendAnswer(response, answer, { head, bodyless: isBodyless(outgoing.method, answer.status), meter, scrubber, signal });
  const spent = await spending.settle(request.sentBodyBytes(), meter.finish(sent.end === 'complete'));
  const gone = sent.end === 'aborted' && identified.workspace.gone.aborted;
  const phase: Phase = meter.headersOnly ? 'response_headers' : 'response_body';
  const detail = { ...request.detail, status: answer.status, ...(sent.end === 'complete' ? {} : { ended: endOf(sent.end) }) };
  const outcome: Outcome = gone
    ? { ...deny('workspace_gone', identified.attribution, detail, phase), spent, changed: request.changed }
    : passed(request, spent, phase, detail);
  if (await close(outcome)) sent.finish();
  else response.destroy();
  return { kind: 'sent' };
}

/** The result of a request that got no answer. Budgets are given back only when nothing left the proxy (design 11). */
export async function unanswered(request: PassRequest, { failure, sent }: UpstreamFailed): Promise<PassResult> {
  const { spending } = request;
  return failed(request, sent ? await spending.settleUnanswered(request.sentBodyBytes()) : await spending.release(), failure);
}

function endOf(end: StreamEnd): string {
  return end === 'aborted' ? 'agent_aborted' : 'upstream_cut';
}

function passed(request: PassRequest, spent: Spent, phase: Phase, detail: Readonly<Record<string, unknown>>): Passed {
  const { identified, capability, validationsApplied, changed } = request;
  return { decision: 'allow', attribution: identified.attribution, phase, ...(capability === undefined ? {} : { capability }), validationsApplied, changed, spent, detail };
}

function failed(request: PassRequest, spent: Spent, failure: string): PassResult {
  const { identified, signal, changed } = request;
  const { attribution, workspace } = identified;
  if (workspace.gone.aborted) return { kind: 'failed', status: 403, failure: 'workspace_gone', outcome: { ...deny('workspace_gone', attribution, request.detail, 'response_headers'), spent, changed } };
  if (failure === 'address_refused') {
    const detail = { ...request.detail, refused: 'address_refused', allowrule_eval: [] };
    return { kind: 'failed', status: 403, failure, outcome: { ...deny('no_match', attribution, detail, 'request_body'), spent, changed } };
  }
  const ended = signal.aborted ? { ended: 'agent_aborted' } : { upstream: failure };
  return { kind: 'failed', status: failureStatus[failure as UpstreamFailure] ?? 502, failure, outcome: passed(request, spent, 'response_headers', { ...request.detail, ...ended }) };
}

/** The outcome an interrupted request gets, should this process die before the real one is known. */
export function interrupted(request: PassRequest): Passed {
  return passed(request, { debits: {}, budgetState: {}, floored: new Map() }, 'request_body', request.detail);
}
