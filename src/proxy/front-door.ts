import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendOnResponse, sendOnSocket } from './answer.ts';
import { Connection } from './connection.ts';
import type { SeenRequest } from './exchange.ts';
import type { Gate } from './gate.ts';
import type { ParseFailure } from './parse-failure.ts';
import { isAfterClose, provesRequest, refusalOf } from './parse-failure.ts';
import { requestTarget } from './request-target.ts';
import type { Serve } from './serve.ts';
import type { Verdict } from './verdict.ts';
import { refuse } from './verdict.ts';

export type FrontDoorLimits = {
  readonly headerBytesMax: number;
  readonly connectionsMax: number;
  /** Longest time to receive one whole request, in ms. */
  readonly requestTimeoutMs: number;
  /** Longest pause between two requests of one connection, in ms. */
  readonly idleTimeoutMs: number;
};

export type FrontDoorDeps = {
  readonly gate: Gate;
  readonly serve: Serve;
  readonly limits: FrontDoorLimits;
  /** An answer could not be sent for a reason that is a defect of ours; the row is written already. */
  readonly onFault: (error: unknown) => void;
};

export type FrontDoor = {
  readonly server: Server;
  readonly connections: () => number;
  /** Stops accepting and lets running requests finish; what is left after `timeoutMs` is cut, each begun request with its row. */
  readonly stop: (timeoutMs: number) => Promise<void>;
};

/** Bytes of the body of a denied request that are read and dropped so that its connection can be used again. */
const drainBytesMax = 1_048_576;
const ignore = (): void => undefined;

function seen(request: IncomingMessage): SeenRequest {
  const method = request.method ?? '';
  return { method, ...requestTarget(method, request.url ?? '', request.headers.host) };
}

/** An agent that sends a large body without waiting for the answer gets its connection cut instead of our bandwidth. */
function dropBody(request: IncomingMessage): void {
  let bytes = 0;
  request.on('error', ignore);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > drainBytesMax) request.socket.destroy();
  });
}

/**
 * The explicit proxy's listener (design 10): absolute-form and origin-form requests, CONNECT, Upgrade, and input that is no request.
 * Node has six ways in and answers some requests on its own; each way leads to `serve` here, and the own answers are switched off.
 */
export function createFrontDoor({ gate, serve, limits, onFault }: FrontDoorDeps): FrontDoor {
  const connections = new Map<Duplex, Connection>();
  const running = new Set<Promise<void>>();
  let stopping = false;

  function track(work: Promise<void>): void {
    const settled = work.catch(onFault).then(() => {
      running.delete(settled);
    });
    running.add(settled);
  }

  function connectionOf(socket: Duplex): Connection {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection = new Connection(socket);
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    return connection;
  }

  async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = connectionOf(request.socket);
    connection.sawRequest(request);
    const { done } = connection.takePlace();
    try {
      const answer = await serve(seen(request), () => gate(request.rawHeaders));
      const sent = connection.sent(response);
      // After `Expect` it is not known whether a body will follow, so such a connection cannot be used again.
      sendOnResponse(response, answer, stopping || request.headers.expect !== undefined);
      dropBody(request);
      await sent;
    } finally {
      done();
    }
  }

  /** Answers on the bare socket, after which the connection ends: whatever follows on it is not a request. */
  async function answerAndClose(connection: Connection, request: SeenRequest, decide: () => Verdict | Promise<Verdict>): Promise<void> {
    connection.refused = true;
    const { before, done } = connection.takePlace();
    try {
      const answer = await serve(request, decide);
      await before;
      sendOnSocket(connection.socket, answer);
    } finally {
      done();
    }
  }

  function onDetached(request: IncomingMessage, socket: Duplex): void {
    socket.on('error', ignore);
    track(answerAndClose(connectionOf(socket), seen(request), () => gate(request.rawHeaders)));
  }

  function onInputError(error: ParseFailure, socket: Duplex): void {
    const connection = connectionOf(socket);
    // A parser that has failed reports each further packet again.
    if (connection.refused) return;
    const isRequest = !connection.inBody && !isAfterClose(error) && (provesRequest(error) || connection.endsInsideRequest());
    if (isRequest) {
      track(answerAndClose(connection, {}, () => refusalOf(error)));
      return;
    }
    connection.refused = true;
    track(connection.answered.then(() => void socket.destroy()));
  }

  function cut(connection: Connection): void {
    if (connection.endsInsideRequest()) track(answerAndClose(connection, {}, () => refuse('shutting_down', 503)));
    else connection.socket.destroy();
  }

  async function stop(timeoutMs: number): Promise<void> {
    stopping = true;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    // Node counts a connection that never sent a byte as busy.
    for (const { socket } of connections.values()) if ((socket as Socket).bytesRead === 0) socket.destroy();
    await Promise.race([closed, sleep(timeoutMs, undefined, { ref: false })]);
    for (const connection of [...connections.values()]) cut(connection);
    await Promise.all(running);
    server.closeAllConnections();
  }

  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.max(100, Math.min(1000, limits.requestTimeoutMs / 2)),
    insecureHTTPParser: false,
    // Node would answer a request without Host itself, and no row would be written.
    requireHostHeader: false,
  });
  server.maxConnections = limits.connectionsMax;
  // Bounded by their size; Node would drop further ones silently, and the token with them.
  server.maxHeadersCount = 0;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => track(answerRequest(request, response));
  server.on('connection', connectionOf);
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('connect', onDetached);
  server.on('upgrade', onDetached);
  server.on('clientError', onInputError);
  return { server, connections: () => connections.size, stop };
}
