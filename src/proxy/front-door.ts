import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import type { DoorContext } from './contract.ts';
import type { HandlerDeps } from './handlers.ts';
import { createHandlers } from './handlers.ts';
import type { ParseFailure } from './parse-failure.ts';
import { isAfterClose, provesRequest, refusalOf } from './parse-failure.ts';
import { refuse } from './verdict.ts';

export type FrontDoorLimits = {
  readonly headerBytesMax: number;
  readonly connectionsMax: number;
  /** Longest time to receive one whole request, in ms. */
  readonly requestTimeoutMs: number;
  /** Longest pause between two requests of one connection, in ms. */
  readonly idleTimeoutMs: number;
};

export type FrontDoorDeps = HandlerDeps & {
  readonly limits: FrontDoorLimits;
  /** An answer could not be sent for a reason that is a defect of ours; the row is written already. */
  readonly onFault: (error: unknown) => void;
};

export type FrontDoor = {
  readonly server: Server;
  readonly connections: () => number;
  /** Takes in a connection of another listener. */
  readonly adopt: (socket: Duplex, door: DoorContext) => Promise<number>;
  /** Stops accepting and lets running requests finish; what is left after `timeoutMs` is cut, each begun request with its row. */
  readonly stop: (timeoutMs: number) => Promise<void>;
};

/** Longest time to receive the headers of a request, in ms. */
const headersTimeoutMsMax = 60_000;
/** Time a request whose input has failed has to be answered, in ms. */
const lingerMs = 1000;

/**
 * The listener of requests (design 10): absolute form on the explicit proxy, origin form inside of terminated TLS, CONNECT, Upgrade, and
 * input that is no request. Node has six ways in and answers some requests on its own; each way leads to `serve` here, and the own answers
 * are switched off.
 */
export function createFrontDoor({ limits, onFault, ...deps }: FrontDoorDeps): FrontDoor {
  const connections = new Map<Duplex, Connection>();
  const doors = new WeakMap<Duplex, { readonly door: DoorContext; requests: number }>();
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

  async function adopt(socket: Duplex, door: DoorContext): Promise<number> {
    const entry = { door, requests: 0 };
    doors.set(socket, entry);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    if (socket.destroyed) return 0;
    server.emit('connection', socket);
    await closed;
    return entry.requests;
  }

  function counted(socket: Duplex): void {
    const entry = doors.get(socket);
    if (entry !== undefined) entry.requests += 1;
  }

  const handlers = createHandlers(deps, { connectionOf, adopt, doorOf: (socket) => doors.get(socket)?.door ?? { door: 'plain' }, stopping: () => stopping });

  function onInputError(error: ParseFailure, socket: Duplex): void {
    const connection = connectionOf(socket);
    // A parser that has failed reports each further packet again.
    if (connection.refused) return;
    const isRequest = !connection.inBody && !isAfterClose(error) && (provesRequest(error) || connection.endsInsideRequest());
    if (isRequest) {
      counted(socket);
      track(handlers.answerAndClose(connection, {}, () => refusalOf(error)));
      return;
    }
    connection.refused = true;
    // A request whose body will not come any more may be waiting for it.
    track(Promise.race([connection.answered, sleep(lingerMs, undefined, { ref: false })]).then(() => void socket.destroy()));
  }

  function cut(connection: Connection): void {
    if (connection.endsInsideRequest()) track(handlers.answerAndClose(connection, {}, () => refuse('shutting_down', 503)));
    else connection.socket.destroy();
  }

  async function stop(timeoutMs: number): Promise<void> {
    stopping = true;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    // Node counts a connection that never sent a byte as busy.
    for (const { socket } of connections.values()) if ((socket as Socket).bytesRead === 0) socket.destroy();
    await Promise.race([closed, sleep(timeoutMs, undefined, { ref: false })]);
    for (const connection of [...connections.values()]) cut(connection);
    while (running.size > 0) await Promise.all(running);
    server.closeAllConnections();
  }

  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: Math.min(limits.requestTimeoutMs, headersTimeoutMsMax),
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.max(100, Math.min(1000, limits.requestTimeoutMs / 2)),
    insecureHTTPParser: false,
    // Node would answer a request without Host itself, and no row would be written.
    requireHostHeader: false,
  });
  server.maxConnections = limits.connectionsMax;
  // Bounded by their size; Node would drop further ones silently, and the token with them.
  server.maxHeadersCount = 0;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    counted(request.socket);
    track(handlers.onRequest(request, response));
  };
  server.on('connection', connectionOf);
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    counted(socket);
    track(handlers.onConnect(request, socket, head));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    counted(socket);
    track(handlers.onUpgrade(request, socket, head));
  });
  server.on('clientError', onInputError);
  return { server, connections: () => connections.size, adopt, stop };
}
