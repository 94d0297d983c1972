import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Secret } from '../kernel/secret.ts';
import type { BoundedLeafFor } from './bounded-leaf.ts';
import type { DoorContext } from './contract.ts';
import type { SyntheticAddresses } from './dns/synthetic-addresses.ts';
import { plainAddress } from './dns/wire.ts';
import type { Identify } from './identify.ts';
import type { Serve } from './serve.ts';
import type { SourceTokens } from './source-tokens.ts';
import { shakeHands } from './transparent-handshake.ts';
import { refuse } from './verdict.ts';

export type TransparentDeps = {
  readonly host: string;
  /** 0 takes one that is free. */
  readonly port: number;
  readonly leafFor: BoundedLeafFor;
  readonly identify: Identify;
  readonly sources: SourceTokens;
  readonly addresses: Pick<SyntheticAddresses, 'owns' | 'nameOf'>;
  /** Takes in the decrypted side; resolves with the number of its requests when it has closed. */
  readonly adopt: (socket: Duplex, door: DoorContext) => Promise<number>;
  readonly serve: Serve;
  readonly limits: { readonly connectionsMax: number; /** From the connection to the end of its handshake. */ readonly handshakeTimeoutMs: number };
  readonly onFault: (error: unknown) => void;
};

export type TransparentDoor = {
  readonly port: number;
  readonly connections: () => number;
  /** Takes no more connections and cuts those without a finished handshake; resolves when the others, which whoever adopted them ends, have gone and have their rows. */
  readonly stop: () => Promise<void>;
};

/** Connections go where clients believe they go: to port 443. */
const httpsPort = 443;
const ignore = (): void => undefined;

/**
 * Transparent TLS (design 10): connections that were led here with the client believing it speaks to the upstream. The name is that of the
 * handshake (SNI), or the one that the address it was made to was given for. Requests are decided as everywhere; one without a token counts as
 * its source's. A connection without a request leaves one row when its source is known. Rejects when it cannot listen.
 */
export async function startTransparentDoor(deps: TransparentDeps): Promise<TransparentDoor> {
  const { identify, sources, addresses, adopt, serve, limits, onFault } = deps;
  const shaking = new Set<Socket>();
  const running = new Set<Promise<void>>();
  let stopping = false;

  /** Of a connection to a synthetic address: what its workspace asked the DNS door for. */
  async function nameByAddress(socket: Socket, token: Secret | undefined): Promise<string | undefined> {
    const local = plainAddress(socket.localAddress ?? '');
    if (token === undefined || local === '' || !addresses.owns(local)) return undefined;
    const identified = await identify([], token);
    return 'decision' in identified ? undefined : addresses.nameOf(identified.workspace.id, local);
  }

  async function run(socket: Socket): Promise<void> {
    socket.on('error', ignore);
    // Asked for now: a connection that is reset has no address any more. One that was before it came here is nobody's.
    const client = plainAddress(socket.remoteAddress ?? '');
    const token = sources.tokenOf(client);
    shaking.add(socket);
    const shaken = await shakeHands(socket, { nameByAddress: () => nameByAddress(socket, token), leafFor: (host) => deps.leafFor(host, client), timeoutMs: limits.handshakeTimeoutMs });
    shaking.delete(socket);
    if (stopping) socket.destroy();
    const adopted = !stopping && 'secure' in shaken;
    const requests = adopted ? await adopt(shaken.secure, { door: 'transparent', host: shaken.host, port: httpsPort, token }) : 0;
    if (requests > 0 || token === undefined) return;
    await serve(shaken.host === undefined ? {} : { destination: shaken.host }, async () => {
      const identified = await identify([], token);
      if ('decision' in identified) return identified;
      return refuse('refused' in shaken ? shaken.refused : 'connection_unused', 400, {}, identified.attribution);
    });
  }

  function track(socket: Socket): void {
    const settled = run(socket).catch(onFault).then(() => {
      socket.destroy();
      shaking.delete(socket);
      running.delete(settled);
    });
    running.add(settled);
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, track);
  server.maxConnections = limits.connectionsMax;
  server.listen(deps.port, deps.host, 4096);
  await once(server, 'listening');
  server.on('error', onFault);

  return {
    port: (server.address() as AddressInfo).port,
    connections: () => running.size,
    async stop() {
      stopping = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of shaking) socket.destroy();
      while (running.size > 0) await Promise.all(running);
      await closed;
    },
  };
}
