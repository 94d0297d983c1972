import type { IncomingMessage } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createMeter } from '../budgets/meter.ts';
import type { OutgoingRequest } from '../transforms/contract.ts';
import type { DoorContext } from './contract.ts';
import type { Exchange } from './exchange.ts';
import type { Close, PassRequest, PassResult } from './pass.ts';
import { interrupted, unanswered } from './pass.ts';
import { prepare } from './prepare.ts';
import type { FlowDeps } from './request-flow.ts';
import { passRequestOf, whileAttended } from './request-flow.ts';
import { answerHead } from './response-headers.ts';
import type { UpstreamAnswer } from './upstream-port.ts';
import type { Verdict } from './verdict.ts';
import { deny } from './verdict.ts';

/**
 * A WebSocket (design 10): the rule that admits the GET admits the upgrade. Its bytes are counted, and passed on as they are but for
 * secrets; the one row comes at its end. Another answer than 101 is passed on and ends the connection.
 */
export async function upgradeFlow(request: IncomingMessage, socket: Duplex, head: Buffer, door: DoorContext, exchange: Exchange, close: Close, deps: FlowDeps): Promise<Verdict | PassResult> {
  const prepared = await prepare({ request, door, exchange, askForBody: () => undefined }, deps);
  if ('decision' in prepared) return prepared;
  return whileAttended(prepared, socket, async (signal) => {
    const passing = passRequestOf(prepared, signal, deps.scrubberFor);
    await exchange.admitted(interrupted(passing));
    const outgoing = passing.scrubber === undefined ? passing.outgoing : uncompressed(passing.outgoing);
    const answer = await deps.send(outgoing, { body: undefined, bodyLength: 0, literal: passing.literal, signal, upgrade: prepared.canonical.upgrade ?? 'websocket' });
    if ('failure' in answer) return unanswered(passing, answer);
    return passUpgrade(passing, answer, socket, head, exchange.id, close, deps);
  });
}

/** Frames in a compressed form could not be searched for the secrets that were sent. */
function uncompressed(request: OutgoingRequest): OutgoingRequest {
  return { ...request, headers: request.headers.filter(([name]) => name.toLowerCase() !== 'sec-websocket-extensions') };
}

async function passUpgrade(passing: PassRequest, answer: UpstreamAnswer, socket: Duplex, head: Buffer, requestId: string, close: Close, { limits }: FlowDeps): Promise<PassResult> {
  const { identified, spending, signal, scrubber } = passing;
  const { headers, headerMap } = answerHead(answer.headers, requestId, scrubber?.header ?? ((value) => value));
  const meter = createMeter({ counters: passing.counters, head: { status: answer.status, headers: headerMap }, limits });
  const filter = scrubber?.body();
  const toAgent = counting((chunk) => {
    meter.onChunk(chunk);
    return filter === undefined ? chunk : filter.push(chunk);
  }, () => filter?.end());
  const toUpstream = counting((chunk) => chunk, () => undefined);
  const { socket: upgraded } = answer;
  // Two pipelines end in each of them, with listeners of their own.
  socket.setMaxListeners(20);
  upgraded?.setMaxListeners(20);
  socket.write(headText(answer.status, headers, upgraded === undefined ? ['connection', 'close'] : ['connection', 'Upgrade', 'upgrade', 'websocket']));
  const down = pipeline(upgraded ?? answer.body, toAgent.stream, socket, { signal });
  if (upgraded !== undefined && head.length > 0) toUpstream.stream.write(head);
  const up = upgraded === undefined ? Promise.resolve() : pipeline(socket, toUpstream.stream, upgraded, { signal });
  const clean = (await Promise.allSettled([down, up])).every(({ status }) => status === 'fulfilled');
  const spent = await spending.settle(0, meter.finish(clean));
  const bytes = upgraded === undefined ? {} : { upgraded: true, bytes_to_upstream: toUpstream.bytes(), bytes_to_agent: toAgent.bytes() };
  const detail = { ...passing.detail, status: answer.status, ...bytes, ...(clean ? {} : { ended: 'cut' }) };
  const { capability, validationsApplied, changed } = passing;
  const { attribution, workspace } = identified;
  await close(workspace.gone.aborted
    ? { ...deny('workspace_gone', attribution, detail, 'response_body'), spent, changed }
    : { decision: 'allow', attribution, phase: 'response_body', ...(capability === undefined ? {} : { capability }), validationsApplied, changed, spent, detail });
  socket.destroy();
  return { kind: 'sent' };
}

function counting(pass: (chunk: Buffer) => Buffer, end: () => Buffer | undefined): { readonly stream: Transform; readonly bytes: () => number } {
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(null, pass(chunk));
    },
    flush(done) {
      done(null, end());
    },
  });
  return { stream, bytes: () => bytes };
}

function headText(status: number, headers: readonly string[], own: readonly string[]): string {
  const fields = [...headers, ...own];
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let at = 0; at + 1 < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${text}\r\n`;
}
