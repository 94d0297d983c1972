import { createSocket } from 'node:dgram';
import type { Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6 } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerDeps } from './answer-query.ts';
import { createAnswerQuery, neverResolvedDefault } from './answer-query.ts';
import type { ClientLimits } from './client-bounds.ts';
import { createClientBounds } from './client-bounds.ts';
import type { Respond } from './respond.ts';
import { createRespond } from './respond.ts';
import type { TcpLimits } from './tcp-connection.ts';
import { serveTcp } from './tcp-connection.ts';
import { plainAddress } from './wire.ts';

export type DnsLimits = ClientLimits & TcpLimits & { readonly connectionsMax: number; readonly connectionsPerClientMax: number };

export const dnsLimitsDefault: DnsLimits = {
  ratePerSecond: 200, burst: 400, clientsMax: 4096, openMax: 1024, openPerClientMax: 128,
  pipelinedMax: 16, idleTimeoutMs: 10_000, connectionsMax: 256, connectionsPerClientMax: 16,
};

export type DnsDoorDeps = Omit<AnswerDeps, 'neverResolved' | 'syntheticIpv6'> & Partial<Pick<AnswerDeps, 'neverResolved' | 'syntheticIpv6'>> & {
  readonly host: string;
  /** 0 takes one that is free on both transports. */
  readonly port: number;
  readonly limits?: DnsLimits;
};

export type DnsDoor = {
  readonly port: number;
  /** Queries not answered yet. */
  readonly open: () => number;
  readonly connections: () => number;
  /** Takes no more queries, and lets the open ones be answered for at most `timeoutMs`. */
  readonly stop: (timeoutMs: number) => Promise<void>;
};

const portTriesMax = 16;

/** The DNS front door (design 10): UDP and TCP on one port. Rejects when it cannot listen. */
export async function startDnsDoor(deps: DnsDoorDeps): Promise<DnsDoor> {
  const limits = deps.limits ?? dnsLimitsDefault;
  const bounds = createClientBounds(limits, deps.nowMs);
  const respond = createRespond(createAnswerQuery({ ...deps, neverResolved: deps.neverResolved ?? neverResolvedDefault, syntheticIpv6: deps.syntheticIpv6 ?? true }), bounds, deps.onFault);
  let stopping = false;
  const serve: Respond = (packet, client, transport) => (stopping ? Promise.resolve(undefined) : respond(packet, client, transport));
  const connections = new Map<Socket, string>();
  const tcp = createServer({ allowHalfOpen: true }, (socket) => accept(socket, connections, limits, serve));
  const udp = await listen(tcp, deps.host, deps.port);
  udp.on('message', (packet, { address, port }) => {
    if (port === 0) return;
    void serve(packet, plainAddress(address), 'udp').then((answer) => {
      if (answer !== undefined) udp.send(answer, port, address, (error) => {
        if (error !== null) deps.onFault(error);
      });
    });
  });
  udp.on('error', deps.onFault);
  tcp.on('error', deps.onFault);

  async function stop(timeoutMs: number): Promise<void> {
    stopping = true;
    const closed = once(tcp, 'close');
    tcp.close();
    const deadlineMs = performance.now() + timeoutMs;
    while (bounds.open > 0 && performance.now() < deadlineMs) await sleep(5);
    for (const socket of connections.keys()) socket.destroySoon();
    const cut = setTimeout(() => [...connections.keys()].forEach((socket) => socket.destroy()), Math.max(1, deadlineMs - performance.now()));
    await closed;
    clearTimeout(cut);
    await new Promise<void>((resolve) => udp.close(resolve));
  }

  let stopped: Promise<void> | undefined;
  return {
    port: udp.address().port,
    open: () => bounds.open,
    connections: () => connections.size,
    stop: (timeoutMs) => (stopped ??= stop(timeoutMs)),
  };
}

/** One more connection of a client that has too many is cut at once: it finds the others still there. */
function accept(socket: Socket, connections: Map<Socket, string>, limits: DnsLimits, respond: Respond): void {
  const client = plainAddress(socket.remoteAddress ?? '');
  let own = 0;
  for (const other of connections.values()) if (other === client) own += 1;
  if (connections.size >= limits.connectionsMax || own >= limits.connectionsPerClientMax) {
    socket.destroy();
    return;
  }
  connections.set(socket, client);
  socket.on('close', () => connections.delete(socket));
  serveTcp(socket, respond, limits);
}

/** TCP first, then UDP on the port it got; with port 0 another is tried where UDP is taken. */
async function listen(tcp: Server, host: string, port: number): Promise<UdpSocket> {
  for (let tries = 1; ; tries += 1) {
    tcp.listen({ host, port });
    await once(tcp, 'listening');
    const udp = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    try {
      udp.bind((tcp.address() as AddressInfo).port, host);
      await once(udp, 'listening');
      return udp;
    } catch (error) {
      udp.close();
      const closed = once(tcp, 'close');
      tcp.close();
      await closed;
      if (port !== 0 || tries >= portTriesMax || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
