import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Answer } from './answer.ts';
import { sendOnResponse, sendOnSocket } from './answer.ts';
import type { Connection } from './connection.ts';
import type { DoorContext } from './contract.ts';
import type { SeenRequest } from './exchange.ts';
import type { FlowDeps } from './request-flow.ts';
import { requestFlow } from './request-flow.ts';
import { requestTarget } from './request-target.ts';
import type { Serve, Work } from './serve.ts';
import type { TunnelDeps, TunnelTarget } from './tunnel.ts';
import { decideTunnel, openTunnel } from './tunnel.ts';
import { upgradeFlow } from './upgrade-flow.ts';
import type { Verdict } from './verdict.ts';
import { refuse } from './verdict.ts';

export type HandlerDeps = {
  readonly serve: Serve;
  readonly flow: FlowDeps;
  readonly tunnel: TunnelDeps;
  /** Work for requests to the proxy itself, such as for its certificate; undefined for what is to be passed on. */
  readonly own: (request: IncomingMessage, door: DoorContext) => Work | undefined;
};

/** What handlers need of the listener they serve. */
export type DoorSide = {
  readonly connectionOf: (socket: Duplex) => Connection;
  readonly doorOf: (socket: Duplex) => DoorContext;
  /** Takes in the decrypted side of a tunnel as a connection of its own; resolves with the number of its requests when it has closed. */
  readonly adopt: (socket: Duplex, door: DoorContext) => Promise<number>;
  readonly stopping: () => boolean;
};

/** Bytes of the body of a denied request that are read and dropped so that its connection can be used again. */
const drainBytesMax = 1_048_576;
/** Answers to requests whose end is beyond doubt. */
const reusableAfter: ReadonlySet<number> = new Set([200, 202, 403, 404, 407, 429, 502, 504]);
const ignore = (): void => undefined;

export function seenOf(request: IncomingMessage, door: DoorContext): SeenRequest {
  const method = request.method ?? '';
  const seen = requestTarget(method, request.url ?? '', request.headers.host);
  return { method, ...seen, ...(door.door === 'plain' ? {} : { destination: door.host }) };
}

/** An agent that sends a large body without waiting for the answer gets its connection cut instead of our bandwidth. */
function dropBody(request: IncomingMessage): void {
  let bytes = 0;
  request.on('error', ignore);
  // It may have been on its way upstream, and paused because nobody took it there any more.
  request.unpipe();
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > drainBytesMax) request.socket.destroy();
  });
  request.resume();
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The three kinds of requests that Node's parser gives: ordinary ones, upgrades, and CONNECT. */
export function createHandlers({ serve, flow, tunnel, own }: HandlerDeps, side: DoorSide) {
  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = side.connectionOf(request.socket);
    connection.sawRequest(request);
    const { done } = connection.takePlace();
    const sent = connection.sent(response);
    try {
      const door = side.doorOf(request.socket);
      const work: Work = own(request, door) ?? ((exchange, close) => requestFlow(request, response, door, exchange, close, flow));
      const answer = await serve(seenOf(request, door), work);
      if (answer !== undefined) finish(request, response, answer);
      if (!request.complete) dropBody(request);
      await sent;
    } finally {
      done();
    }
  }

  function finish(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    // An answer that began cannot become another one.
    if (response.headersSent) response.destroy();
    // After `Expect` it is not known whether a body will follow, and after a request that could be read in two ways not what follows it.
    else sendOnResponse(response, answer, side.stopping() || request.headers.expect !== undefined || !reusableAfter.has(answer.status));
  }

  /** Answers on the bare socket, after which the connection ends: whatever follows on it is not a request. */
  async function answerAndClose(connection: Connection, seen: SeenRequest, work: Work): Promise<void> {
    connection.refused = true;
    const { before, done } = connection.takePlace();
    try {
      const answer = await serve(seen, work);
      await before;
      if (answer !== undefined) sendOnSocket(connection.socket, answer);
    } finally {
      done();
    }
  }

  async function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', ignore);
    const door = side.doorOf(socket);
    const connection = side.connectionOf(socket);
    const earlier = connection.answered;
    await answerAndClose(connection, seenOf(request, door), async (exchange, close) => {
      await earlier;
      return upgradeFlow(request, socket, head, door, exchange, close, flow);
    });
  }

  /** A CONNECT that is admitted has no row of its own when requests come through it: those have theirs. */
  async function onConnect(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', ignore);
    const door = side.doorOf(socket);
    const connection = side.connectionOf(socket);
    const seen = seenOf(request, { door: 'plain' });
    let target: TunnelTarget | undefined;
    let failure: Error | undefined;
    const verdict = door.door === 'plain'
      ? await decideTunnel(request, tunnel.identify).catch((error: unknown) => { failure = asError(error); return undefined; })
      : refuse('nested_connect', 400);
    if (verdict !== undefined && !('decision' in verdict)) target = verdict;
    if (target === undefined) {
      await answerAndClose(connection, seen, () => {
        if (failure !== undefined) throw failure;
        return verdict as Verdict;
      });
      return;
    }
    connection.refused = true;
    await connection.answered;
    const opened = await openTunnel(socket, head, target, tunnel).catch((error: unknown) => { failure = asError(error); return undefined; });
    const requests = opened === undefined ? 0 : await side.adopt(opened.socket, opened.door);
    if (requests > 0) return;
    const { attribution } = target;
    await answerAndClose(connection, seen, () => {
      if (failure !== undefined) throw failure;
      return refuse(opened === undefined ? 'tls_handshake' : 'tunnel_unused', 400, {}, attribution);
    });
  }

  return { onRequest, onUpgrade, onConnect, answerAndClose };
}
